/** Types of the server's data as the page uses it. */

import type { Step, View } from "../generated/vocabulary";

export type { Step };

export type Axis = View["x"];

/** A table cell. A step can be a bigint; NaN and infinity are numbers. */
export type Cell = string | number | bigint | boolean | null;

export interface Column {
  /** Name of the column, unique in its table. */
  key: string;
  kind: "fixed" | "hparam" | "statistic" | "text";
  /** The hparam or tag. */
  name: string;
  /** The statistic of a tag: last, min, max ... */
  stat: string;
  isNumber: boolean;
  cells: Cell[];
}

/** Table with one row per run. */
export interface RunTable {
  runs: string[];
  columns: Column[];
  /** Number of tags without a column, by kind. Older reports lack it. */
  leftOut?: Record<string, number>;
}

export interface CurveInfo {
  run: string;
  tag: string;
  points: number;
  shown: number;
  hidden: number;
  /** Number of points without a value on the x axis. */
  lost: number;
}

export interface Curve extends CurveInfo {
  x: Float64Array;
  y: Float64Array;
  smoothed: Float64Array | null;
}

export interface FoldInfo {
  group: string;
  tag: string;
  runs: string[];
  points: number;
  shown: number;
  note: string;
}

export interface Fold extends FoldInfo {
  x: Float64Array;
  center: Float64Array;
  low: Float64Array;
  high: Float64Array;
  count: Float64Array;
}

export interface Change {
  generation: number;
  new: string[];
  changed: string[];
}
