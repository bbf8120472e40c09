import { expect, test } from "vitest";
import { findLimits, spread } from "./histograms";

test("a selection is spread evenly and includes the first and last entry", () => {
  expect(spread([1, 2, 3], 5)).toEqual([1, 2, 3]);
  expect(
    spread(
      Array.from({ length: 101 }, (_, number) => number),
      5,
    ),
  ).toEqual([0, 25, 50, 75, 100]);
});

test("limits cover all finite quantiles", () => {
  const make = (...quantiles: number[]) => ({
    ...{ run: "a", step: 0, wallTime: 0, edges: [], counts: [] },
    quantiles,
  });
  expect(findLimits([make(1, 2), make(Number.NaN, 7)])).toEqual([1, 7]);
  expect(findLimits([make(Number.NaN)])).toEqual([0, 1]);
});
