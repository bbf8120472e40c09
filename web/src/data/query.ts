/** An answer to a query in SQL, and what of it can be drawn. */

import { readArrow, readColumns, send } from "./api";
import type { Column } from "./types";

export interface Answer {
  columns: Column[];
  rows: number;
  isTruncated: boolean;
}

export async function ask(query: string, signal: AbortSignal): Promise<Answer> {
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
 * What a chart of an answer shows: the first column of numbers is x, the others are lines.
 *
 * With a column of text, as in `select run, step, value`, each of its texts is a line.
 */
export function makeLines(columns: readonly Column[], most = 50): Lines | null {
  const [x, ...ys] = columns.filter(isNumeric);
  if (!x || ys.length === 0) return null;
  const text = columns.find((column) => column.cells.some((cell) => typeof cell === "string"));
  const series = new Map<string, Map<number, number>>();
  for (const y of text ? ys.slice(-1) : ys) {
    for (const [row, cell] of y.cells.entries()) {
      const place = x.cells[row];
      if (cell === null || place === null || place === undefined) continue;
      const name = text ? String(text.cells[row]) : y.key;
      if (!series.has(name)) {
        if (series.size === most) continue;
        series.set(name, new Map());
      }
      series.get(name)?.set(Number(place), Number(cell));
    }
  }
  const places = new Set([...series.values()].flatMap((points) => [...points.keys()]));
  const sorted = [...places].sort((one, other) => one - other);
  const lines = [...series.values()].map((points) =>
    sorted.map((place) => points.get(place) ?? null),
  );
  return { x: x.key, names: [...series.keys()], data: [sorted, ...lines] };
}
