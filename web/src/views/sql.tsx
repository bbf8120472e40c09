/** The "SQL" view: a query editor, the result as a table and a chart, and saved queries. */

import { useMemo, useState } from "react";
import { Grid } from "../components/grid";
import { Menu } from "../components/menu";
import { Plot } from "../components/plot";
import { Empty, Failed, Waiting } from "../components/states";
import { useLoaded } from "../data/loading";
import { makeLines, runQuery } from "../data/query";
import { addQuery, change as keep, remove, useSaved } from "../data/saved";
import { plural } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import "./sql.css";

const EXAMPLES: [string, string][] = [
  ["Lowest value of each tag", "select tag, run, min(value) as lowest from scalars group by all"],
  ["Runs by status", "select status, count(*) as runs from runs group by status"],
  ["All problems", "select * from problems"],
];

/** Name a saved query by its first 60 characters. */
function nameQuery(query: string): string {
  return query.trim().replace(/\s+/g, " ").slice(0, 60);
}

export function SqlView() {
  const [view, change] = useView();
  const { generation } = useChoice();
  const [draft, setDraft] = useState(view.query);
  const result = useLoaded(view.query || null, generation, (signal) =>
    runQuery(view.query, signal),
  );
  const lines = useMemo(
    () => (result.value ? makeLines(result.value.columns) : null),
    [result.value],
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
            Tables: runs, scalars, hparams, text, images, histograms, problems. Press Ctrl+Enter to
            run.
          </span>
          <Menu title="Queries">
            {(close) => (
              <Queries
                open={(query) => {
                  open(query);
                  close();
                }}
              />
            )}
          </Menu>
          <button
            type="button"
            disabled={!draft.trim()}
            onClick={() => keep(addQuery(nameQuery(draft), draft.trim()))}
          >
            Save
          </button>
          <button type="submit">Run</button>
        </div>
      </form>
      {result.error && <Failed error={result.error} />}
      {!view.query && <Empty>Write a query, or start from an example.</Empty>}
      {view.query && result.isLoading && !result.value && <Waiting what="result" />}
      {view.query && result.value && !result.error && (
        <>
          {lines && (
            <label className="toggle">
              <input
                type="checkbox"
                checked={view.isDrawn}
                onChange={(event) => change({ isDrawn: event.target.checked })}
              />
              Plot over {lines.x}
            </label>
          )}
          {lines && view.isDrawn && <Plot {...lines} height={320} label="Query result" />}
          <Grid
            columns={result.value.columns}
            caption={`${plural(result.value.rows, "row")}${
              result.value.isTruncated ? " (truncated)" : ""
            }`}
          />
        </>
      )}
    </section>
  );
}

function Queries({ open }: { open: (query: string) => void }) {
  const saved = useSaved();
  return (
    <>
      {saved.error && (
        <p className="hint failed" role="alert">
          {saved.error.message}
        </p>
      )}
      {saved.queries.length > 0 && (
        <ul className="entries" aria-label="Saved queries">
          {saved.queries.map(({ name, query }) => (
            <li key={name} className="row">
              <button type="button" className="plain" title={query} onClick={() => open(query)}>
                {name}
              </button>
              <button
                type="button"
                className="plain"
                aria-label={`Delete query ${name}`}
                title="Delete"
                onClick={() => keep(remove("queries", name))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <span className="hint">Examples</span>
      <ul className="entries" aria-label="Examples">
        {EXAMPLES.map(([name, query]) => (
          <li key={name} className="row">
            <button type="button" className="plain" title={query} onClick={() => open(query)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
