import { expect, test } from "vitest";
import { averagePrecision, countCodes } from "./extras";

test("average precision weights each precision by the recall it adds", () => {
  // Thresholds increase, so recall decreases.
  expect(averagePrecision({ recall: [1, 0.5, 0], precision: [0.5, 1, 0] })).toBe(0.75);
  expect(averagePrecision({ recall: [1, 1, 1], precision: [1, 1, 1] })).toBe(1);
  expect(averagePrecision({ recall: [Number.NaN], precision: [1] })).toBe(0);
});

test("the most frequent problems come first", () => {
  const problem = { run: "a", file: "f", offset: null, message: "" };
  const problems = ["x", "y", "y"].map((code) => ({ ...problem, code }));
  expect(countCodes(problems)).toEqual([
    ["y", 2],
    ["x", 1],
  ]);
});
