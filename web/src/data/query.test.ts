import { expect, test } from "vitest";
import { makeLines } from "./query";
import type { Cell, Column } from "./types";

function column(key: string, cells: Cell[]): Column {
  return { key, kind: "fixed", name: key, stat: "", isNumber: true, cells };
}

test("each distinct string is a separate line", () => {
  const lines = makeLines([
    column("run", ["a", "a", "b"]),
    column("step", [1n, 2, 2]),
    column("value", [0.5, 0.4, 0.3]),
  ]);
  expect(lines).toEqual({
    x: "step",
    names: ["a", "b"],
    data: [
      [1, 2],
      [0.5, 0.4],
      [null, 0.3],
    ],
  });
});

test("without a text column, every numeric column after the first is a line", () => {
  const lines = makeLines([column("x", [2, 1]), column("y", [4, 3]), column("z", [null, 9])]);
  expect(lines?.names).toEqual(["y", "z"]);
  expect(lines?.data).toEqual([
    [1, 2],
    [3, 4],
    [9, null],
  ]);
});

test("a result with fewer than two numeric columns is not plotted", () => {
  expect(makeLines([column("run", ["a"]), column("count", [3])])).toBeNull();
});
