import { expect, test } from "vitest";
import { type Boxes, chooseBoxes, fillMask, latest, readColour, stepsOf } from "./media";

const at = (step: number) => ({ run: "a", step, wallTime: step });

test("the newest at or before a step is taken", () => {
  const entries = [at(0), at(10), at(20)];
  expect(latest(entries, null)?.step).toBe(20);
  expect(latest(entries, 15)?.step).toBe(10);
  expect(latest(entries, -1)).toBeUndefined();
  expect(stepsOf([at(3), at(1), at(3)])).toEqual([1, 3]);
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

test("boxes go by score and label; one without a score stays", () => {
  expect(chooseBoxes(BOXES, 0.5, () => false)).toEqual([0, 2]);
  expect(chooseBoxes(BOXES, 0, (label) => label === "cat")).toEqual([1]);
});

test("a mask is filled column by column", () => {
  const pixels = new Uint8ClampedArray(4 * 2 * 3);
  fillMask({ size: [2, 3], counts: [1, 2, 3] }, [1, 2, 3], pixels);
  const inside = Array.from({ length: 6 }, (_, pixel) => pixels[4 * pixel + 3] !== 0);
  // Rows of three: the second pixel of the first column, the first of the second.
  expect(inside).toEqual([false, true, false, true, false, false]);
});

test("a colour that is none is red", () => {
  expect(readColour("#10ff00")).toEqual([16, 255, 0]);
  expect(readColour("url(x)")).toEqual([255, 64, 64]);
});
