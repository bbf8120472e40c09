/** Is one group of runs better than another: the numbers, and a sentence. */

import { Empty, Failed, Waiting } from "../components/states";
import { sendJson } from "../data/api";
import { useLoaded } from "../data/loading";
import { spell, type Value } from "../data/story";
import { formatNumber } from "../format/number";
import { useChoice } from "../state/choice";
import { useView, type View } from "../state/view";
import "./run.css";

interface Comparison {
  groups: Record<string, Value>[];
  pairs: Record<string, Value>[];
  sentence: string;
  warnings: string[];
}

const BETTER: readonly View["better"][] = ["", "lower", "higher"];
const AT = ["last", "best", "min", "max", "auc"];

export function CompareView() {
  const [view, change] = useView();
  const { table, shown, generation } = useChoice();
  const tags = [
    ...new Set(
      table.columns
        .filter((column) => column.kind === "statistic" && !column.name.startsWith("system/"))
        .map((column) => column.name),
    ),
  ];
  const tag = tags.includes(view.metric)
    ? view.metric
    : (tags.find((name) => /val.*(loss|acc|return)/.test(name)) ?? tags[0] ?? "");
  const asked = { tags: [tag], by: view.by, at: view.at, better: view.better || null, runs: shown };
  const isAskable = tag !== "" && view.by !== "" && shown.length > 0;
  const found = useLoaded(isAskable ? JSON.stringify(asked) : null, generation, (signal) =>
    sendJson<Comparison>("/api/compare", asked, signal),
  );
  const hparams = table.columns.filter((column) => column.kind === "hparam");
  const pick = (
    label: string,
    value: string,
    options: readonly string[],
    set: (value: string) => void,
  ) => (
    <label className="field">
      {label}
      <select value={value} onChange={(event) => set(event.target.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {option || "guessed from the name"}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section className="run compare">
      <div className="controls">
        {pick("Tag", tag, tags, (metric) => change({ metric }))}
        <label className="field">
          Groups by
          <select value={view.by} onChange={(event) => change({ by: event.target.value })}>
            <option value="">choose …</option>
            <option value="parent">the folder</option>
            <option value="status">the status</option>
            {hparams.map((column) => (
              <option key={column.key} value={column.name}>
                {column.name}
              </option>
            ))}
            {view.by &&
              !["parent", "status"].includes(view.by) &&
              !hparams.some((one) => one.name === view.by) && <option>{view.by}</option>}
          </select>
        </label>
        {pick("The value that counts", view.at, AT, (at) => change({ at }))}
        {pick("Better is", view.better, BETTER, (better) =>
          change({ better: better as View["better"] }),
        )}
      </div>
      {!isAskable && <Empty>Choose what makes a group, such as an hparam or the folder.</Empty>}
      {found.error && <Failed error={found.error} />}
      {isAskable && !found.value && !found.error && <Waiting what="the comparison" />}
      {found.value && !found.error && (
        <>
          <p className="sentence">{found.value.sentence}</p>
          {found.value.warnings.map((warning) => (
            <p key={warning} className="hint">
              {warning}
            </p>
          ))}
          <Records title="Groups" records={found.value.groups} />
          <Records title="Pairs" records={found.value.pairs} />
        </>
      )}
    </section>
  );
}

/** pMannWhitney as "p Mann Whitney". */
function spellName(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, "$1 $2");
}

function Records({ title, records }: { title: string; records: Record<string, Value>[] }) {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  if (records.length === 0) return null;
  const isNumber = (name: string) => records.every((one) => typeof one[name] !== "string");
  return (
    <div className="wide">
      <table className="sides records">
        <caption>{title}</caption>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col" data-number={isNumber(name) || undefined}>
                {spellName(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={JSON.stringify(record)}>
              {names.map((name) => {
                const value = record[name];
                return (
                  <td key={name} data-number={isNumber(name) || undefined}>
                    {typeof value === "number" ? formatNumber(value, 3) : spell(value ?? "")}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
