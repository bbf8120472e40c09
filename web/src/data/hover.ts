/** What the lines say at one x: the values in order, and the line that is meant. */

import { closest, lowerBound } from "../scale/range";
import type { Line } from "./lines";

export interface Found {
  line: Line;
  /** The place of its point that is closest to the x. */
  place: number;
  y: number;
}

/** The point of each line closest to `x` and no further than `reach` away, greatest first. */
export function findPoints(lines: readonly Line[], x: number, reach: number): Found[] {
  const found: Found[] = [];
  for (const line of lines) {
    const place = line.isSorted ? closest(line.x, x) : scan(line.x, x);
    if (place < 0) continue;
    const first = line.x[0] as number;
    const last = line.x[line.x.length - 1] as number;
    const own = line.x[place] as number;
    // A line with few points is asked anywhere between its ends, one that has ended is not.
    const isInside = line.isSorted && x >= first && x <= last;
    if (!isInside && Math.abs(own - x) > reach) continue;
    found.push({ line, place, y: line.y[place] as number });
  }
  return found.sort(byValue);
}

/** Greatest first; NaN, which is no place in an order, at the end. */
function byValue(a: Found, b: Found): number {
  if (Number.isNaN(a.y) || Number.isNaN(b.y))
    return Number(Number.isNaN(a.y)) - Number(Number.isNaN(b.y));
  return a.y === b.y ? 0 : b.y - a.y;
}

function scan(x: Float64Array, value: number): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let place = 0; place < x.length; place++) {
    const distance = Math.abs((x[place] as number) - value);
    if (distance < least) [best, least] = [place, distance];
  }
  return best;
}

/** The height of a line at `x`, between its points too; NaN where it has none. */
export function heightAt(line: Line, x: number): number {
  if (!line.isSorted) return line.y[scan(line.x, x)] ?? Number.NaN;
  const behind = lowerBound(line.x, x);
  const right = line.y[behind];
  if (right !== undefined && (line.x[behind] === x || behind === 0)) return right;
  const left = line.y[behind - 1];
  if (left === undefined) return Number.NaN;
  if (right === undefined) return left;
  const [from, to] = [line.x[behind - 1] as number, line.x[behind] as number];
  return left + ((right - left) * (x - from)) / (to - from);
}

/** Which of the found lines passes closest to the pointer, measured in pixels; -1 for none. */
export function findNearest(
  found: readonly Found[],
  x: number,
  top: number,
  toPixel: (y: number) => number,
): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (const [place, one] of found.entries()) {
    const distance = Math.abs(toPixel(heightAt(one.line, x)) - top);
    if (distance < least) [best, least] = [place, distance];
  }
  return best;
}

/** The rows around the one that is meant, when there are too many to list. */
export function cutRows(total: number, nearest: number, most: number): [number, number] {
  if (total <= most) return [0, total];
  const start = Math.min(Math.max(0, nearest - (most >> 1)), total - most);
  return [start, start + most];
}
