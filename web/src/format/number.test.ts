import { expect, test } from "vitest";
import { formatBytes, formatDuration, formatNumber, formatStep, spellCell } from "./number";

test.each([
  [0, "0"],
  [1200, "1,200"],
  [0.0012345, "0.001234"],
  [1.5e-9, "1.5e-9"],
  [Number.NaN, "NaN"],
  [Number.NEGATIVE_INFINITY, "−∞"],
  [9007199254740993n, "9007199254740993"],
])("%s is shown as %s", (value, shown) => {
  expect(formatNumber(value)).toBe(shown);
});

test.each([
  [0.5, "0.5 s"],
  [9.97, "10 s"],
  [59.7, "1 min 0 s"],
  [75, "1 min 15 s"],
  [119.6, "2 min 0 s"],
  [3600 * 5, "5 h 0 min"],
  [86400 * 3, "3 d 0 h"],
])("%s seconds are %s", (seconds, shown) => {
  expect(formatDuration(seconds)).toBe(shown);
});

test.each([
  [0.00003, "3e-05"],
  [1.5e-12, "1.5e-12"],
  [0.001, "0.001"],
  [true, "true"],
  [null, "none"],
])("%s is %s in the name of a group", (cell, shown) => {
  expect(spellCell(cell)).toBe(shown);
});

test.each([2 ** 53 - 1, 9007199254740993n, "9007199254740993"])(
  "step %s keeps all digits",
  (step) => {
    expect(formatStep(step).replaceAll(",", "")).toBe(String(step));
  },
);

test.each([
  [0, "0 bytes"],
  [999, "999 bytes"],
  [12_345, "12.3 kB"],
  [25_276_518_400, "25.3 GB"],
])("%s is %s", (count, shown) => {
  expect(formatBytes(count)).toBe(shown);
});
