/** Table of runs with sorting, grouping and a choice of columns. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useMemo, useRef, useState } from "react";
import { useArrowKeys } from "../components/arrow-keys";
import { StartBoard } from "../components/board-start";
import { ColumnPicker } from "../components/columns";
import { Name } from "../components/name";
import { Empty } from "../components/states";
import { StopRuns } from "../components/stop";
import { Swatch } from "../components/swatch";

import { chooseSources } from "../data/boards";
import {
  arrangeRuns,
  chooseColumns,
  nameCut,
  tableToCsv,
  titleColumns,
  toggleStat,
} from "../data/rows";
import type { Column } from "../data/types";
import { formatCell, plural } from "../format/number";
import { useChoice } from "../state/choice";
import { useOpenRun, useView } from "../state/view";
import "./runs.css";

const LINE_HEIGHT = 28;
const CHECKBOX_WIDTH = 34;
const STATS = ["min", "max"];

/** A visible column, with its distance from the left if it is pinned. */
interface VisibleColumn {
  index: number;
  left: number | null;
}

/** Return a column width that fits all cells and the title, and does not change on scrolling. */
function widthOf(column: Column, title: string): number {
  const every = Math.max(1, Math.floor(column.cells.length / 2000));
  let longest = 0;
  for (let row = 0; row < column.cells.length; row += every) {
    longest = Math.max(longest, formatCell(column.cells[row] ?? null, column.key).length);
  }
  // The title is bold, and the sort arrow needs room.
  return Math.min(260, Math.max(56, longest * 7.8 + 18, title.length * 8.8 + 34));
}

function nameWidthOf(labels: readonly string[]): number {
  const longest = labels.reduce((most, label) => Math.max(most, label.length), 0);
  // The swatch needs room. Names are never truncated, so the column fits the longest.
  return Math.min(2000, Math.max(120, longest * 8.2 + 64));
}

export function RunsView() {
  const [view, change] = useView();
  const openRun = useOpenRun();
  const { table, listed, shown: chosen, groupOf, labels } = useChoice();
  const running = useMemo(() => {
    const states = table.columns.find((column) => column.key === "status")?.cells;
    const rows = new Map(table.runs.map((run, row) => [run, row]));
    return chosen.filter((run) => states?.[rows.get(run) ?? -1] === "running");
  }, [table, chosen]);
  const columns = useMemo(
    () => chooseColumns(table.columns, view.columns, view.pinned),
    [table, view.columns, view.pinned],
  );
  const cut = useMemo(() => nameCut(table), [table]);
  const titles = useMemo(() => titleColumns(columns), [columns]);
  const widths = useMemo(
    () => columns.map((column, index) => widthOf(column, titles[index] ?? "")),
    [columns, titles],
  );
  const nameWidth = useMemo(() => nameWidthOf(table.runs.map(labels.of)), [table, labels]);
  const lines = useMemo(
    () => arrangeRuns(table, listed, view.sort, view.isDescending, view.by ? groupOf : null),
    [table, listed, view.sort, view.isDescending, view.by, groupOf],
  );
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 12,
  });
  const arrowKeys = useArrowKeys(lines.length, rows, box);
  // Pinned columns stay on the left and are always rendered.
  const fixed = columns.filter((column) => view.pinned.includes(column.key)).length;
  const sideways = useVirtualizer({
    horizontal: true,
    count: columns.length - fixed,
    getScrollElement: () => box.current,
    estimateSize: (number) => widths[number + fixed] ?? 80,
    overscan: 3,
  });
  const off = useMemo(() => new Set(view.off), [view.off]);
  const items = rows.getVirtualItems();
  const free = sideways.getVirtualItems();
  const lefts = widths.slice(0, fixed).map((_, index) => {
    return nameWidth + widths.slice(0, index).reduce((sum, width) => sum + width, 0);
  });
  const pinned = lefts.map((left, index) => ({ index, left }));
  const shown = free.map(({ index }) => ({ index: index + fixed, left: null }));
  const pinnedWidth = widths.slice(0, fixed).reduce((sum, width) => sum + width, 0);
  const total = sideways.getTotalSize();
  const before = free[0]?.start ?? 0;
  const after = total - (free.at(-1)?.end ?? 0);
  const toggle = (run: string) =>
    change({ off: off.has(run) ? view.off.filter((other) => other !== run) : [...view.off, run] });
  const sortBy = (key: string) =>
    change(
      view.sort !== key
        ? { sort: key, isDescending: false }
        : view.isDescending
          ? { sort: "", isDescending: false }
          : { isDescending: true },
    );
  const order = (key: string) =>
    view.sort === key ? (view.isDescending ? "descending" : "ascending") : undefined;
  const arrow = (key: string) => (view.sort === key ? (view.isDescending ? " ▼" : " ▲") : "");
  const handleKey = (event: KeyboardEvent, run: string) => {
    if (event.target !== event.currentTarget) return;
    if (event.key === " ") toggle(run);
    else if (event.key === "Enter") openRun?.(run);
    else return;
    event.preventDefault();
  };
  const heading = ({ index, left }: VisibleColumn) => {
    const column = columns[index];
    if (!column) return null;
    return (
      <th
        key={column.key}
        style={{ width: widths[index], left: left ?? undefined }}
        className={left === null ? column.kind : `${column.kind} pinned`}
        aria-sort={order(column.key)}
        data-number={column.isNumber || undefined}
      >
        <button
          type="button"
          title={`Sort by ${column.kind === "hparam" ? `hparam ${column.name}` : column.key}`}
          onClick={() => sortBy(column.key)}
        >
          {titles[index]}
          {arrow(column.key)}
        </button>
      </th>
    );
  };
  const cell = ({ index, left }: VisibleColumn, row: number) => {
    const column = columns[index];
    if (!column) return null;
    const text = formatCell(column.cells[row] ?? null, column.key);
    const kind = column.key === "status" ? `status ${text}` : column.kind;
    return (
      <td
        key={column.key}
        style={{ left: left ?? undefined }}
        className={left === null ? kind : `${kind} pinned`}
        title={text}
        data-number={column.isNumber || undefined}
      >
        {text}
      </td>
    );
  };

  return (
    <section className="runs">
      <div className="row">
        <span>
          {listed.length} of {table.runs.length} runs, {columns.length} columns
        </span>
        {cut && <span className="hint">{cut}</span>}
        {STATS.map((stat) => (
          <button
            type="button"
            key={stat}
            aria-pressed={columns.some((column) => column.stat === stat)}
            onClick={() => change({ columns: toggleStat(table.columns, columns, stat) })}
          >
            {stat}
          </button>
        ))}
        {Object.keys(view.painted).length > 0 && (
          <button type="button" onClick={() => change({ painted: {} })}>
            Reset colors
          </button>
        )}
        <StopRuns runs={running} />
        <StartBoard
          make={() => chooseSources(view, chosen)}
          isDisabled={chosen.length === 0}
          title={`Open ${plural(chosen.length, "selected run")} in TensorBoard`}
        >
          TensorBoard
        </StartBoard>
        <CopyButton make={() => tableToCsv(columns, lines)} />
        <ColumnPicker columns={table.columns} shown={columns} />
      </div>
      {listed.length === 0 && <Empty>No runs match these filters.</Empty>}
      <div className="table" ref={box}>
        <table
          style={{ width: CHECKBOX_WIDTH + nameWidth + pinnedWidth + total }}
          aria-rowcount={lines.length}
        >
          <thead>
            <tr>
              <th style={{ width: CHECKBOX_WIDTH }} aria-label="Selected" />
              <th style={{ width: nameWidth }} className="name" aria-sort={order("run")}>
                <button type="button" onClick={() => sortBy("run")}>
                  run{arrow("run")}
                </button>
              </th>
              {pinned.map(heading)}
              {before > 0 && <th style={{ width: before }} aria-hidden />}
              {shown.map(heading)}
              {after > 0 && <th style={{ width: after }} aria-hidden />}
            </tr>
          </thead>
          <tbody onKeyDown={arrowKeys.onKeyDown}>
            {items[0] && <tr style={{ height: items[0].start }} aria-hidden />}
            {items.map((item) => {
              const line = lines[item.index];
              if (!line) return null;
              const focusable = arrowKeys.focusable(item.index);
              if (line.kind === "group") {
                return (
                  <tr key={`group ${line.name}`} className="group" {...focusable}>
                    <td style={{ height: LINE_HEIGHT }} />
                    <th className="name" scope="rowgroup">
                      <span title={line.name}>
                        {line.name || "no group"}, {plural(line.count, "run")}
                      </span>
                    </th>
                    <td colSpan={pinned.length + shown.length + 2} />
                  </tr>
                );
              }
              return (
                <tr
                  key={line.name}
                  style={{ height: LINE_HEIGHT }}
                  {...focusable}
                  onKeyDown={(event) => handleKey(event, line.name)}
                >
                  <td>
                    <input
                      type="checkbox"
                      tabIndex={-1}
                      aria-label={`Show ${line.name}`}
                      checked={!off.has(line.name)}
                      onChange={() => toggle(line.name)}
                    />
                  </td>
                  <th className="name" scope="row">
                    <Swatch run={line.name} />
                    <button
                      type="button"
                      tabIndex={-1}
                      title={line.name}
                      aria-label={line.name}
                      disabled={!openRun}
                      onClick={() => openRun?.(line.name)}
                    >
                      <Name name={line.name} label={labels.of(line.name)} />
                    </button>
                  </th>
                  {pinned.map((column) => cell(column, line.row))}
                  {before > 0 && <td aria-hidden />}
                  {shown.map((column) => cell(column, line.row))}
                  {after > 0 && <td aria-hidden />}
                </tr>
              );
            })}
            <tr style={{ height: rows.getTotalSize() - (items.at(-1)?.end ?? 0) }} aria-hidden />
          </tbody>
        </table>
      </div>
    </section>
  );
}

function CopyButton({ make }: { make: () => string }) {
  const [label, setLabel] = useState("Copy as CSV");
  const flash = (text: string) => {
    setLabel(text);
    setTimeout(() => setLabel("Copy as CSV"), 2000);
  };
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(make());
      flash("Copied");
    } catch {
      flash("Clipboard access denied");
    }
  };
  return (
    <button type="button" onClick={copy}>
      {label}
    </button>
  );
}
