import { expect, test } from "vitest";
import { orderByDepth, project, shade, turnBy } from "./turn";

const FRONT = { around: 0, up: 0, zoom: 1 };
// Right, up, towards the one who looks, and their opposites.
const STAR = Float32Array.of(1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1);
const NEAR = 1 / Math.sqrt(3);

function rounded(values: Float32Array): number[] {
  return Array.from(values, (value) => Math.round(value * 1e4) / 1e4 + 0);
}

test("from the front x goes right, y up and z towards one", () => {
  const { x, y, depth } = project(STAR, FRONT);
  const unit = Math.round(NEAR * 1e4) / 1e4;
  expect(rounded(x)).toEqual([unit, -unit, 0, 0, 0, 0]);
  expect(rounded(y)).toEqual([0, 0, -unit, unit, 0, 0]);
  expect(rounded(depth)).toEqual([0, 0, 0, 0, unit, -unit]);
});

test("from the right, z is seen at the right; from above, y comes near", () => {
  expect(rounded(project(STAR, turnBy(FRONT, Math.PI / 2, 0)).x)[4]).toBeCloseTo(NEAR, 3);
  expect(rounded(project(STAR, turnBy(FRONT, 0, Math.PI / 2)).depth)[2]).toBeCloseTo(NEAR, 3);
});

test("one cannot tip over, nor zoom without end", () => {
  const turn = turnBy(FRONT, 0, 9, 1e9);
  expect(turn).toEqual({ around: 0, up: Math.PI / 2, zoom: 20 });
});

test("what lies behind is drawn first, faces by their middle", () => {
  const seen = project(STAR, FRONT);
  expect(Array.from(orderByDepth(seen, new Int32Array())).at(-1)).toBe(4);
  expect(Array.from(orderByDepth(seen, Int32Array.of(0, 2, 4, 0, 2, 5)))).toEqual([1, 0]);
});

test("a face that looks at one is the brightest", () => {
  const seen = project(STAR, FRONT);
  expect(shade(seen, Int32Array.of(0, 1, 2), 0)).toBeCloseTo(1);
  expect(shade(seen, Int32Array.of(0, 1, 4), 0)).toBeCloseTo(0.35);
});

test("one point, and a point that is nowhere, do no harm", () => {
  expect(rounded(project(Float32Array.of(5, 5, 5), FRONT).x)).toEqual([0]);
  expect(project(Float32Array.of(0, 0, 0, Number.NaN, 1, 1, 2, 2, 2), FRONT).x[0]).toBeLessThan(0);
});
