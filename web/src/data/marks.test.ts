import { expect, test } from "vitest";
import { type Mark, placeMarks } from "./marks";
import type { Series } from "./series";

const mark = (run: string, step: number, text: string): Mark => ({
  run,
  step,
  wallTime: 1000 + step,
  relative: step / 2,
  text,
});
const series = (...runs: string[]) => ({ name: runs.join("+"), runs, tag: "loss" }) as Series;
const colorOf = ({ name }: Series) => `color of ${name}`;

test("a chart shows the marks of its runs at their x", () => {
  const marks = [mark("a", 4, "halved"), mark("b", 8, "frozen"), mark("c", 9, "elsewhere")];
  const flags = (axis: "step" | "wall_time" | "relative") =>
    placeMarks(marks, [series("a"), series("b")], axis, colorOf).map((flag) => flag.x);
  expect(flags("step")).toEqual([4, 8]);
  expect(flags("wall_time")).toEqual([1004, 1008]);
  expect(flags("relative")).toEqual([2, 4]);
  expect(placeMarks(marks, [series("a")], { tag: "samples" }, colorOf)).toEqual([]);
});

test("identical marks of a group are merged", () => {
  const runs = ["a", "b", "c", "d", "e"];
  const marks = [...runs.map((run) => mark(run, 4, "halved")), mark("a", 5, "halved")];
  expect(placeMarks(marks, [series(...runs)], "step", colorOf)).toEqual([
    { x: 4, color: "color of a+b+c+d+e", label: "halved (a, b, c and 2 more)" },
    { x: 5, color: "color of a+b+c+d+e", label: "halved (a)" },
  ]);
});

test("a mark without a time is not shown on a time axis", () => {
  const timeless = { ...mark("a", 4, "halved"), wallTime: "NaN" as unknown as number };
  expect(placeMarks([timeless], [series("a")], "wall_time", colorOf)).toEqual([]);
});

test("identical marks of runs with different colors are merged in gray", () => {
  const marks = [mark("a", 4, "halved"), mark("b", 4, "halved")];
  expect(placeMarks(marks, [series("a"), series("b")], "step", colorOf)).toEqual([
    { x: 4, color: "#7a8290", label: "halved (a, b)" },
  ]);
});

test("marks are not shown over the steps of system metrics", () => {
  const load = { ...series("a"), tag: "system/cpu" };
  const marks = [mark("a", 4, "halved")];
  expect(placeMarks(marks, [load], "step", colorOf)).toEqual([]);
  expect(placeMarks(marks, [load], "relative", colorOf)).toHaveLength(1);
});
