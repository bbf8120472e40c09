import { expect, test } from "vitest";
import { type Boxes, chooseBoxes, fillMask, latest, readColor, readStep, stepsOf } from "./media";
import type { Step } from "./types";

const at = (step: Step) => ({ run: "a", step, wallTime: 0 });

test("the latest entry at or before a step is chosen", () => {
  const entries = [at(0), at(10), at(20)];
  expect(latest(entries, null)?.step).toBe(20);
  expect(latest(entries, 15)?.step).toBe(10);
  expect(latest(entries, -1)).toBeUndefined();
  expect(stepsOf([at(3), at(1), at(3)])).toEqual([1, 3]);
});

test("steps beyond 2^53 are exact, whatever type they are sent as", () => {
  const steps = ["9007199254740993", 2 ** 53 - 1, "-9007199254740993", 2n ** 63n - 1n, 7n];
  const entries = steps.map((step) => at(readStep(step)));
  const sorted = [-(2n ** 53n) - 1n, 7, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n];
  expect(stepsOf([...entries, at(readStep(2n ** 53n + 1n))])).toEqual(sorted);
  expect(latest(entries, 2n ** 53n)?.step).toBe(2 ** 53 - 1);
  expect(latest(entries, 2n ** 53n + 1n)?.step).toBe(2n ** 53n + 1n);
});

const BOXES: Boxes = {
  width: 4,
  height: 4,
  boxes: [
    [0, 0, 1, 1],
    [1, 1, 2, 2],
    [2, 2, 3, 3],
  ],
  colors: ["#ff0000", "#00ff00", "#0000ff"],
  labels: ["cat", "dog", "cat"],
  scores: [0.9, 0.2, null],
  blob: "",
};

test("boxes are filtered by score and label; a box without a score is kept", () => {
  expect(chooseBoxes(BOXES, 0.5, () => false)).toEqual([0, 2]);
  expect(chooseBoxes(BOXES, 0, (label) => label === "cat")).toEqual([1]);
});

test("a mask is filled column by column", () => {
  const pixels = new Uint8ClampedArray(4 * 2 * 3);
  fillMask({ size: [2, 3], counts: [1, 2, 3] }, [1, 2, 3], pixels);
  const inside = Array.from({ length: 6 }, (_, pixel) => pixels[4 * pixel + 3] !== 0);
  // In rows of three: the second pixel of the first column and the first of the second.
  expect(inside).toEqual([false, true, false, true, false, false]);
});

test("an invalid color becomes red", () => {
  expect(readColor("#10ff00")).toEqual([16, 255, 0]);
  expect(readColor("url(x)")).toEqual([255, 64, 64]);
});
