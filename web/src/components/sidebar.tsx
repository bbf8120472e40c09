/** The runs that are looked at: found by name or condition, grouped, switched on and off. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";

const LINE = 26;

export function Sidebar() {
  const [view, change] = useView();
  const { listed, table, groupOf, colourOf, whereError } = useChoice();
  const list = useRef<HTMLDivElement>(null);
  const lines = useVirtualizer({
    count: listed.length,
    getScrollElement: () => list.current,
    estimateSize: () => LINE,
    overscan: 20,
  });
  const off = new Set(view.off);
  const hparams = table.columns.filter((column) => column.kind === "hparam");
  const toggle = (run: string) =>
    change({ off: off.has(run) ? view.off.filter((one) => one !== run) : [...view.off, run] });
  return (
    <aside className="sidebar" aria-label="Runs">
      <input
        type="search"
        aria-label="Find runs by name"
        placeholder="Find runs by name"
        value={view.search}
        onChange={(event) => change({ search: event.target.value })}
      />
      <input
        type="text"
        aria-label="Condition"
        placeholder="lr < 0.1 and status == 'finished'"
        spellCheck={false}
        value={view.where}
        onChange={(event) => change({ where: event.target.value })}
      />
      {whereError && (
        <p className="hint failed" role="alert">
          {whereError.message}
        </p>
      )}
      <label className="field">
        Group by
        <input
          list="groupings"
          placeholder="nothing"
          value={view.by}
          onChange={(event) => change({ by: event.target.value })}
        />
        <datalist id="groupings">
          <option value="parent">the folder</option>
          {hparams.map((column) => (
            <option key={column.key} value={column.name} />
          ))}
        </datalist>
      </label>
      <div className="row">
        <span>
          {listed.length - listed.filter((run) => off.has(run)).length} of {table.runs.length} runs
        </span>
        <button type="button" onClick={() => change({ off: [] })}>
          All
        </button>
        <button type="button" onClick={() => change({ off: listed })}>
          None
        </button>
      </div>
      <div className="list" ref={list}>
        <ul style={{ height: lines.getTotalSize() }}>
          {lines.getVirtualItems().map((item) => {
            const run = listed[item.index] ?? "";
            return (
              <li key={run} style={{ transform: `translateY(${item.start}px)`, height: LINE }}>
                <label title={run}>
                  <input type="checkbox" checked={!off.has(run)} onChange={() => toggle(run)} />
                  <span className="swatch" style={{ background: colourOf(run) }} />
                  <span className="name">{run}</span>
                </label>
                {view.by && <span className="group">{groupOf(run)}</span>}
                <button
                  type="button"
                  className="open"
                  aria-label={`Open run ${run}`}
                  onClick={() => change({ tab: "run", run })}
                >
                  ›
                </button>
              </li>
            );
          })}
        </ul>
      </div>
    </aside>
  );
}
