/** The lines of a chart: which colour, how smooth, and what is drawn faintly behind. */

import { labelNames } from "../format/labels";
import { lowerBound, type Range, robustSpread, spread, widen } from "../scale/range";
import { smooth } from "../scale/smooth";
import type { Series } from "./series";

export interface Line {
  series: Series;
  /** What the line is called in this chart: its run or group, with the tag if there are several. */
  label: string;
  /** The label in few letters, and different from that of every other line. */
  short: string;
  colour: string;
  dash: readonly number[];
  x: Float64Array;
  y: Float64Array;
  low: Float64Array | null;
  high: Float64Array | null;
  /** The values before smoothing, null when they are `y`. */
  raw: Float64Array | null;
  /** Of a group that some runs leave early: `y` where all runs have a point, and where fewer do. */
  whole: Float64Array | null;
  fewer: Float64Array | null;
  /** The points next to which the number of runs changes, on the side with more runs. */
  changes: number[];
  /** How many runs a group has at its points: `n=3`, or `n=1-3`. Empty for a run. */
  count: string;
  /** False where x runs back, as it may when x is another tag. */
  isSorted: boolean;
}

const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [9, 3, 2, 3], [14, 4]];

/** How a line is drawn where fewer than all runs of its group have a point. */
const FEWER_DASH: readonly number[] = [4, 4];
const SHORT = 40;
const MOST_CHANGES = 12;

export interface LineStyle {
  smooth: number;
  colourOf: (series: Series) => string;
  colourOfTag: (tag: string) => string;
}

/** One line for each series; several tags differ by their dashes, or by colour for a single run. */
export function makeLines(all: readonly Series[], style: LineStyle): Line[] {
  const tags = [...new Set(all.map((series) => series.tag))];
  const names = new Set(all.map((series) => series.name));
  const lines = all.map((series) => {
    const byTag = tags.length > 1 && names.size === 1;
    const sorted = isSorted(series.x);
    // Until the server has smoothed all points with this weight, the ones that are here will do;
    // a group that comes smoothed already stays as it is.
    const isSmooth = style.smooth > 0 && sorted && !(series.low && series.weight);
    const shape = (values: Float64Array) => (isSmooth ? smooth(values, style.smooth) : values);
    const isExact = isSmooth && series.weight === style.smooth;
    const y = (isExact ? series.smoothed : null) ?? shape(series.y);
    const label =
      tags.length > 1 ? `${series.name || "all"} · ${series.tag}` : series.name || "all";
    return {
      series,
      label: byTag ? series.tag : label,
      ...splitByCount(y, series.count),
      colour: byTag ? style.colourOfTag(series.tag) : style.colourOf(series),
      dash: byTag ? [] : (DASHES[tags.indexOf(series.tag) % DASHES.length] ?? []),
      x: series.x,
      y,
      low: series.low && shape(series.low),
      high: series.high && shape(series.high),
      raw: y === series.y ? null : series.y,
      isSorted: sorted,
    };
  });
  const labels = labelNames(
    lines.map((line) => line.label),
    SHORT,
    false,
  );
  return lines.map((line) => ({ ...line, short: labels.of(line.label) }));
}

type Parts = Pick<Line, "whole" | "fewer" | "changes" | "count">;

/** The parts of a folded line with all of its runs and with fewer; both have the points between. */
function splitByCount(y: Float64Array, count: Float64Array | null): Parts {
  if (!count?.length) return { whole: null, fewer: null, changes: [], count: "" };
  const most = count.reduce((a, b) => Math.max(a, b));
  const least = count.reduce((a, b) => (b > 0 ? Math.min(a, b) : a), most);
  if (most === least) return { whole: null, fewer: null, changes: [], count: `n=${most}` };
  const [whole, fewer] = [new Float64Array(y.length), new Float64Array(y.length)].map((one) =>
    one.fill(Number.NaN),
  ) as [Float64Array, Float64Array];
  const changes: number[] = [];
  for (let place = 0; place < y.length; place++) {
    const value = y[place] as number;
    const isWhole = count[place] === most;
    (isWhole ? whole : fewer)[place] = value;
    if (place === 0 || count[place] === count[place - 1]) continue;
    changes.push((count[place] as number) < (count[place - 1] as number) ? place - 1 : place);
    // The piece between the two points belongs to the part with fewer runs.
    fewer[isWhole ? place : place - 1] = y[isWhole ? place : place - 1] as number;
  }
  // More marks than these would look like a line style.
  const marks = changes.length > MOST_CHANGES ? [] : changes;
  return { whole, fewer, changes: marks, count: `n=${least}-${most}` };
}

/** What to stroke of a line, each with its dashes: more than one piece where runs end early. */
export function piecesOf(line: Line): [Float64Array, readonly number[]][] {
  if (!line.whole || !line.fewer) return [[line.y, line.dash]];
  return [
    [line.whole, line.dash],
    [line.fewer, FEWER_DASH],
  ];
}

/** How many runs a point of a group has: `n = 3`, or `n = 1 of 3` where others have ended. */
export function nameCount(line: Line, place: number): string {
  const count = line.series.count;
  if (!count) return "";
  const most = count.reduce((a, b) => Math.max(a, b));
  return count[place] === most ? `n = ${most}` : `n = ${count[place]} of ${most}`;
}

function isSorted(x: Float64Array): boolean {
  for (let place = 1; place < x.length; place++) {
    if (!((x[place] as number) >= (x[place - 1] as number))) return false;
  }
  return true;
}

/** The places of a line that a range of x needs: what is in it and one more on each side. */
export function placesIn(line: Line, range: Range): [number, number] {
  if (!line.isSorted) return [0, line.x.length];
  const start = Math.max(0, lowerBound(line.x, range[0]) - 1);
  let end = lowerBound(line.x, range[1]);
  // Several points may have the same x as the end of the range.
  while (end < line.x.length && line.x[end] === range[1]) end++;
  return [start, Math.min(line.x.length, end + 1)];
}

/** Whether any point of a line can be drawn: NaN has no place, and on a log axis 0 and less have none. */
export function isDrawn(line: Line, isLogX: boolean, isLogY: boolean): boolean {
  const hasPlace = (value: number, isLog: boolean) => (isLog ? value > 0 : !Number.isNaN(value));
  return line.y.some((y, at) => hasPlace(y, isLogY) && hasPlace(line.x[at] as number, isLogX));
}

/** From the first to the last x of all lines; null when there is no point. */
export function rangeOfX(lines: readonly Line[], isLog: boolean): Range | null {
  let range: Range | null = null;
  for (const line of lines) range = spread(line.x, 0, line.x.length, isLog, range);
  return range && (range[0] === range[1] ? widen(range, isLog) : range);
}

/** How high and low the lines go in a range of x, with a margin. */
export function rangeOfY(
  lines: readonly Line[],
  shown: Range,
  isLog: boolean,
  isRobust: boolean,
): Range {
  let range: Range | null = null;
  const parts: Float64Array[] = [];
  for (const line of lines) {
    const [start, end] = inside(line, shown);
    for (const values of [line.y, line.low, line.high, line.raw]) {
      if (!values) continue;
      if (isRobust) parts.push(values.subarray(start, end));
      else range = spread(values, start, end, isLog, range);
    }
  }
  if (isRobust) range = robustSpread(parts, isLog);
  return range ? widen(range, isLog) : isLog ? [0.1, 10] : [0, 1];
}

/** As `placesIn`, but without the neighbours unless there is nothing else. */
function inside(line: Line, shown: Range): [number, number] {
  const [start, end] = placesIn(line, shown);
  if (!line.isSorted) return [start, end];
  const first = (line.x[start] as number) < shown[0] ? start + 1 : start;
  const last = end > 0 && (line.x[end - 1] as number) > shown[1] ? end - 1 : end;
  return first < last ? [first, last] : [start, end];
}
