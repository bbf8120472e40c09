/** Values of the lines at the pointer, and the line nearest to it. */

import { closest, lowerBound } from "../scale/range";
import type { Line } from "./lines";

export interface HoverPoint {
  line: Line;
  /** Index of the line's point closest to the pointer's x. */
  index: number;
  y: number;
}

/** Return the point of each line closest to `x`, if within `reach`, greatest value first. */
export function findPoints(lines: readonly Line[], x: number, reach: number): HoverPoint[] {
  const points: HoverPoint[] = [];
  for (const line of lines) {
    const index = line.isSorted ? closest(line.x, x) : scan(line.x, x);
    if (index < 0) continue;
    const first = line.x[0] as number;
    const last = line.x[line.x.length - 1] as number;
    const own = line.x[index] as number;
    // A sparse line has a value anywhere between its ends, but not after its last point.
    const isInside = line.isSorted && x >= first && x <= last;
    if (!isInside && Math.abs(own - x) > reach) continue;
    points.push({ line, index, y: line.y[index] as number });
  }
  return points.sort(byValue);
}

/** Greatest first, NaN last. */
function byValue(a: HoverPoint, b: HoverPoint): number {
  if (Number.isNaN(a.y) || Number.isNaN(b.y))
    return Number(Number.isNaN(a.y)) - Number(Number.isNaN(b.y));
  return a.y === b.y ? 0 : b.y - a.y;
}

function scan(x: Float64Array, value: number): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < x.length; index++) {
    const distance = Math.abs((x[index] as number) - value);
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

/** Return the interpolated height of a line at `x`; NaN for an empty line. */
export function heightAt(line: Line, x: number): number {
  if (!line.isSorted) return line.y[scan(line.x, x)] ?? Number.NaN;
  const next = lowerBound(line.x, x);
  const right = line.y[next];
  if (right !== undefined && (line.x[next] === x || next === 0)) return right;
  const left = line.y[next - 1];
  if (left === undefined) return Number.NaN;
  if (right === undefined) return left;
  const [from, to] = [line.x[next - 1] as number, line.x[next] as number];
  return left + ((right - left) * (x - from)) / (to - from);
}

/** Return the index of the line that passes closest to the pointer in pixels, or -1. */
export function findNearest(
  points: readonly HoverPoint[],
  x: number,
  top: number,
  toPixel: (y: number) => number,
): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, { line }] of points.entries()) {
    const distance = Math.abs(toPixel(heightAt(line, x)) - top);
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

/** Return the range of rows to list around the nearest line. */
export function cutRows(total: number, nearest: number, most: number): [number, number] {
  if (total <= most) return [0, total];
  const start = Math.min(Math.max(0, nearest - (most >> 1)), total - most);
  return [start, start + most];
}
