/** List of runs: filtered by name or condition, grouped, shown or hidden. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { arrangeRuns } from "../data/rows";
import { useChoice } from "../state/choice";
import { useOpenRun, useView } from "../state/view";
import { useArrowKeys } from "./arrow-keys";
import { Name } from "./name";
import { Failed } from "./states";
import { Swatch } from "./swatch";

const LINE_HEIGHT = 26;
/** Extra height for each further row of a wrapped label, and the characters that fit in a row. */
const [ROW_HEIGHT, CHARACTERS] = [18, 24];

/** Estimated height of a line until it is rendered and measured. */
function guessHeight(label: string, isGroup: boolean): number {
  // A group's name is bold and leaves room for a count.
  const rows = Math.ceil(label.length / (isGroup ? CHARACTERS * 0.7 : CHARACTERS));
  return LINE_HEIGHT + ROW_HEIGHT * Math.min(20, Math.max(0, rows - 1));
}

export function Sidebar() {
  const [view, change] = useView();
  const openRun = useOpenRun();
  const choice = useChoice();
  const { listed, shown, table, groupOf, colorOf, labels, groupLabels } = choice;
  const { whereError, byError } = choice;
  const entries = useMemo(() => {
    const shut = new Set(view.by ? view.shut : []);
    return arrangeRuns(table, listed, "", false, view.by ? groupOf : null).filter(
      (entry) => entry.kind === "group" || !shut.has(groupOf(entry.name)),
    );
  }, [table, listed, view.by, view.shut, groupOf]);
  const estimateSize = (row: number) => {
    const entry = entries[row];
    if (!entry) return LINE_HEIGHT;
    const isGroup = entry.kind === "group";
    return guessHeight((isGroup ? groupLabels : labels).of(entry.name), isGroup);
  };
  const list = useRef<HTMLDivElement>(null);
  const lines = useVirtualizer({
    count: entries.length,
    getScrollElement: () => list.current,
    estimateSize,
    overscan: 20,
  });
  const arrowKeys = useArrowKeys(entries.length, lines, list);
  const off = useMemo(() => new Set(view.off), [view.off]);
  const isOneColor = view.colors === "group" || view.isFolded;
  const hparams = table.columns.filter((column) => column.kind === "hparam");
  const setShown = (runs: readonly string[], isOn: boolean) => {
    const changed = new Set(runs);
    const others = view.off.filter((run) => !changed.has(run));
    change({ off: isOn ? others : [...others, ...runs] });
  };
  const setShut = (group: string, isShut: boolean) => {
    const others = view.shut.filter((other) => other !== group);
    change({ shut: isShut ? [...others, group] : others });
  };
  return (
    <aside className="sidebar" aria-label="Runs">
      <input
        type="search"
        aria-label="Filter runs by name"
        placeholder="Filter runs by name"
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
      {whereError && <Failed error={whereError} className="hint" />}
      <label className="field">
        Group by
        <input
          list="groupings"
          placeholder="none"
          value={view.by}
          onChange={(event) => change({ by: event.target.value })}
        />
        <datalist id="groupings">
          <option value="parent">folder</option>
          <option value="status" />
          {hparams.map((column) => (
            <option key={column.key} value={column.name} />
          ))}
        </datalist>
      </label>
      {view.by && (
        <label className="field">
          <input
            type="checkbox"
            checked={isOneColor}
            disabled={view.isFolded}
            onChange={() => change({ colors: view.colors === "group" ? "run" : "group" })}
          />
          one color per group
        </label>
      )}
      {byError && (
        <p className="hint failed" role="alert">
          {byError}
        </p>
      )}
      <div className="row">
        <span>
          {shown.length} of {table.runs.length} runs
        </span>
        <button type="button" onClick={() => setShown(listed, true)}>
          All
        </button>
        <button type="button" onClick={() => setShown(listed, false)}>
          None
        </button>
      </div>
      {labels.folder && <p className="hint">Names are relative to {labels.folder}</p>}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: key events come from the lines inside */}
      <div className="list" ref={list} onKeyDown={arrowKeys.onKeyDown}>
        <ul style={{ height: lines.getTotalSize() }}>
          {lines.getVirtualItems().map((item) => {
            const entry = entries[item.index];
            if (!entry) return null;
            const position = { transform: `translateY(${item.start}px)` };
            const measured = { "data-index": item.index, ref: lines.measureElement };
            if (entry.kind === "group") {
              const members = listed.filter((run) => groupOf(run) === entry.name);
              const on = members.filter((run) => !off.has(run)).length;
              const isShut = view.shut.includes(entry.name);
              return (
                <li key={`group ${entry.name}`} className="heading" style={position} {...measured}>
                  <button
                    type="button"
                    className="shut"
                    tabIndex={-1}
                    aria-label={
                      entry.name
                        ? `Show the runs in ${entry.name}`
                        : "Show the runs without a group"
                    }
                    aria-expanded={!isShut}
                    onClick={() => setShut(entry.name, !isShut)}
                  >
                    {isShut ? "▸" : "▾"}
                  </button>
                  <label
                    title={
                      entry.name
                        ? `Select all runs in ${entry.name}`
                        : "Select all runs without a group"
                    }
                  >
                    <input
                      type="checkbox"
                      {...arrowKeys.focusable(item.index)}
                      ref={(box) => {
                        if (box) box.indeterminate = on > 0 && on < members.length;
                      }}
                      checked={on > 0}
                      onChange={() => setShown(members, on < members.length)}
                      onKeyDown={(event) => {
                        if (event.key === "ArrowLeft") setShut(entry.name, true);
                        if (event.key === "ArrowRight") setShut(entry.name, false);
                      }}
                    />
                    {isOneColor && (
                      <span className="swatch" style={{ background: colorOf(entry.name) }} />
                    )}
                    <Name name={entry.name} label={groupLabels.of(entry.name) || "no group"} />
                  </label>
                  <span className="group">
                    {on} of {members.length}
                  </span>
                </li>
              );
            }
            const run = entry.name;
            return (
              <li key={run} style={position} {...measured}>
                <Swatch run={run} />
                <label title={run}>
                  <input
                    type="checkbox"
                    {...arrowKeys.focusable(item.index)}
                    aria-label={run}
                    checked={!off.has(run)}
                    onChange={() => setShown([run], off.has(run))}
                    onKeyDown={(event) => {
                      if (event.key === "Enter") openRun?.(run);
                    }}
                  />
                  <Name name={run} label={labels.of(run)} />
                </label>
                {openRun && (
                  <button
                    type="button"
                    className="open"
                    tabIndex={-1}
                    aria-label={`Open run ${run}`}
                    onClick={() => openRun(run)}
                  >
                    ›
                  </button>
                )}
              </li>
            );
          })}
        </ul>
      </div>
    </aside>
  );
}
