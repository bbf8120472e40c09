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
const colourOf = (one: Series) => `colour of ${one.name}`;

test("a chart has the marks of its runs, where its axis has them", () => {
  const marks = [mark("a", 4, "halved"), mark("b", 8, "frozen"), mark("c", 9, "elsewhere")];
  const flags = (axis: "step" | "wall_time" | "relative") =>
    placeMarks(marks, [series("a"), series("b")], axis, colourOf).map((flag) => flag.x);
  expect(flags("step")).toEqual([4, 8]);
  expect(flags("wall_time")).toEqual([1004, 1008]);
  expect(flags("relative")).toEqual([2, 4]);
  expect(placeMarks(marks, [series("a")], { tag: "samples" }, colourOf)).toEqual([]);
});

test("what a group marked alike is one line", () => {
  const runs = ["a", "b", "c", "d", "e"];
  const marks = [...runs.map((run) => mark(run, 4, "halved")), mark("a", 5, "halved")];
  expect(placeMarks(marks, [series(...runs)], "step", colourOf)).toEqual([
    { x: 4, colour: "colour of a+b+c+d+e", label: "halved (a, b, c and 2 more)" },
    { x: 5, colour: "colour of a+b+c+d+e", label: "halved (a)" },
  ]);
});

test("a mark without a time has no place along it", () => {
  const timeless = { ...mark("a", 4, "halved"), wallTime: "NaN" as unknown as number };
  expect(placeMarks([timeless], [series("a")], "wall_time", colourOf)).toEqual([]);
});

test("what runs of several colours marked alike is one line in none of them", () => {
  const marks = [mark("a", 4, "halved"), mark("b", 4, "halved")];
  expect(placeMarks(marks, [series("a"), series("b")], "step", colourOf)).toEqual([
    { x: 4, colour: "#7a8290", label: "halved (a, b)" },
  ]);
});

test("seconds of the machine are no steps of the training", () => {
  const load = { ...series("a"), tag: "system/cpu" };
  const marks = [mark("a", 4, "halved")];
  expect(placeMarks(marks, [load], "step", colourOf)).toEqual([]);
  expect(placeMarks(marks, [load], "relative", colourOf)).toHaveLength(1);
});
