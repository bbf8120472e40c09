import { expect, test } from "vitest";
import { orderByDepth, project, shade, turnBy } from "./turn";

const FRONT = { around: 0, up: 0, zoom: 1 };
// Right, left, up, down, towards the viewer and away.
const STAR = Float32Array.of(1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1);
const NEAR = 1 / Math.sqrt(3);

function rounded(values: Float32Array): number[] {
  return Array.from(values, (value) => Math.round(value * 1e4) / 1e4 + 0);
}

test("from the front, x points right, y up and z towards the viewer", () => {
  const { x, y, depth } = project(STAR, FRONT);
  const unit = Math.round(NEAR * 1e4) / 1e4;
  expect(rounded(x)).toEqual([unit, -unit, 0, 0, 0, 0]);
  expect(rounded(y)).toEqual([0, 0, -unit, unit, 0, 0]);
  expect(rounded(depth)).toEqual([0, 0, 0, 0, unit, -unit]);
});

test("from the right, z points right; from above, y points towards the viewer", () => {
  expect(rounded(project(STAR, turnBy(FRONT, Math.PI / 2, 0)).x)[4]).toBeCloseTo(NEAR, 3);
  expect(rounded(project(STAR, turnBy(FRONT, 0, Math.PI / 2)).depth)[2]).toBeCloseTo(NEAR, 3);
});

test("tilt and zoom are limited", () => {
  const turn = turnBy(FRONT, 0, 9, 1e9);
  expect(turn).toEqual({ around: 0, up: Math.PI / 2, zoom: 20 });
});

test("distant points are drawn first, faces by their center", () => {
  const seen = project(STAR, FRONT);
  expect(Array.from(orderByDepth(seen, new Int32Array())).at(-1)).toBe(4);
  expect(Array.from(orderByDepth(seen, Int32Array.of(0, 2, 4, 0, 2, 5)))).toEqual([1, 0]);
});

test("a face towards the viewer is brightest", () => {
  const seen = project(STAR, FRONT);
  expect(shade(seen, Int32Array.of(0, 1, 2), 0)).toBeCloseTo(1);
  expect(shade(seen, Int32Array.of(0, 1, 4), 0)).toBeCloseTo(0.35);
});

test("a single point and a NaN point are handled", () => {
  expect(rounded(project(Float32Array.of(5, 5, 5), FRONT).x)).toEqual([0]);
  expect(project(Float32Array.of(0, 0, 0, Number.NaN, 1, 1, 2, 2, 2), FRONT).x[0]).toBeLessThan(0);
});
