/** Lines and bands as strokes of a pen, for a canvas and for an SVG alike. */

import type { Range } from "./range";

/** What a canvas context, a Path2D and a writer of SVG have in common. */
export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

/** Where a value lies, in pixels; NaN where it has no place. */
export type Project = (value: number) => number;

/** What a stroke cannot show: points that stand alone, and where infinity is. */
export interface Marks {
  dots: [x: number, y: number][];
  infinities: [x: number, sign: number][];
}

// Canvas coordinates far outside lose their precision, and the line its slope.
const FAR = 1e5;

export function makeProject(range: Range, from: number, to: number, isLog: boolean): Project {
  const [low, high] = isLog ? [Math.log(range[0]), Math.log(range[1])] : range;
  const scale = (to - from) / (high - low || 1);
  const place = (value: number) => Math.min(FAR, Math.max(-FAR, from + (value - low) * scale));
  // The logarithm of nothing or less has no place.
  return isLog ? (value) => (value > 0 ? place(Math.log(value)) : Number.NaN) : place;
}

/**
 * Draw the points from `start` to `end`.
 *
 * NaN and infinity leave a gap. All points of one column of pixels become at most four:
 * the first, the extremes, and the last, which look the same and draw faster.
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
  for (let place = start; place < end; place++) {
    const value = y[place] as number;
    const across = toX(x[place] as number);
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

/** Draw the outline of a band, one closed piece for each stretch where both edges are finite. */
export function traceBand(
  x: Float64Array,
  low: Float64Array,
  high: Float64Array,
  [start, end]: [number, number],
  toX: Project,
  toY: Project,
  pen: Pen,
): void {
  // A band that reaches below zero ends at the floor of a log axis, far down.
  const edge = (value: number) => {
    const down = toY(value);
    return Number.isNaN(down) && value <= 0 ? FAR : down;
  };
  let from = start;
  for (let place = start; place <= end; place++) {
    const isHeld =
      place < end &&
      Number.isFinite(low[place]) &&
      Number.isFinite(high[place]) &&
      !Number.isNaN(toX(x[place] as number));
    if (isHeld) continue;
    for (let one = from; one < place; one++) {
      const [across, down] = [toX(x[one] as number), edge(high[one] as number)];
      if (one === from) pen.moveTo(across, down);
      else pen.lineTo(across, down);
    }
    for (let one = place - 1; one >= from; one--) {
      pen.lineTo(toX(x[one] as number), edge(low[one] as number));
    }
    from = place + 1;
  }
}
