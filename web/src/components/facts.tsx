/** Lists of names and non-empty values, and code diffs. Everything is rendered as plain text. */

import { readDiff } from "../data/story";
import "./facts.css";

export function Facts({ facts }: { facts: readonly (readonly [string, string | null])[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function CodeDiff({ text }: { text: string }) {
  return (
    <pre className="diff">
      {readDiff(text).map((line, number) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of lines is fixed
        <span key={number} className={line.kind}>
          {line.text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
