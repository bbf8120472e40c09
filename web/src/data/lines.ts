/** Lines of a chart, with their colors, smoothing and ranges. */

import { labelNames } from "../format/labels";
import { lowerBound, type Range, robustSpread, spread, widen } from "../scale/range";
import { smooth } from "../scale/smooth";
import type { Series } from "./series";

export interface Line {
  series: Series;
  /** Label in this chart: the run or group, with the tag if there are several. */
  label: string;
  /** Shortened label, distinct from those of all other lines. */
  short: string;
  color: string;
  dash: readonly number[];
  x: Float64Array;
  y: Float64Array;
  low: Float64Array | null;
  high: Float64Array | null;
  /** Values before smoothing; null if `y` is not smoothed. */
  raw: Float64Array | null;
  /** `y` of a group where all runs have a point; null if that is everywhere. */
  whole: Float64Array | null;
  /** `y` of a group where some runs have no point. */
  fewer: Float64Array | null;
  /** Points where the number of runs changes, on the side with more runs. */
  changes: number[];
  /** Number of runs per point of a group: `n=3` or `n=1-3`. Empty for a single run. */
  count: string;
  /** False if x decreases somewhere, which is possible if x is another tag. */
  isSorted: boolean;
}

const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [9, 3, 2, 3], [14, 4]];

/** Dashes of a group's line where some of its runs have no point. */
const FEWER_DASH: readonly number[] = [4, 4];
const SHORT = 40;
const MOST_CHANGES = 12;

export interface LineStyle {
  smooth: number;
  colorOf: (series: Series) => string;
  colorOfTag: (tag: string) => string;
}

/** Make one line per series. Tags are distinguished by dashes, or by color if there is only one run. */
export function makeLines(all: readonly Series[], style: LineStyle): Line[] {
  const tags = [...new Set(all.map((series) => series.tag))];
  const names = new Set(all.map((series) => series.name));
  const lines = all.map((series) => {
    const byTag = tags.length > 1 && names.size === 1;
    const sorted = isSorted(series.x);
    // Smooth the loaded points until the server has smoothed all points with this weight.
    // The server smooths groups, so they are left alone.
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
      color: byTag ? style.colorOfTag(series.tag) : style.colorOf(series),
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

/** Split a folded line into parts with all runs and parts with fewer; both include shared ends. */
function splitByCount(y: Float64Array, count: Float64Array | null): Parts {
  if (!count?.length) return { whole: null, fewer: null, changes: [], count: "" };
  const most = count.reduce((a, b) => Math.max(a, b));
  const least = count.reduce((a, b) => (b > 0 ? Math.min(a, b) : a), most);
  if (most === least) return { whole: null, fewer: null, changes: [], count: `n=${most}` };
  const [whole, fewer] = [new Float64Array(y.length), new Float64Array(y.length)].map((part) =>
    part.fill(Number.NaN),
  ) as [Float64Array, Float64Array];
  const changes: number[] = [];
  for (let index = 0; index < y.length; index++) {
    const value = y[index] as number;
    const isWhole = count[index] === most;
    (isWhole ? whole : fewer)[index] = value;
    if (index === 0 || count[index] === count[index - 1]) continue;
    changes.push((count[index] as number) < (count[index - 1] as number) ? index - 1 : index);
    // The segment between the two points belongs to the part with fewer runs.
    fewer[isWhole ? index : index - 1] = y[isWhole ? index : index - 1] as number;
  }
  // Too many marks would look like a line style.
  const marks = changes.length > MOST_CHANGES ? [] : changes;
  return { whole, fewer, changes: marks, count: `n=${least}-${most}` };
}

/** Return the pieces of a line to stroke, each with its dashes; more than one if runs end early. */
export function piecesOf(line: Line): [Float64Array, readonly number[]][] {
  if (!line.whole || !line.fewer) return [[line.y, line.dash]];
  return [
    [line.whole, line.dash],
    [line.fewer, FEWER_DASH],
  ];
}

/** Describe the number of runs at a point: `n = 3`, or `n = 1 of 3` after runs have ended. */
export function nameCount(line: Line, index: number): string {
  const count = line.series.count;
  if (!count) return "";
  const most = count.reduce((a, b) => Math.max(a, b));
  return count[index] === most ? `n = ${most}` : `n = ${count[index]} of ${most}`;
}

function isSorted(x: Float64Array): boolean {
  for (let index = 1; index < x.length; index++) {
    if (!((x[index] as number) >= (x[index - 1] as number))) return false;
  }
  return true;
}

/** Return the index range of the points in a range of x, plus one point on each side. */
export function indicesIn(line: Line, range: Range): [number, number] {
  if (!line.isSorted) return [0, line.x.length];
  const start = Math.max(0, lowerBound(line.x, range[0]) - 1);
  let end = lowerBound(line.x, range[1]);
  // Several points can have the same x as the end of the range.
  while (end < line.x.length && line.x[end] === range[1]) end++;
  return [start, Math.min(line.x.length, end + 1)];
}

/** Whether any point of a line can be drawn: NaN cannot, and a log axis needs positive values. */
export function isDrawn(line: Line, isLogX: boolean, isLogY: boolean): boolean {
  const isDrawable = (value: number, isLog: boolean) => (isLog ? value > 0 : !Number.isNaN(value));
  return line.y.some((y, at) => isDrawable(y, isLogY) && isDrawable(line.x[at] as number, isLogX));
}

/** Return the range of x over all lines, or null if there are no points. */
export function rangeOfX(lines: readonly Line[], isLog: boolean): Range | null {
  let range: Range | null = null;
  for (const line of lines) range = spread(line.x, 0, line.x.length, isLog, range);
  return range && (range[0] === range[1] ? widen(range, isLog) : range);
}

/** Return the range of y, with a margin, within a range of x. */
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

/** Like `indicesIn`, but without the neighbors unless there is nothing else. */
function inside(line: Line, shown: Range): [number, number] {
  const [start, end] = indicesIn(line, shown);
  if (!line.isSorted) return [start, end];
  const first = (line.x[start] as number) < shown[0] ? start + 1 : start;
  const last = end > 0 && (line.x[end - 1] as number) > shown[1] ? end - 1 : end;
  return first < last ? [first, last] : [start, end];
}
