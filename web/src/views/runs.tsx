/** The table of runs: sorted, grouped, with the columns that one chose. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, useMemo, useRef } from "react";
import { ColumnPicker } from "../components/columns";
import { Empty } from "../components/states";
import { arrangeRuns, chooseColumns } from "../data/rows";
import type { Column } from "../data/types";
import { formatCell } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import "./runs.css";

const LINE = 28;
const NAME_WIDTH = 240;
const SWITCH_WIDTH = 34;

/** As wide as what is in it, within reason: the widths must not change while one scrolls. */
function widthOf(column: Column): number {
  let longest = column.key.length + 3;
  const every = Math.max(1, Math.floor(column.cells.length / 200));
  for (let row = 0; row < column.cells.length; row += every) {
    longest = Math.max(longest, formatCell(column.cells[row] ?? null, column.key).length);
  }
  return Math.min(260, Math.max(64, longest * 7.6 + 20));
}

export function RunsView() {
  const [view, change] = useView();
  const { table, listed, groupOf, colourOf } = useChoice();
  const columns = useMemo(
    () => chooseColumns(table.columns, view.columns, view.pinned),
    [table, view.columns, view.pinned],
  );
  const widths = useMemo(() => columns.map(widthOf), [columns]);
  const lines = useMemo(
    () => arrangeRuns(table, listed, view.sort, view.isDescending, view.by ? groupOf : null),
    [table, listed, view.sort, view.isDescending, view.by, groupOf],
  );
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 12,
  });
  const sideways = useVirtualizer({
    horizontal: true,
    count: columns.length,
    getScrollElement: () => box.current,
    estimateSize: (number) => widths[number] ?? 80,
    overscan: 3,
  });
  const off = useMemo(() => new Set(view.off), [view.off]);
  const items = rows.getVirtualItems();
  const shown = sideways.getVirtualItems();
  const total = sideways.getTotalSize();
  const before = shown[0]?.start ?? 0;
  const after = total - (shown.at(-1)?.end ?? 0);
  const toggle = (run: string) =>
    change({ off: off.has(run) ? view.off.filter((one) => one !== run) : [...view.off, run] });
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
  const name: CSSProperties = { width: NAME_WIDTH };

  return (
    <section className="runs">
      <div className="row">
        <span>
          {listed.length} of {table.runs.length} runs, {columns.length} columns
        </span>
        <ColumnPicker columns={table.columns} shown={columns} />
      </div>
      {listed.length === 0 && <Empty>No run is left by what you ask for.</Empty>}
      <div className="table" ref={box}>
        <table style={{ width: SWITCH_WIDTH + NAME_WIDTH + total }} aria-rowcount={lines.length}>
          <thead>
            <tr>
              <th style={{ width: SWITCH_WIDTH }} aria-label="Shown" />
              <th style={name} className="name" aria-sort={order("run")}>
                <button type="button" onClick={() => sortBy("run")}>
                  run{arrow("run")}
                </button>
              </th>
              {before > 0 && <th style={{ width: before }} aria-hidden />}
              {shown.map((item) => {
                const column = columns[item.index];
                if (!column) return null;
                return (
                  <th
                    key={column.key}
                    style={{ width: item.size }}
                    className={column.kind}
                    aria-sort={order(column.key)}
                  >
                    <button
                      type="button"
                      title={`${column.key}: sort`}
                      onClick={() => sortBy(column.key)}
                    >
                      {column.key}
                      {arrow(column.key)}
                    </button>
                  </th>
                );
              })}
              {after > 0 && <th style={{ width: after }} aria-hidden />}
            </tr>
          </thead>
          <tbody>
            {items[0] && <tr style={{ height: items[0].start }} aria-hidden />}
            {items.map((item) => {
              const line = lines[item.index];
              if (!line) return null;
              if (line.kind === "group") {
                return (
                  <tr key={`group ${line.name}`} className="group" style={{ height: LINE }}>
                    <td />
                    <th className="name" scope="rowgroup">
                      {line.name || "none"}, {line.count} run{line.count === 1 ? "" : "s"}
                    </th>
                  </tr>
                );
              }
              return (
                <tr key={line.name} style={{ height: LINE }}>
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`Show ${line.name}`}
                      checked={!off.has(line.name)}
                      onChange={() => toggle(line.name)}
                    />
                  </td>
                  <th className="name" scope="row">
                    <span className="swatch" style={{ background: colourOf(line.name) }} />
                    <button
                      type="button"
                      title={line.name}
                      onClick={() => change({ tab: "run", run: line.name })}
                    >
                      {line.name}
                    </button>
                  </th>
                  {before > 0 && <td aria-hidden />}
                  {shown.map(({ index }) => {
                    const column = columns[index];
                    if (!column) return null;
                    const text = formatCell(column.cells[line.row] ?? null, column.key);
                    return (
                      <td
                        key={column.key}
                        className={column.key === "status" ? `status ${text}` : column.kind}
                        title={text}
                        data-number={column.isNumber || undefined}
                      >
                        {text}
                      </td>
                    );
                  })}
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
