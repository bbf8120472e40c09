import { expect, test } from "vitest";
import {
  indicesIn,
  isDrawn,
  type Line,
  makeLines,
  nameCount,
  piecesOf,
  rangeOfX,
  rangeOfY,
} from "./lines";
import type { Series } from "./series";

function series(name: string, tag: string, x: number[], y: number[]): Series {
  return {
    name,
    runs: [name],
    tag,
    x: Float64Array.from(x),
    y: Float64Array.from(y),
    smoothed: null,
    weight: 0,
    low: null,
    high: null,
    count: null,
    points: x.length,
    shown: x.length,
    hidden: 0,
    lost: 0,
    note: "",
  };
}
const style = {
  smooth: 0,
  colorOf: ({ name }: Series) => `#${name}`,
  colorOfTag: (tag: string) => tag,
};

test("a line in a chart with one tag is labeled by its run", () => {
  const [line] = makeLines([series("a", "loss", [0, 1], [1, 2])], style);
  expect(line).toMatchObject({ label: "a", color: "#a", dash: [], raw: null, isSorted: true });
});

test("several tags differ by color for one run, and by dashes for several runs", () => {
  const [loss, accuracy] = [series("a", "loss", [0], [1]), series("a", "acc", [0], [1])];
  expect(makeLines([loss, accuracy], style).map((line) => line.color)).toEqual(["loss", "acc"]);
  const more = makeLines([loss, accuracy, series("b", "acc", [0], [1])], style);
  expect(more.map((line) => line.label)).toEqual(["a · loss", "a · acc", "b · acc"]);
  expect(more[0]?.dash).toEqual([]);
  expect(more[1]?.dash).toEqual(more[2]?.dash);
  expect(more[1]?.dash).not.toEqual([]);
});

test("a smoothed line keeps its raw values", () => {
  const [line] = makeLines([series("a", "loss", [0, 1], [0, 4])], { ...style, smooth: 0.5 });
  expect([...(line?.raw ?? [])]).toEqual([0, 4]);
  expect(line?.y[1]).toBeCloseTo(8 / 3);
});

test("the server's smoothing over all points takes precedence over the page's", () => {
  const own = {
    ...series("a", "loss", [0, 9], [0, 4]),
    smoothed: Float64Array.of(0, 1),
    weight: 0.5,
  };
  expect(makeLines([own], { ...style, smooth: 0.5 })[0]?.y[1]).toBe(1);
  expect(makeLines([own], { ...style, smooth: 0.6 })[0]?.y[1]).toBeCloseTo(2.5);
  expect(makeLines([own], style)[0]?.y[1]).toBe(4);
});

test("a line with unsorted x is neither smoothed nor searched", () => {
  const [line] = makeLines([series("a", "loss", [2, 0, 1], [0, 4, 2])], { ...style, smooth: 0.5 });
  expect(line?.raw).toBeNull();
  expect(line && indicesIn(line, [0, 0.5])).toEqual([0, 3]);
});

test("drawing a range includes one neighbor on each side, but measuring it does not", () => {
  const lines = makeLines([series("a", "loss", [0, 1, 2, 3, 4], [90, 1, 2, 3, 80])], style);
  expect(lines[0] && indicesIn(lines[0], [1, 3])).toEqual([0, 5]);
  expect(lines[0] && indicesIn(lines[0], [1.5, 2.5])).toEqual([1, 4]);
  const [low, high] = rangeOfY(lines, [1, 3], false, false);
  expect([low, high]).toEqual([0.9, 3.1]);
});

test("an empty chart still has ranges", () => {
  expect(rangeOfX([], false)).toBeNull();
  expect(rangeOfY([], [0, 1], false, false)).toEqual([0, 1]);
  expect(rangeOfY([], [0, 1], true, true)).toEqual([0.1, 10]);
});

test.each([
  { x: [0, 1], y: [Number.NaN, Number.NaN], linear: false, logX: false, logY: false },
  { x: [0, 1], y: [-1, 0], linear: true, logX: true, logY: false },
  { x: [0], y: [1], linear: true, logX: false, logY: true },
  { x: [1], y: [Number.POSITIVE_INFINITY], linear: true, logX: true, logY: true },
])("$y at $x is drawn only on axes that can show it", ({ x, y, linear, logX, logY }) => {
  const [line] = makeLines([series("a", "loss", x, y)], style);
  if (!line) throw new Error("no line");
  expect(isDrawn(line, false, false)).toBe(linear);
  expect(isDrawn(line, true, false)).toBe(logX);
  expect(isDrawn(line, false, true)).toBe(logY);
});

test("long labels of lines stay distinct", () => {
  const all = ["large", "small"].flatMap((size) =>
    [0, 1, 2].map((seed) =>
      series(
        `experiments_of_2026/transformer_${size}_layers/with_warm_up/seed-${seed}`,
        "x",
        [0],
        [1],
      ),
    ),
  );
  const lines = makeLines(all, style);
  expect(new Set(lines.map((line) => line.short)).size).toBe(6);
  expect(Math.max(...lines.map((line) => line.short.length))).toBeLessThanOrEqual(40);
});

function group(count: number[]): Series {
  const steps = count.map((_, step) => step);
  return { ...series("lr=0.1", "loss", steps, steps), count: Float64Array.from(count) };
}

test("a group is dashed after runs have ended, and the change is marked", () => {
  const [line] = makeLines([group([3, 3, 1, 1])], style);
  const none = Number.NaN;
  expect([...(line?.whole ?? [])]).toEqual([0, 1, none, none]);
  expect([...(line?.fewer ?? [])]).toEqual([none, 1, 2, 3]);
  expect(line?.changes).toEqual([1]);
  expect(line?.count).toBe("n=1-3");
  expect([1, 2].map((index) => nameCount(line as Line, index))).toEqual(["n = 3", "n = 1 of 3"]);
  expect(piecesOf(line as Line).map(([, dash]) => dash.length > 0)).toEqual([false, true]);
});

test("a group with all runs at every point is a single line", () => {
  const [line] = makeLines([group([3, 3, 3])], style);
  expect(line).toMatchObject({ whole: null, fewer: null, changes: [], count: "n=3" });
  expect(piecesOf(line as Line)).toHaveLength(1);
});

test("for runs that start late, the point where the last run joins is marked", () => {
  const [line] = makeLines([group([2, 3, 3])], style);
  expect(line?.changes).toEqual([1]);
  expect([...(line?.fewer ?? [])]).toEqual([0, 1, Number.NaN]);
});
