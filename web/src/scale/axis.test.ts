import { expect, test } from "vitest";
import { isSpread, makeAxis, shade } from "./axis";

test("numbers are placed linearly, or logarithmically if they span several decades", () => {
  const plain = makeAxis([0, 5, 10]);
  expect([plain.position(0), plain.position(5), plain.position(10)]).toEqual([0, 0.5, 1]);
  expect(isSpread([0.001, 0.1])).toBe(true);
  const rates = makeAxis([0.001, 0.01, 0.1]);
  expect(rates.position(0.01)).toBeCloseTo(0.5);
  expect(rates.ticks[0]?.label).toBe("0.001");
});

test("ticks are at the values if a few recur, otherwise at round numbers", () => {
  const labels = (cells: number[]) => makeAxis(cells).ticks.map((tick) => tick.label);
  expect(labels([0.3, 0.01, 0.1, 0.1])).toEqual(["0.01", "0.1", "0.3"]);
  expect(labels([0.1975, 1.591, 0.83])).toEqual(["0.5", "1", "1.5"]);
  // Two labels would overlap.
  expect(labels([1, 1.001, 2, 2])).toEqual(["1", "1.2", "1.4", "1.6", "1.8", "2"]);
  expect(makeAxis([0, 0, 10, 10]).ticks.map((tick) => tick.at)).toEqual([0, 1]);
});

test("names have one position each, in order", () => {
  const axis = makeAxis(["sgd", "adam", "sgd", null]);
  expect([axis.position("adam"), axis.position("sgd"), axis.position(null)]).toEqual([0, 1, null]);
});

test("NaN and infinity have no position on an axis", () => {
  const axis = makeAxis([1, 2, Number.NaN]);
  expect(axis.position(Number.NaN)).toBeNull();
  expect(axis.position(Number.POSITIVE_INFINITY)).toBeNull();
});

test("a single value is in the middle", () => {
  expect(makeAxis([3, 3]).position(3)).toBe(0.5);
});

test("shades range from one end to the other", () => {
  expect([shade(0), shade(1), shade(7)]).toEqual([
    "rgb(122 70 190)",
    "rgb(222 172 28)",
    "rgb(222 172 28)",
  ]);
});
