/** Relation of hparams to a metric: parallel coordinates, importance, and a scatter plot. */

import { useMemo } from "react";
import { Parallel } from "../components/parallel";
import { Scatter } from "../components/scatter";
import { Empty, Failed, Waiting } from "../components/states";
import { sendJson } from "../data/api";
import { useLoaded } from "../data/loading";
import { chooseMetric, findMetrics } from "../data/tags";
import type { Cell, Column } from "../data/types";
import { formatNumber } from "../format/number";
import type { ImportanceRequest } from "../generated/endpoints";
import type { MetricStatistic } from "../generated/vocabulary";
import { useChoice } from "../state/choice";
import { useOpenRun, useView } from "../state/view";
import "./hparams.css";

/** Maximum number of axes that fit next to each other. */
const MOST_AXES = 11;

export function HparamsView() {
  const [view, change] = useView();
  const openRun = useOpenRun();
  const { table, shown, generation, colorOf } = useChoice();
  const rows = useMemo(() => {
    const rowOf = new Map(table.runs.map((run, row) => [run, row]));
    return shown.map((run) => rowOf.get(run) ?? 0);
  }, [table, shown]);
  const take = (column: Column): Cell[] => rows.map((row) => column.cells[row] ?? null);
  const hparams = table.columns.filter(
    (column) => column.kind === "hparam" && new Set(take(column).map(String)).size > 1,
  );
  const metrics = findMetrics(table.columns);
  const metric = chooseMetric(metrics, (column) => column.key, view.metric);
  const hparam = hparams.find((column) => column.name === view.hparam) ?? hparams[0];
  const request: ImportanceRequest | undefined = metric && {
    tag: metric.name,
    stat: metric.stat as MetricStatistic,
    runs: shown,
  };
  const importance = useLoaded(
    request && shown.length ? JSON.stringify(request) : null,
    generation,
    (signal) => sendJson("/api/importance", request as ImportanceRequest, signal),
  );
  if (!metric) return <Empty>No run has logged scalars yet.</Empty>;
  if (hparams.length === 0) {
    return <Empty>No hparams differ between the selected runs.</Empty>;
  }
  return (
    <section className="hparams">
      <label className="field">
        Metric
        <select value={metric.key} onChange={(event) => change({ metric: event.target.value })}>
          {metrics.map((column) => (
            <option key={column.key}>{column.key}</option>
          ))}
        </select>
      </label>
      <Parallel
        runs={shown}
        axes={[...hparams.slice(0, MOST_AXES), metric].map((column) => ({
          name: column.key,
          cells: take(column),
        }))}
        onOpen={(run) => openRun?.(run)}
      />
      {hparams.length > MOST_AXES && (
        <p className="hint">
          Showing the first {MOST_AXES} of {hparams.length} hparams.
        </p>
      )}
      <div className="two">
        <div>
          <h2>Importance</h2>
          {importance.error && <Failed error={importance.error} />}
          {!importance.value && !importance.error && <Waiting what="importance" />}
          {importance.value?.hparams.length === 0 && (
            <Empty>Too few of the selected runs have a value for {metric.key}.</Empty>
          )}
          {importance.value && importance.value.hparams.length > 0 && (
            <table className="sides">
              <thead>
                <tr>
                  <th scope="col">hparam</th>
                  <th scope="col">importance</th>
                  <th scope="col" data-number>
                    rank correlation
                  </th>
                  <th scope="col" data-number>
                    runs
                  </th>
                </tr>
              </thead>
              <tbody>
                {importance.value.hparams.map((entry) => (
                  <tr key={entry.name}>
                    <th scope="row">
                      <button type="button" onClick={() => change({ hparam: entry.name })}>
                        {entry.name}
                      </button>
                    </th>
                    <td>
                      {entry.importance !== null && (
                        <meter min={0} max={1} value={Number(entry.importance) || 0} />
                      )}{" "}
                      {formatShare(entry.importance)}
                    </td>
                    <td data-number>
                      {entry.correlation === null ? "" : formatNumber(Number(entry.correlation), 2)}
                    </td>
                    <td data-number>{entry.runs}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </div>
        <div>
          <h2>
            {metric.key} by{" "}
            <select
              aria-label="Hparam for the scatter plot"
              value={hparam?.name}
              onChange={(event) => change({ hparam: event.target.value })}
            >
              {hparams.map((column) => (
                <option key={column.key}>{column.name}</option>
              ))}
            </select>
          </h2>
          {hparam && (
            <Scatter
              runs={shown}
              x={{ name: hparam.name, cells: take(hparam) }}
              y={{ name: metric.key, cells: take(metric) }}
              colorOf={colorOf}
              onOpen={(run) => openRun?.(run)}
            />
          )}
        </div>
      </div>
    </section>
  );
}

function formatShare(share: number | string | null): string {
  const value = Number(share);
  return share === null || Number.isNaN(value) ? "" : `${Math.round(100 * value)} %`;
}
