/** Lines and bands as pen strokes, for a canvas or SVG. */

import type { Range } from "./range";

/** Common interface of a canvas context, a Path2D and the SVG writer. */
export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

/** Return the position of a value in pixels; NaN if it cannot be shown. */
export type Project = (value: number) => number;

/** Points that strokes cannot show: isolated points and infinities. */
export interface Marks {
  dots: [x: number, y: number][];
  infinities: [x: number, sign: number][];
}

// Coordinates far outside the canvas lose precision, which would change a line's slope.
const FAR = 1e5;

export function makeProject(range: Range, from: number, to: number, isLog: boolean): Project {
  const [low, high] = isLog ? [Math.log(range[0]), Math.log(range[1])] : range;
  const scale = (to - from) / (high - low || 1);
  const project = (value: number) => Math.min(FAR, Math.max(-FAR, from + (value - low) * scale));
  // Zero and negative values have no logarithm.
  return isLog ? (value) => (value > 0 ? project(Math.log(value)) : Number.NaN) : project;
}

/**
 * Draw the points from `start` to `end`.
 *
 * NaN and infinity leave a gap. The points of a pixel column are reduced to at most four
 * (first, lowest, highest, last), which look the same and are faster to draw.
 */
export function traceLine(
  x: Float64Array,
  y: Float64Array,
  [start, end]: [number, number],
  toX: Project,
  toY: Project,
  pen: Pen,
  marks: Marks | null,
): void {
  let drawn = 0;
  let count = 0;
  let [column, left, first, low, high, last] = [Number.NaN, 0, 0, 0, 0, 0];
  const flush = () => {
    if (!count) return;
    if (drawn === 0) pen.moveTo(left, first);
    else pen.lineTo(left, first);
    if (count > 1) {
      if (low !== first) pen.lineTo(left, low);
      if (high !== low) pen.lineTo(left, high);
      if (last !== high) pen.lineTo(left, last);
    }
    drawn += count;
    count = 0;
  };
  const lift = () => {
    flush();
    if (drawn === 1) marks?.dots.push([left, first]);
    drawn = 0;
    column = Number.NaN;
  };
  for (let index = start; index < end; index++) {
    const value = y[index] as number;
    const across = toX(x[index] as number);
    const down = value - value === 0 ? toY(value) : Number.NaN;
    if (Number.isNaN(down) || Number.isNaN(across)) {
      lift();
      if (Math.abs(value) === Number.POSITIVE_INFINITY && !Number.isNaN(across)) {
        marks?.infinities.push([across, Math.sign(value)]);
      }
      continue;
    }
    const own = Math.round(across);
    if (own === column) {
      if (down < low) low = down;
      if (down > high) high = down;
      last = down;
      count++;
    } else {
      flush();
      column = own;
      left = across;
      first = low = high = last = down;
      count = 1;
    }
  }
  lift();
}

/** Draw the outline of a band, one closed piece per stretch in which both edges are finite. */
export function traceBand(
  x: Float64Array,
  low: Float64Array,
  high: Float64Array,
  [start, end]: [number, number],
  toX: Project,
  toY: Project,
  pen: Pen,
): void {
  // On a log axis, a band that reaches zero or less ends far below the chart.
  const edge = (value: number) => {
    const down = toY(value);
    return Number.isNaN(down) && value <= 0 ? FAR : down;
  };
  let from = start;
  for (let index = start; index <= end; index++) {
    const isInside =
      index < end &&
      Number.isFinite(low[index]) &&
      Number.isFinite(high[index]) &&
      !Number.isNaN(toX(x[index] as number));
    if (isInside) continue;
    for (let point = from; point < index; point++) {
      const [across, down] = [toX(x[point] as number), edge(high[point] as number)];
      if (point === from) pen.moveTo(across, down);
      else pen.lineTo(across, down);
    }
    for (let point = index - 1; point >= from; point--) {
      pen.lineTo(toX(x[point] as number), edge(low[point] as number));
    }
    from = index + 1;
  }
}
