import { expect, test } from "vitest";
import { spread } from "./histograms";

test("some of many are spread over all, with the first and the last", () => {
  expect(spread([1, 2, 3], 5)).toEqual([1, 2, 3]);
  expect(
    spread(
      Array.from({ length: 101 }, (_, number) => number),
      5,
    ),
  ).toEqual([0, 25, 50, 75, 100]);
});
