/** The rows and columns of the table of runs, as one chose to see them. */

import { writeCsv } from "../format/csv";
import { isStory, isSystem } from "./tags";
import type { Cell, Column, RunTable } from "./types";

export type Line =
  | { kind: "group"; name: string; count: number }
  | { kind: "run"; name: string; row: number };

/** Whether a cell comes before another; what is missing, and NaN, comes last either way. */
export function compareCells(one: Cell, other: Cell, isDescending = false): number {
  const [isFirstVoid, isSecondVoid] = [isVoid(one), isVoid(other)];
  if (isFirstVoid || isSecondVoid) return Number(isFirstVoid) - Number(isSecondVoid);
  let order: number;
  if (typeof one === "string" || typeof other === "string") {
    order = compareText(String(one), String(other));
  } else {
    const [left, right] = [one ?? 0, other ?? 0];
    order = left < right ? -1 : left > right ? 1 : 0;
  }
  return isDescending ? -order : order;
}

const NUMBER = /(\d+(?:\.\d+)?(?:e[+-]?\d+)?)/i;

/** Text with the numbers in it as numbers: seed-9 before seed-10, lr=0.01 before lr=0.1. */
export function compareText(one: string, other: string): number {
  const [left, right] = [one.split(NUMBER), other.split(NUMBER)];
  for (let place = 0; place < Math.min(left.length, right.length); place++) {
    const [first = "", second = ""] = [left[place], right[place]];
    // Every other part is a number.
    const order = place % 2 ? Number(first) - Number(second) : first < second ? -1 : 1;
    if (first !== second && order !== 0) return order;
  }
  return left.length - right.length || (one < other ? -1 : Number(one > other));
}

function isVoid(cell: Cell): boolean {
  return cell === null || Number.isNaN(cell);
}

/** The runs in the order of a column, below the heading of their group if there are groups. */
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
    lines.sort((one, other) =>
      compareCells(cells[one.row] ?? null, cells[other.row] ?? null, isDescending),
    );
  }
  if (!groupOf) return lines;
  const groups = gather(lines, (line) => groupOf(line.name));
  const names = [...groups.keys()].sort((one, other) => compareCells(one, other));
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

const SILENT = new Map<string, Cell>([
  ["problems", 0],
  ["status", "unknown"],
]);

// The server has them only in the table.
const COUNTS = ["run", "hidden", "problems"];

/** The column that makes groups under a name: an hparam, or any other by what it is called. */
export function findGrouping(columns: readonly Column[], by: string): Column | undefined {
  return (
    columns.find((column) => column.kind === "hparam" && column.name === by) ??
    columns.find((column) => column.key === by && !COUNTS.includes(column.key))
  );
}

/** By default: what is known of a run, its hparams, and the last value of each tag. */
export function isShownByDefault(column: Column): boolean {
  if (column.key === "run" || column.key === "hidden" || column.key === "points") return false;
  // What says the same of every run, that nothing is known or wrong, takes room from the rest.
  const silent = column.kind === "fixed" ? (SILENT.get(column.key) ?? null) : null;
  if (column.cells.every((cell) => cell === null || cell === silent)) return false;
  if (column.kind === "statistic") {
    const isOwn = isSystem(column.name) || isStory(column.name);
    return column.stat === "last" && !isOwn;
  }
  return column.kind !== "text";
}

/** The columns to show, pinned ones first. */
export function chooseColumns(
  columns: readonly Column[],
  chosen: readonly string[] | null,
  pinned: readonly string[],
): Column[] {
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const wanted = chosen
    ? chosen.flatMap((key) => byKey.get(key) ?? [])
    : columns.filter(isShownByDefault);
  const isPinned = new Set(pinned);
  const first = pinned.flatMap((key) => byKey.get(key) ?? []);
  return [...first, ...wanted.filter((column) => !isPinned.has(column.key))];
}

/** "first 1,000 of 1,250", or nothing where all are there. */
export function nameFirst(shown: number, all: number): string {
  return shown < all ? `first ${shown.toLocaleString("en")} of ${all.toLocaleString("en")}` : "";
}

/** Which tags have columns, where not all have: `first 1,000 of 1,250 scalar tags`. */
export function nameCut({ columns, leftOut = {} }: RunTable): string {
  const kinds = { scalar: "statistic", text: "text" };
  const parts = Object.entries(kinds).map(([kind, columnKind]) => {
    const names = columns.filter((one) => one.kind === columnKind).map((one) => one.name);
    const shown = new Set(names).size;
    const first = nameFirst(shown, shown + (leftOut[kind] ?? 0));
    return first && `${first} ${kind} tags`;
  });
  return parts.filter(Boolean).join(", ");
}

/** What stands above each column: the hparam or tag, or the whole name where two would be alike. */
export function titleColumns(columns: readonly Column[]): string[] {
  const short = columns.map(({ kind, name, stat, key }) => {
    if (kind === "statistic") return stat === "last" ? name : `${stat} ${name}`;
    return kind === "hparam" ? name : key;
  });
  const counts = new Map<string, number>();
  for (const title of short) counts.set(title, (counts.get(title) ?? 0) + 1);
  return columns.map((column, place) => {
    const title = short[place] ?? column.key;
    return counts.get(title) === 1 && title !== "run" ? title : column.key;
  });
}

/** The keys with a statistic of every tag that is shown, behind its others; or without it. */
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
  const last = new Map(shown.map((column, place) => [column.name, place]));
  return shown.flatMap((column, place) => {
    const key = column.kind === "statistic" ? added.get(column.name) : undefined;
    return key !== undefined && last.get(column.name) === place ? [column.key, key] : [column.key];
  });
}

/** The table as it is shown, in CSV: every number with all its digits. */
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
