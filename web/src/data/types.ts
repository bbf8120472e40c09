/** What the server answers, as the page uses it. */

import type { Step, View } from "../generated/vocabulary";

export type { Step };

export type Axis = View["x"];

/** A cell of a table: a step may be a bigint, NaN and infinity are numbers. */
export type Cell = string | number | bigint | boolean | null;

export interface Column {
  /** The name under which the column is shown, unique in its table. */
  key: string;
  kind: "fixed" | "hparam" | "statistic" | "text";
  /** The hparam or tag. */
  name: string;
  /** The statistic of a tag: last, min, max ... */
  stat: string;
  isNumber: boolean;
  cells: Cell[];
}

/** One row a run. */
export interface RunTable {
  runs: string[];
  columns: Column[];
  /** How many tags of a kind have no column; not in older reports. */
  leftOut?: Record<string, number>;
}

export interface CurveInfo {
  run: string;
  tag: string;
  points: number;
  shown: number;
  hidden: number;
  /** Points without a place on the axis. */
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
  centre: Float64Array;
  low: Float64Array;
  high: Float64Array;
  count: Float64Array;
}

export interface Change {
  generation: number;
  new: string[];
  changed: string[];
}
