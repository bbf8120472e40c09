/** Text entries of a tag, by run, as safe Markdown or plain text. */

import { Markdown, Plain } from "../components/markdown";
import { EntriesState, Stepper, TagPicker, useTag } from "../components/tags";
import { type Entries, getJson, readEntries } from "../data/api";
import { useLoaded } from "../data/loading";
import { byRun, latest, stepsOf, type TextEntry, type TextValue } from "../data/media";
import { formatStep, formatTime } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import "./media.css";

async function loadTexts(tag: string, signal: AbortSignal): Promise<Entries<TextEntry>> {
  const { texts, leftOut } = await getJson("/api/texts", { tag }, signal);
  return readEntries(texts as (Omit<TextEntry, "step"> & { step: number | string })[], leftOut);
}

export function TextView() {
  const [view, change] = useView();
  const { generation, shown, colorOf } = useChoice();
  const { tag, tags, moreTags, absent, pick } = useTag("text", "text");
  const loaded = useLoaded(tag || null, generation, (signal) => loadTexts(tag, signal));
  if (absent) return absent;
  const { entries = [], leftOut = 0 } = loaded.value ?? {};
  const runs = byRun(entries);
  const count = shown.filter((run) => latest(runs.get(run) ?? [], view.step)).length;
  return (
    <section className="media">
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <Stepper steps={stepsOf(entries)} />
        <label className="toggle">
          <input
            type="checkbox"
            checked={view.isPlain}
            onChange={(event) => change({ isPlain: event.target.checked })}
          />
          Plain text
        </label>
      </div>
      <EntriesState loaded={loaded} what="text entries" count={count} leftOut={leftOut} />
      {shown.map((run) => {
        const entry = latest(runs.get(run) ?? [], view.step);
        return entry ? (
          <article key={run} className="entry">
            <h2>
              <span className="swatch" style={{ background: colorOf(run) }} />
              {run} <small>step {formatStep(entry.step)}</small>{" "}
              <small>{formatTime(entry.wallTime)}</small>
            </h2>
            {view.isPlain ? (
              <Plain text={flat(entry.text)} />
            ) : (
              <TextContent text={entry.text} among={count} />
            )}
            {entry.length !== undefined && (
              <p className="hint">Truncated: the full text has {entry.length} characters.</p>
            )}
          </article>
        ) : null;
      })}
    </section>
  );
}

function flat(text: TextValue): string {
  return typeof text === "string" ? text : text.map(flat).join("\n");
}

function countStrings(text: TextValue): number {
  return typeof text === "string" ? 1 : text.reduce((sum, part) => sum + countStrings(part), 0);
}

/** A string or a table of strings. */
function TextContent({ text, among }: { text: TextValue; among: number }) {
  if (typeof text === "string") return <Markdown text={text} among={among} />;
  const share = among * countStrings(text);
  return (
    <table className="cells">
      <tbody>
        {text.map((row, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of rows is fixed
          <tr key={number}>
            {(typeof row === "string" ? [row] : row).map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the order of cells is fixed
              <td key={column}>
                <TextContent text={cell} among={share} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
