/** Results of SQL queries, and the lines to plot from them. */

import { readArrow, readColumns, send } from "./api";
import type { Column } from "./types";

export interface QueryResult {
  columns: Column[];
  rows: number;
  isTruncated: boolean;
}

export async function runQuery(query: string, signal: AbortSignal): Promise<QueryResult> {
  const table = await readArrow(await send("/api/sql", { query }, signal));
  return {
    columns: readColumns(table),
    rows: table.numRows,
    isTruncated: table.schema.metadata.get("truncated") === "true",
  };
}

export interface Lines {
  x: string;
  names: string[];
  data: [number[], ...(number | null)[][]];
}

const isNumeric = (column: Column) =>
  column.cells.some((cell) => typeof cell === "number" || typeof cell === "bigint") &&
  column.cells.every(
    (cell) => cell === null || typeof cell === "number" || typeof cell === "bigint",
  );

/**
 * Return the lines to plot from a result: the first numeric column is x, the others are lines.
 *
 * If there is a text column, as in `select run, step, value`, each distinct string is a line.
 */
export function makeLines(columns: readonly Column[], most = 50): Lines | null {
  const [x, ...ys] = columns.filter(isNumeric);
  if (!x || ys.length === 0) return null;
  const text = columns.find((column) => column.cells.some((cell) => typeof cell === "string"));
  const series = new Map<string, Map<number, number>>();
  for (const y of text ? ys.slice(-1) : ys) {
    for (const [row, cell] of y.cells.entries()) {
      const xCell = x.cells[row];
      if (cell === null || xCell === null || xCell === undefined) continue;
      const name = text ? String(text.cells[row]) : y.key;
      if (!series.has(name)) {
        if (series.size === most) continue;
        series.set(name, new Map());
      }
      series.get(name)?.set(Number(xCell), Number(cell));
    }
  }
  const xs = new Set([...series.values()].flatMap((points) => [...points.keys()]));
  const sorted = [...xs].sort((a, b) => a - b);
  const lines = [...series.values()].map((points) =>
    sorted.map((value) => points.get(value) ?? null),
  );
  return { x: x.key, names: [...series.keys()], data: [sorted, ...lines] };
}
