/** Questions in SQL: an editor, the answer as a table and a chart, queries that were saved. */

import { useMemo, useState } from "react";
import { Grid } from "../components/grid";
import { Plot } from "../components/plot";
import { Empty, Failed, Waiting } from "../components/states";
import { useLoaded } from "../data/loading";
import { ask, makeLines } from "../data/query";
import { useSaved } from "../data/saved";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import "./sql.css";

const EXAMPLES: [string, string][] = [
  ["Lowest value of each tag", "select tag, run, min(value) as lowest from scalars group by all"],
  ["Runs by status", "select status, count(*) as runs from runs group by status"],
  ["What was wrong", "select * from problems"],
];

export function SqlView() {
  const [view, change] = useView();
  const { generation } = useChoice();
  const [draft, setDraft] = useState(view.query);
  const [isDrawn, setDrawn] = useState(false);
  const saved = useSaved();
  const answer = useLoaded(view.query || null, generation, (signal) => ask(view.query, signal));
  const lines = useMemo(
    () => (answer.value ? makeLines(answer.value.columns) : null),
    [answer.value],
  );
  const run = () => change({ query: draft.trim() });
  const open = (query: string) => {
    setDraft(query);
    change({ query });
  };
  return (
    <section className="sql">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <textarea
          aria-label="Query"
          spellCheck={false}
          rows={5}
          placeholder="select run, min(value) from scalars where tag = 'val/loss' group by run"
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
          }}
        />
        <div className="row">
          <span className="hint">
            Tables: runs, scalars, hparams, text, images, histograms, problems. Ctrl + Enter runs.
          </span>
          <select
            aria-label="Queries to begin with"
            value=""
            onChange={(event) => open(event.target.value)}
          >
            <option value="">Queries …</option>
            <optgroup label="Saved">
              {saved.queries.map((one) => (
                <option key={one.name} value={one.query}>
                  {one.name}
                </option>
              ))}
            </optgroup>
            <optgroup label="Examples">
              {EXAMPLES.map(([name, query]) => (
                <option key={name} value={query}>
                  {name}
                </option>
              ))}
            </optgroup>
          </select>
          <button
            type="button"
            disabled={!draft.trim()}
            onClick={() => saved.saveQuery(draft.trim().slice(0, 60), draft.trim())}
          >
            Save
          </button>
          <button type="submit">Run</button>
        </div>
      </form>
      {answer.error && <Failed error={answer.error} />}
      {!view.query && <Empty>Ask something of the log.</Empty>}
      {view.query && answer.isLoading && !answer.value && <Waiting what="the answer" />}
      {view.query && answer.value && !answer.error && (
        <>
          {lines && (
            <label className="toggle">
              <input
                type="checkbox"
                checked={isDrawn}
                onChange={(event) => setDrawn(event.target.checked)}
              />
              Draw it over {lines.x}
            </label>
          )}
          {lines && isDrawn && (
            <Plot names={lines.names} data={lines.data} height={320} label="The answer, drawn" />
          )}
          <Grid
            columns={answer.value.columns}
            caption={`${answer.value.rows.toLocaleString("en")} rows${
              answer.value.isTruncated ? "; there are more" : ""
            }`}
          />
        </>
      )}
    </section>
  );
}
