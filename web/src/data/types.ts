/** What the server answers, as the page uses it. */

export type Axis = "step" | "wall_time" | "relative" | { tag: string };

/** Beyond 2^53 a bigint, as a number would be rounded; JSON has the digits of such a one. */
export type Step = number | bigint;

export interface Status {
  version: string;
  /** Not so of the service in the background: it has TensorBoards, and no runs of its own. */
  hasLogdir: boolean;
  title: string;
  generation: number;
  runs: number;
  isLive: boolean;
  kinds: Record<string, number>;
  /** Not in older reports. */
  plugins?: PluginTotal[];
}

/** Values of a plugin that Runfold does not know. */
export interface PluginValues {
  plugin: string;
  kind: "unknown" | "tensor";
  values: number;
  size: number;
}

export interface PluginTotal extends PluginValues {
  tags: number;
}

export interface TagInfo {
  tag: string;
  runs: number;
}

export interface Tags {
  kinds: Record<string, TagInfo[]>;
  /** How many more tags of a kind there are than are listed; not in older reports. */
  leftOut?: Record<string, number>;
}

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
