import { tableFromArrays } from "apache-arrow";
import { expect, test } from "vitest";
import { numbers } from "./api";

test("64-bit steps keep their value and sign", () => {
  const steps = [0n, 1n, -1n, 2n ** 53n, -(2n ** 40n) - 7n, 2n ** 32n];
  const table = tableFromArrays({ x: BigInt64Array.from(steps) });
  expect([...numbers(table, "x")]).toEqual(steps.map(Number));
});

test("other columns become doubles, and a missing column is empty", () => {
  const table = tableFromArrays({ n: Int32Array.of(3, -4), y: Float64Array.of(Number.NaN, 0.1) });
  expect([...numbers(table, "n")]).toEqual([3, -4]);
  expect([...numbers(table, "y")]).toEqual([Number.NaN, 0.1]);
  expect(numbers(table, "none")).toHaveLength(0);
});
