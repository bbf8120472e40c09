import { expect, test } from "vitest";
import { makeTicks, nameTicks } from "./ticks";

test("linear ticks are round numbers within the range", () => {
  expect(makeTicks(0, 1, 5, "linear")).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(makeTicks(3, 97, 5, "linear")).toEqual([20, 40, 60, 80]);
});

test("ticks of a log axis are powers of ten, thinned out if there are many", () => {
  expect(makeTicks(0.001, 10, 5, "log")).toEqual([0.001, 0.01, 0.1, 1, 10]);
  expect(makeTicks(1, 1e12, 4, "log")).toEqual([1, 1e3, 1e6, 1e9, 1e12]);
  expect(makeTicks(1, 100, 8, "log")).toEqual([1, 2, 5, 10, 20, 50, 100]);
});

test("a log axis of less than a decade has linear ticks", () => {
  expect(makeTicks(2, 6, 4, "log")).toEqual([2, 3, 4, 5, 6]);
});

test("elapsed time is labeled in common units", () => {
  const ticks = makeTicks(0, 7200, 5, "seconds");
  expect(nameTicks(ticks, "seconds")).toEqual(["0", "30 min", "1 h", "1.5 h", "2 h"]);
});

test("times of day have ticks at whole minutes", () => {
  const ticks = makeTicks(1_700_000_003, 1_700_000_590, 4, "time");
  expect(ticks.length).toBeGreaterThan(1);
  for (const tick of ticks) expect(tick % 60).toBe(0);
});

test("fractions of a second follow the two digits of the seconds", () => {
  const names = nameTicks([1_700_000_103, 1_700_000_103.5], "time");
  for (const name of names) expect(name).toMatch(/^\d\d:\d\d:03\.[05]00$/);
});

test("an empty or invalid range gives at most one tick and no endless loop", () => {
  expect(makeTicks(1, 1, 5, "linear")).toEqual([1]);
  expect(makeTicks(0, Number.POSITIVE_INFINITY, 5, "linear")).toEqual([0]);
  expect(makeTicks(-5, 10, 5, "log")).toEqual([]);
});

test("labels are short", () => {
  expect(nameTicks([20_000, 1_500_000, 0.25, 0.0001], "linear")).toEqual([
    "20k",
    "1.5M",
    "0.25",
    "1e-4",
  ]);
});

test("adjacent ticks have different labels, however close they are", () => {
  for (const [low, high] of [
    [1_000_000_000, 1_000_000_010],
    [0.71314718, 0.71314729],
    [-1_234_567, -1_234_560],
  ] as const) {
    const ticks = makeTicks(low, high, 5, "linear");
    expect(ticks.length).toBeGreaterThan(1);
    expect(new Set(nameTicks(ticks, "linear")).size).toBe(ticks.length);
  }
});
