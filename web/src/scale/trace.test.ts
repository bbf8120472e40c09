import { expect, test } from "vitest";
import { type Marks, makeProject, traceBand, traceLine } from "./trace";

class Record {
  strokes: string[] = [];
  moveTo(x: number, y: number) {
    this.strokes.push(`M${x},${y}`);
  }
  lineTo(x: number, y: number) {
    this.strokes.push(`L${x},${y}`);
  }
}
const of = (...values: number[]) => Float64Array.from(values);
const same = (value: number) => value;

function trace(x: Float64Array, y: Float64Array): [string, Marks] {
  const pen = new Record();
  const marks: Marks = { dots: [], infinities: [] };
  traceLine(x, y, [0, x.length], same, same, pen, marks);
  return [pen.strokes.join(" "), marks];
}

test("a line goes from point to point", () => {
  expect(trace(of(0, 10, 20), of(1, 2, 3))[0]).toBe("M0,1 L10,2 L20,3");
});

test("NaN leaves a gap, and a point between gaps becomes a dot", () => {
  const [strokes, marks] = trace(of(0, 1, 2, 3, 4), of(1, 2, Number.NaN, 5, Number.NaN));
  expect(strokes).toBe("M0,1 L1,2 M3,5");
  expect(marks.dots).toEqual([[3, 5]]);
});

test("infinity leaves a gap and is marked with its sign", () => {
  const [strokes, marks] = trace(
    of(0, 1, 2, 3),
    of(1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 4),
  );
  expect(strokes).toBe("M0,1 M3,4");
  expect(marks.infinities).toEqual([
    [1, 1],
    [2, -1],
  ]);
});

test("a pixel column keeps its extremes", () => {
  const [strokes] = trace(of(0, 0.1, 0.2, 0.3, 5), of(3, -9, 9, 4, 1));
  expect(strokes).toBe("M0,3 L0,-9 L0,9 L0,4 L5,1");
});

test("zero has no position on a log axis", () => {
  const project = makeProject([1, 100], 0, 200, true);
  expect(project(10)).toBeCloseTo(100);
  expect(project(0)).toBeNaN();
  expect(makeProject([0, 1], 0, 100, false)(1e300)).toBe(1e5);
});

test("a band is closed at each gap", () => {
  const pen = new Record();
  const low = of(0, 0, Number.NaN, 0);
  traceBand(of(0, 1, 2, 3), low, of(1, 1, 1, 1), [0, 4], same, same, pen);
  expect(pen.strokes.join(" ")).toBe("M0,1 L1,1 L1,0 L0,0 M3,1 L3,0");
});
