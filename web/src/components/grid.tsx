/** Virtualized table: only the visible rows are in the DOM. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import type { Column } from "../data/types";
import { formatCell } from "../format/number";
import "./grid.css";

const ROW_HEIGHT = 26;
const NAME_COLUMNS = new Set(["run", "tag"]);

interface Props {
  columns: readonly Column[];
  caption: string;
}

export function Grid({ columns, caption }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: columns[0]?.cells.length ?? 0,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  const items = rows.getVirtualItems();
  return (
    <div className="grid" ref={box}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.key} scope="col" data-number={column.isNumber || undefined}>
                {column.key}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr style={{ height: items[0]?.start ?? 0 }} aria-hidden />
          {items.map((item) => (
            <tr key={item.key} style={{ height: ROW_HEIGHT }}>
              {columns.map((column) => {
                const text = formatCell(column.cells[item.index] ?? null);
                return (
                  <td
                    key={column.key}
                    title={text}
                    data-number={column.isNumber || undefined}
                    data-name={NAME_COLUMNS.has(column.key) || undefined}
                  >
                    {text}
                  </td>
                );
              })}
            </tr>
          ))}
          <tr style={{ height: rows.getTotalSize() - (items.at(-1)?.end ?? 0) }} aria-hidden />
        </tbody>
      </table>
    </div>
  );
}
