import { expect, test } from "vitest";
import {
  arrangeRuns,
  chooseColumns,
  compareCells,
  nameCut,
  tableToCsv,
  titleColumns,
  toggleStat,
} from "./rows";
import type { Cell, Column, RunTable } from "./types";

function column(key: string, cells: Cell[], rest: Partial<Column> = {}): Column {
  return { key, kind: "fixed", name: key, stat: "", isNumber: true, cells, ...rest };
}

const TABLE: RunTable = {
  runs: ["b", "a", "c"],
  columns: [
    column("run", ["b", "a", "c"], { isNumber: false }),
    column("lr", [0.1, 0.01, 0.1], { kind: "hparam" }),
    column("val/loss", [Number.NaN, 2, 1], { kind: "statistic", stat: "last" }),
    column("min val/loss", [0, 1, 2], { kind: "statistic", name: "val/loss", stat: "min" }),
    column("system/gpu", [1, 1, 1], { kind: "statistic", stat: "last" }),
    column("note", [null, null, null], { kind: "text" }),
  ],
};

test("missing values come last in either order", () => {
  const cells: Cell[] = [null, 2, Number.NaN, 10n, -1];
  const sort = (isDescending: boolean) =>
    [...cells].sort((a, b) => compareCells(a, b, isDescending));
  expect(sort(false)).toEqual([-1, 2, 10n, null, Number.NaN]);
  expect(sort(true)).toEqual([10n, 2, -1, null, Number.NaN]);
});

test("numbers within text are sorted by value", () => {
  expect(["seed-10", "seed-9"].sort((a, b) => compareCells(a, b))).toEqual(["seed-9", "seed-10"]);
});

test("runs are sorted within their groups", () => {
  const groupOf = (run: string) => (run === "a" ? "lr=0.01" : "lr=0.1");
  const lines = arrangeRuns(TABLE, TABLE.runs, "val/loss", false, groupOf);
  expect(lines.map((line) => line.name)).toEqual(["lr=0.01", "a", "lr=0.1", "c", "b"]);
  expect(lines[2]).toEqual({ kind: "group", name: "lr=0.1", count: 2 });
});

test("hparams and last values are shown by default, with pinned columns first", () => {
  const keys = (chosen: string[] | null, pinned: string[]) =>
    chooseColumns(TABLE.columns, chosen, pinned).map(({ key }) => key);
  expect(keys(null, [])).toEqual(["lr", "val/loss"]);
  expect(keys(null, ["min val/loss"])).toEqual(["min val/loss", "lr", "val/loss"]);
  expect(keys(["val/loss", "lr", "gone"], ["lr"])).toEqual(["lr", "val/loss"]);
});

test("a problems or status column without information is not shown by default", () => {
  const keys = (problems: Cell[], status: Cell[]) =>
    chooseColumns([column("problems", problems), column("status", status)], null, []).map(
      ({ key }) => key,
    );
  expect(keys([0, 0], ["unknown", "unknown"])).toEqual([]);
  expect(keys([0, 2], ["unknown", "failed"])).toEqual(["problems", "status"]);
});

test("a column's title is its hparam or tag, unless two would be the same", () => {
  const hidden = column("hparam hidden", [1], { kind: "hparam", name: "hidden" });
  const lowest = column("min(loss)", [1], { kind: "statistic", name: "loss", stat: "min" });
  expect(titleColumns([hidden, lowest])).toEqual(["hidden", "min loss"]);
  expect(titleColumns([hidden, column("hidden", [1])])).toEqual(["hparam hidden", "hidden"]);
});

test("a statistic is added after the last value of each visible tag, and removed again", () => {
  const shown = TABLE.columns.slice(1, 3);
  const keys = toggleStat(TABLE.columns, shown, "min");
  expect(keys).toEqual(["lr", "val/loss", "min val/loss"]);
  const now = chooseColumns(TABLE.columns, keys, []);
  expect(toggleStat(TABLE.columns, now, "min")).toEqual(["lr", "val/loss"]);
});

test("the table is copied in the visible order, without group headings", () => {
  const lines = arrangeRuns(TABLE, ["b", "c"], "val/loss", false, () => "all");
  const columns = chooseColumns(TABLE.columns, ["val/loss", "note"], []);
  expect(tableToCsv(columns, lines)).toBe("run,val/loss,note\r\nc,1,\r\nb,nan,\r\n");
});

test("a table reports how many tags have columns", () => {
  const names = (count: number) =>
    Array.from({ length: count }, (_, number) => ({
      ...{ key: `${number}`, kind: "statistic" as const, name: `${number}`, stat: "last" },
      ...{ isNumber: true, cells: [] },
    }));
  expect(nameCut({ runs: [], columns: names(1000), leftOut: { scalar: 250 } })).toBe(
    "first 1,000 of 1,250 scalar tags",
  );
  expect(nameCut({ runs: [], columns: names(1000) })).toBe("");
});
