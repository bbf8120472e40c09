/** Series of single runs and of folded groups, in one format: a line with or without a band. */

import type { CurvesRequest, FoldRequest } from "../generated/endpoints";
import { loadCurves, loadFold } from "./api";
import { Bundle } from "./bundle";
import { report } from "./report";

export interface Series {
  /** The run or group. */
  name: string;
  runs: string[];
  tag: string;
  x: Float64Array;
  y: Float64Array;
  /** `y` as smoothed by the server over all points, not only the loaded ones. */
  smoothed: Float64Array | null;
  /** Weight of that smoothing. */
  weight: number;
  low: Float64Array | null;
  high: Float64Array | null;
  /** Number of runs at each point of a group. */
  count: Float64Array | null;
  points: number;
  shown: number;
  /** Number of points hidden by restarts. */
  hidden: number;
  /** Number of points without a value on the x axis. */
  lost: number;
  /** Note on the fold, such as how it aligned the steps. */
  note: string;
}

type Request = Required<Omit<CurvesRequest, "tags">>;

/** Everything about a request except the tags; the same for all charts. */
export type Question =
  | ({ isFolded: false } & Request)
  | ({ isFolded: true } & Request & Pick<FoldRequest, "by" | "center" | "band" | "align">);

async function loadSeries(
  question: Question,
  tags: string[],
  signal: AbortSignal,
): Promise<Map<string, Series[]>> {
  const byTag = new Map<string, Series[]>(tags.map((tag) => [tag, []]));
  for (const series of await load(question, tags, signal)) byTag.get(series.tag)?.push(series);
  return byTag;
}

async function load(question: Question, tags: string[], signal: AbortSignal): Promise<Series[]> {
  if (question.isFolded) {
    const { isFolded: _, ...body } = question;
    const folds = await loadFold({ ...body, tags }, signal);
    return folds.map(({ group, center, ...fold }) => ({
      ...fold,
      name: group,
      y: center,
      smoothed: null,
      weight: question.smooth,
      hidden: 0,
      lost: 0,
    }));
  }
  const { isFolded: _, ...body } = question;
  const curves = await loadCurves({ ...body, tags }, signal);
  return curves.map(({ run, ...curve }) => ({
    ...curve,
    name: run,
    runs: [run],
    weight: question.smooth,
    low: null,
    high: null,
    count: null,
    note: "",
  }));
}

const weigh = (series: Series[]) =>
  series.reduce((sum, { x, low }) => sum + x.length * (low ? 5 : 2), 1);

/** Loader for all charts. A report stores one response per tag. */
export const seriesBundle = report
  ? new Bundle<Question, Series[]>(loadSeries, weigh, { tags: 1, requests: 2, weight: 8_000_000 })
  : new Bundle<Question, Series[]>(loadSeries, weigh);
