import { expect, test } from "vitest";
import { isSpread, makeAxis, shade } from "./axis";

test("numbers lie where they are, over many sizes by their logarithm", () => {
  const plain = makeAxis([0, 5, 10]);
  expect([plain.place(0), plain.place(5), plain.place(10)]).toEqual([0, 0.5, 1]);
  expect(isSpread([0.001, 0.1])).toBe(true);
  const rates = makeAxis([0.001, 0.01, 0.1]);
  expect(rates.place(0.01)).toBeCloseTo(0.5);
  expect(rates.ticks[0]?.label).toBe("0.001");
});

test("marks are at values that come again, otherwise at round numbers", () => {
  const labels = (cells: number[]) => makeAxis(cells).ticks.map((tick) => tick.label);
  expect(labels([0.3, 0.01, 0.1, 0.1])).toEqual(["0.01", "0.1", "0.3"]);
  expect(labels([0.1975, 1.591, 0.83])).toEqual(["0.5", "1", "1.5"]);
  // Two that would stand on each other.
  expect(labels([1, 1.001, 2, 2])).toEqual(["1", "1.2", "1.4", "1.6", "1.8", "2"]);
  expect(makeAxis([0, 0, 10, 10]).ticks.map((tick) => tick.at)).toEqual([0, 1]);
});

test("names have a place each, in order", () => {
  const axis = makeAxis(["sgd", "adam", "sgd", null]);
  expect([axis.place("adam"), axis.place("sgd"), axis.place(null)]).toEqual([0, 1, null]);
});

test("what is no number has no place among numbers", () => {
  const axis = makeAxis([1, 2, Number.NaN]);
  expect(axis.place(Number.NaN)).toBeNull();
  expect(axis.place(Number.POSITIVE_INFINITY)).toBeNull();
});

test("one value alone lies in the middle", () => {
  expect(makeAxis([3, 3]).place(3)).toBe(0.5);
});

test("shades go from one end to the other", () => {
  expect([shade(0), shade(1), shade(7)]).toEqual([
    "rgb(122 70 190)",
    "rgb(222 172 28)",
    "rgb(222 172 28)",
  ]);
});
