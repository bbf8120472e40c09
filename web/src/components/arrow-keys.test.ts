import { expect, test } from "vitest";
import { nextLine } from "./arrow-keys";

test("keys move up, down and to either end, but never beyond", () => {
  expect(nextLine("ArrowDown", 0, 3)).toBe(1);
  expect(nextLine("ArrowDown", 2, 3)).toBe(2);
  expect(nextLine("ArrowUp", 0, 3)).toBe(0);
  expect(nextLine("End", 0, 3)).toBe(2);
  expect(nextLine("PageUp", 9, 30)).toBe(0);
});

test("other keys and an empty list are ignored", () => {
  expect(nextLine("Enter", 0, 3)).toBeNull();
  expect(nextLine("constructor", 0, 3)).toBeNull();
  expect(nextLine("End", 0, 0)).toBeNull();
});
