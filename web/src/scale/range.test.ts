import { expect, test } from "vitest";
import { closest, lowerBound, robustSpread, spread, widen } from "./range";

const of = (...values: number[]) => Float64Array.from(values);

test("the range ignores values that an axis cannot show", () => {
  const values = of(3, Number.NaN, Number.POSITIVE_INFINITY, -1, 0);
  expect(spread(values, 0, 5, false)).toEqual([-1, 3]);
  expect(spread(values, 0, 5, true)).toEqual([3, 3]);
  expect(spread(of(Number.NaN), 0, 1, false)).toBeNull();
});

test("a spike does not affect the robust range", () => {
  const values = Float64Array.from({ length: 200 }, (_, index) =>
    index === 0 ? 1e6 : index / 200,
  );
  const [low, high] = robustSpread([values], false) ?? [0, 0];
  expect(low).toBeCloseTo(0.005);
  expect(high).toBeLessThan(2);
});

test("the robust range of values without outliers is their full range", () => {
  const values = of(1, 2, 3, 4, 5);
  expect(robustSpread([values], false)).toEqual([1, 5]);
  expect(robustSpread([of()], false)).toBeNull();
});

test("a single value gets a margin", () => {
  expect(widen([0, 0], false)).toEqual([-1, 1]);
  expect(widen([10, 10], false)).toEqual([9, 11]);
  expect(widen([10, 10], true)).toEqual([5, 20]);
  expect(widen([-1.7e308, 1.7e308], false).every(Number.isFinite)).toBe(true);
});

test("positions are found in sorted values", () => {
  const values = of(0, 10, 20);
  expect(lowerBound(values, 10)).toBe(1);
  expect(lowerBound(values, 21)).toBe(3);
  expect(closest(values, 14)).toBe(1);
  expect(closest(values, 16)).toBe(2);
  expect(closest(values, -5)).toBe(0);
  expect(closest(of(), 1)).toBe(-1);
});
