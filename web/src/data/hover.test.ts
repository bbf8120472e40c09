import { expect, test } from "vitest";
import { cutRows, findNearest, findPoints, heightAt } from "./hover";
import type { Line } from "./lines";

function line(label: string, x: number[], y: number[]): Line {
  const own = { x: Float64Array.from(x), y: Float64Array.from(y) };
  const series = {
    name: label,
    runs: [label],
    tag: "t",
    points: 0,
    shown: 0,
    hidden: 0,
    lost: 0,
    note: "",
  };
  return {
    series: { ...series, ...own, smoothed: null, weight: 0, low: null, high: null, count: null },
    label,
    color: "",
    dash: [],
    short: label,
    whole: null,
    fewer: null,
    changes: [],
    count: "",
    ...own,
    low: null,
    high: null,
    raw: null,
    isSorted: x.every((value, index) => index === 0 || value >= (x[index - 1] as number)),
  };
}
const labels = (points: { line: Line }[]) => points.map((point) => point.line.label);

test("the greatest value comes first, and NaN last", () => {
  const lines = [
    line("low", [0, 1], [1, 1]),
    line("none", [0, 1], [Number.NaN, Number.NaN]),
    line("high", [0, 1], [9, 9]),
    line("endless", [0, 1], [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]),
  ];
  expect(labels(findPoints(lines, 0.2, 0.1))).toEqual(["endless", "high", "low", "none"]);
});

test("a line that has ended has no point at the pointer, but a sparse line has one", () => {
  const lines = [line("ended", [0, 10], [1, 1]), line("sparse", [0, 1000], [2, 3])];
  expect(labels(findPoints(lines, 400, 5))).toEqual(["sparse"]);
  expect(labels(findPoints(lines, 12, 5))).toEqual(["sparse", "ended"]);
});

test("the nearest line is also found between its points", () => {
  const lines = [line("steep", [0, 100], [0, 100]), line("flat", [0, 100], [10, 10])];
  const points = findPoints(lines, 50, 5);
  const nearest = (top: number) => points[findNearest(points, 50, top, (y) => y)]?.line.label;
  expect(nearest(48)).toBe("steep");
  expect(nearest(12)).toBe("flat");
  expect(findNearest([], 0, 0, (y) => y)).toBe(-1);
});

test("heights between points are interpolated", () => {
  expect(heightAt(line("a", [0, 10], [0, 5]), 4)).toBe(2);
  expect(heightAt(line("a", [0, 10], [0, 5]), 20)).toBe(5);
  expect(heightAt(line("back", [5, 0], [1, 2]), 4)).toBe(1);
  expect(heightAt(line("none", [], []), 4)).toBeNaN();
});

test("rows are cut around the nearest line", () => {
  expect(cutRows(5, 2, 10)).toEqual([0, 5]);
  expect(cutRows(100, 50, 10)).toEqual([45, 55]);
  expect(cutRows(100, 1, 10)).toEqual([0, 10]);
  expect(cutRows(100, 99, 10)).toEqual([90, 100]);
});
