/** Rows and columns of the runs table: sorting, grouping and selection. */

import { writeCsv } from "../format/csv";
import { isStory, isSystem } from "./tags";
import type { Cell, Column, RunTable } from "./types";

export type Line =
  | { kind: "group"; name: string; count: number }
  | { kind: "run"; name: string; row: number };

/** Compare two cells for sorting. Missing values and NaN come last in either order. */
export function compareCells(a: Cell, b: Cell, isDescending = false): number {
  const [isFirstMissing, isSecondMissing] = [isMissing(a), isMissing(b)];
  if (isFirstMissing || isSecondMissing) return Number(isFirstMissing) - Number(isSecondMissing);
  let order: number;
  if (typeof a === "string" || typeof b === "string") {
    order = compareText(String(a), String(b));
  } else {
    const [left, right] = [a ?? 0, b ?? 0];
    order = left < right ? -1 : left > right ? 1 : 0;
  }
  return isDescending ? -order : order;
}

const NUMBER = /(\d+(?:\.\d+)?(?:e[+-]?\d+)?)/i;

/** Compare text, and numbers in it by value: seed-9 before seed-10, lr=0.01 before lr=0.1. */
export function compareText(a: string, b: string): number {
  const [left, right] = [a.split(NUMBER), b.split(NUMBER)];
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const [first = "", second = ""] = [left[index], right[index]];
    // Every second part is a number.
    const order = index % 2 ? Number(first) - Number(second) : first < second ? -1 : 1;
    if (first !== second && order !== 0) return order;
  }
  return left.length - right.length || (a < b ? -1 : Number(a > b));
}

function isMissing(cell: Cell): boolean {
  return cell === null || Number.isNaN(cell);
}

/** Return the runs sorted by a column, below group headings if there are groups. */
export function arrangeRuns(
  table: RunTable,
  runs: readonly string[],
  sort: string,
  isDescending: boolean,
  groupOf: ((run: string) => string) | null,
): Line[] {
  const rows = new Map(table.runs.map((run, row) => [run, row]));
  const cells = table.columns.find((column) => column.key === sort)?.cells;
  const lines = runs.map((name): Line & { kind: "run" } => ({
    kind: "run",
    name,
    row: rows.get(name) ?? 0,
  }));
  if (cells) {
    lines.sort((a, b) => compareCells(cells[a.row] ?? null, cells[b.row] ?? null, isDescending));
  }
  if (!groupOf) return lines;
  const groups = gather(lines, (line) => groupOf(line.name));
  const names = [...groups.keys()].sort((a, b) => compareCells(a, b));
  return names.flatMap((name) => {
    const members = groups.get(name) ?? [];
    return [{ kind: "group" as const, name, count: members.length }, ...members];
  });
}

function gather<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = key(item);
    const members = groups.get(name);
    if (members) members.push(item);
    else groups.set(name, [item]);
  }
  return groups;
}

/** Cells without information, by column. */
const SILENT = new Map<string, Cell>([
  ["problems", 0],
  ["status", "unknown"],
]);

// The server cannot group by these columns.
const UNGROUPABLE = ["run", "hidden", "problems"];

/** Find the column to group by: an hparam of this name, or any other column with this key. */
export function findGrouping(columns: readonly Column[], by: string): Column | undefined {
  return (
    columns.find((column) => column.kind === "hparam" && column.name === by) ??
    columns.find((column) => column.key === by && !UNGROUPABLE.includes(column.key))
  );
}

/** Whether a column is visible by default: facts about the run, hparams, last values of tags. */
export function isShownByDefault(column: Column): boolean {
  if (column.key === "run" || column.key === "hidden" || column.key === "points") return false;
  // A column without any information takes room from the others.
  const silent = column.kind === "fixed" ? (SILENT.get(column.key) ?? null) : null;
  if (column.cells.every((cell) => cell === null || cell === silent)) return false;
  if (column.kind === "statistic") {
    const isOwn = isSystem(column.name) || isStory(column.name);
    return column.stat === "last" && !isOwn;
  }
  return column.kind !== "text";
}

/** Return the columns to show, pinned columns first. */
export function chooseColumns(
  columns: readonly Column[],
  chosen: readonly string[] | null,
  pinned: readonly string[],
): Column[] {
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const selected = chosen
    ? chosen.flatMap((key) => byKey.get(key) ?? [])
    : columns.filter(isShownByDefault);
  const isPinned = new Set(pinned);
  const first = pinned.flatMap((key) => byKey.get(key) ?? []);
  return [...first, ...selected.filter((column) => !isPinned.has(column.key))];
}

/** Return "first 1,000 of 1,250", or an empty string if all are shown. */
export function nameFirst(shown: number, all: number): string {
  return shown < all ? `first ${shown.toLocaleString("en")} of ${all.toLocaleString("en")}` : "";
}

/** Describe which tags have columns if not all do: `first 1,000 of 1,250 scalar tags`. */
export function nameCut({ columns, leftOut = {} }: RunTable): string {
  const kinds = { scalar: "statistic", text: "text" };
  const parts = Object.entries(kinds).map(([kind, columnKind]) => {
    const names = columns.filter((column) => column.kind === columnKind).map(({ name }) => name);
    const shown = new Set(names).size;
    const first = nameFirst(shown, shown + (leftOut[kind] ?? 0));
    return first && `${first} ${kind} tags`;
  });
  return parts.filter(Boolean).join(", ");
}

/** Return the column titles: the hparam or tag, or the full key if two would be the same. */
export function titleColumns(columns: readonly Column[]): string[] {
  const short = columns.map(({ kind, name, stat, key }) => {
    if (kind === "statistic") return stat === "last" ? name : `${stat} ${name}`;
    return kind === "hparam" ? name : key;
  });
  const counts = new Map<string, number>();
  for (const title of short) counts.set(title, (counts.get(title) ?? 0) + 1);
  return columns.map((column, index) => {
    const title = short[index] ?? column.key;
    return counts.get(title) === 1 && title !== "run" ? title : column.key;
  });
}

/** Return the column keys with a statistic added to every visible tag, or removed if present. */
export function toggleStat(
  columns: readonly Column[],
  shown: readonly Column[],
  stat: string,
): string[] {
  const keys = shown.filter((column) => column.stat !== stat).map((column) => column.key);
  if (keys.length < shown.length) return keys;
  const added = new Map(
    columns.filter((column) => column.stat === stat).map((column) => [column.name, column.key]),
  );
  const last = new Map(shown.map((column, index) => [column.name, index]));
  return shown.flatMap((column, index) => {
    const key = column.kind === "statistic" ? added.get(column.name) : undefined;
    return key !== undefined && last.get(column.name) === index ? [column.key, key] : [column.key];
  });
}

/** Return the visible table as CSV, with full precision. */
export function tableToCsv(columns: readonly Column[], lines: readonly Line[]): string {
  const rows = lines.flatMap((line) =>
    line.kind === "run"
      ? [[line.name, ...columns.map((column) => toField(column.cells[line.row] ?? null))]]
      : [],
  );
  return writeCsv(["run", ...titleColumns(columns)], rows);
}

function toField(cell: Cell): string | number {
  if (cell === null) return "";
  return typeof cell === "number" ? cell : String(cell);
}
