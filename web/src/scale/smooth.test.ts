import { expect, test } from "vitest";
import { smooth } from "./smooth";

const of = (...values: number[]) => Float64Array.from(values);

test("weight 0 changes nothing", () => {
  const values = of(1, 5, 2);
  expect(smooth(values, 0)).toBe(values);
});

test("the first value does not change, and later values are weighted averages", () => {
  const result = smooth(of(1, 3, 5), 0.5);
  expect(result[0]).toBeCloseTo(1);
  // (3 * 1/2 + 1 * 1/4) / (3/4), then (5/2 + 3/4 + 1/8) / (7/8).
  expect(result[1]).toBeCloseTo(7 / 3);
  expect(result[2]).toBeCloseTo(27 / 7);
});

test("a flat line remains exactly flat", () => {
  const values = of(0.1, 0.1, 0.1);
  expect([...smooth(values, 0.97)]).toEqual([0.1, 0.1, 0.1]);
});

test("NaN and infinity remain in place and are not averaged", () => {
  const result = smooth(of(1, Number.NaN, Number.POSITIVE_INFINITY, 3), 0.5);
  expect(result[1]).toBeNaN();
  expect(result[2]).toBe(Number.POSITIVE_INFINITY);
  expect(result[3]).toBeCloseTo(7 / 3);
});

test("a weight of 1 or more is reduced to just below 1", () => {
  expect([...smooth(of(0, 1), 7)].every(Number.isFinite)).toBe(true);
});

test("an empty series stays empty", () => {
  expect(smooth(of(), 0.5)).toHaveLength(0);
});
