/** Is one group of runs better than another: the numbers, and a sentence. */

import { Empty, Failed, Waiting } from "../components/states";
import { sendJson } from "../data/api";
import { useLoaded } from "../data/loading";
import { spell, type Value } from "../data/story";
import { chooseMetric, findMetrics } from "../data/tags";
import { formatNumber } from "../format/number";
import { BETTER, COMPARED_AT } from "../generated/vocabulary";
import { useChoice } from "../state/choice";
import { useView, type View } from "../state/view";
import "./run.css";

export function CompareView() {
  const [view, change] = useView();
  const { table, shown, generation } = useChoice();
  const tags = [...new Set(findMetrics(table.columns).map((column) => column.name))];
  const tag = chooseMetric(tags, (name) => name, view.metric) ?? "";
  const asked = { tags: [tag], by: view.by, at: view.at, better: view.better || null, runs: shown };
  const isAskable = tag !== "" && view.by !== "" && shown.length > 0;
  const found = useLoaded(isAskable ? JSON.stringify(asked) : null, generation, (signal) =>
    sendJson("/api/compare", asked, signal),
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
        {pick("Value", view.at, COMPARED_AT, (at) => change({ at: at as View["at"] }))}
        {pick("Better is", view.better, ["", ...BETTER], (better) =>
          change({ better: better as View["better"] }),
        )}
      </div>
      {!isAskable && (
        <Empty>
          {!tag && "No run has logged a scalar yet."}
          {tag && !shown.length && "No run is chosen."}
          {tag && shown.length > 0 && "Choose what makes a group, such as an hparam or the folder."}
        </Empty>
      )}
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
          {found.value.leftOut.length > 0 && (
            <p className="hint">Left out: {found.value.leftOut.join("; ")}.</p>
          )}
          <Records title="Groups" records={found.value.groups} level={found.value.level} />
          <Records title="Pairs" records={found.value.pairs} level={found.value.level} />
          {found.value.correction && <p className="hint">{found.value.correction}</p>}
        </>
      )}
    </section>
  );
}

/** What stands above a column; @ is for the level of the intervals. */
const TITLES: Record<string, string> = {
  ...{ iqm: "IQM", low: "@ CI low", high: "@ CI high" },
  ...{ nA: "n of a", nB: "n of b", difference: "a − b", pWelch: "p Welch" },
  ...{ pMannWhitney: "p Mann-Whitney", pPermutation: "p permutation" },
  ...{ cohenD: "Cohen’s d", hedgesG: "Hedges’ g", improvement: "a beats b" },
  ...{ improvementLow: "beats, @ CI low", improvementHigh: "beats, @ CI high" },
  ...{ pWelchHolm: "p Welch, Holm", pMannWhitneyHolm: "p Mann-Whitney, Holm" },
  ...{ pPermutationHolm: "p permutation, Holm" },
  ...{ lowHolm: "@ CI low, Holm", highHolm: "@ CI high, Holm" },
};

interface RecordsProps {
  title: string;
  records: Record<string, Value>[];
  level: number;
}

function Records({ title, records, level }: RecordsProps) {
  // All are of the tag that was chosen.
  const names = Object.keys(records[0] ?? {}).filter((name) => name !== "tag");
  if (records.length === 0) return null;
  const isNumber = (name: string) =>
    records.every((one) => typeof one[name] !== "string" || one[name] === "NaN");
  return (
    <div className="wide">
      <table className="sides records">
        <caption>{title}</caption>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col" data-number={isNumber(name) || undefined}>
                {(TITLES[name] ?? name).replace("@", `${formatNumber(100 * level)} %`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={JSON.stringify(record)}>
              {names.map((name) => (
                <td key={name} data-number={isNumber(name) || undefined}>
                  {spellCell(name, record[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A number in three digits, how often a is better in percent, and a dash where nothing is known. */
function spellCell(name: string, value: Value | undefined): string {
  if (value === null || value === undefined || value === "NaN") return "–";
  if (typeof value !== "number") return spell(value);
  return name.startsWith("improvement")
    ? `${formatNumber(100 * value, 3)} %`
    : formatNumber(value, 3);
}
