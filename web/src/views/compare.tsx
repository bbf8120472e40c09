/** Comparison of groups of runs: a sentence and the statistics. */

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
  const request = {
    tags: [tag],
    by: view.by,
    at: view.at,
    better: view.better || null,
    runs: shown,
  };
  const isComplete = tag !== "" && view.by !== "" && shown.length > 0;
  const loaded = useLoaded(isComplete ? JSON.stringify(request) : null, generation, (signal) =>
    sendJson("/api/compare", request, signal),
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
            {option || "guessed from the tag"}
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
          Group by
          <select value={view.by} onChange={(event) => change({ by: event.target.value })}>
            <option value="">choose…</option>
            <option value="parent">folder</option>
            <option value="status">status</option>
            {hparams.map((column) => (
              <option key={column.key} value={column.name}>
                {column.name}
              </option>
            ))}
            {view.by &&
              !["parent", "status"].includes(view.by) &&
              !hparams.some((column) => column.name === view.by) && <option>{view.by}</option>}
          </select>
        </label>
        {pick("Value", view.at, COMPARED_AT, (at) => change({ at: at as View["at"] }))}
        {pick("Better", view.better, ["", ...BETTER], (better) =>
          change({ better: better as View["better"] }),
        )}
      </div>
      {!isComplete && (
        <Empty>
          {!tag && "No run has logged scalars yet."}
          {tag && !shown.length && "No runs selected."}
          {tag && shown.length > 0 && "Choose how to group the runs, for example by an hparam."}
        </Empty>
      )}
      {loaded.error && <Failed error={loaded.error} />}
      {isComplete && !loaded.value && !loaded.error && <Waiting what="comparison" />}
      {loaded.value && !loaded.error && (
        <>
          <p className="sentence">{loaded.value.sentence}</p>
          {loaded.value.warnings.map((warning) => (
            <p key={warning} className="hint">
              {warning}
            </p>
          ))}
          {loaded.value.leftOut.length > 0 && (
            <p className="hint">Left out: {loaded.value.leftOut.join("; ")}.</p>
          )}
          <Records title="Groups" records={loaded.value.groups} level={loaded.value.level} />
          <Records title="Pairs" records={loaded.value.pairs} level={loaded.value.level} />
          {loaded.value.correction && <p className="hint">{loaded.value.correction}</p>}
        </>
      )}
    </section>
  );
}

/** Column headings; @ is replaced with the confidence level. */
const TITLES: Record<string, string> = {
  ...{ iqm: "IQM", low: "@ CI low", high: "@ CI high" },
  ...{ nA: "n of a", nB: "n of b", difference: "a − b", pWelch: "p Welch" },
  ...{ pMannWhitney: "p Mann-Whitney", pPermutation: "p permutation" },
  ...{ cohenD: "Cohen’s d", hedgesG: "Hedges’ g", improvement: "a beats b" },
  ...{ improvementLow: "a beats b, @ CI low", improvementHigh: "a beats b, @ CI high" },
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
  // The tag is the same in every row.
  const names = Object.keys(records[0] ?? {}).filter((name) => name !== "tag");
  if (records.length === 0) return null;
  const isNumber = (name: string) =>
    records.every((record) => typeof record[name] !== "string" || record[name] === "NaN");
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

/** Format with three significant digits; probabilities in percent, missing values as –. */
function spellCell(name: string, value: Value | undefined): string {
  if (value === null || value === undefined || value === "NaN") return "–";
  if (typeof value !== "number") return spell(value);
  return name.startsWith("improvement")
    ? `${formatNumber(100 * value, 3)} %`
    : formatNumber(value, 3);
}
