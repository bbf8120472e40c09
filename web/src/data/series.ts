/** Single runs and folded groups as the same thing: a line with or without a band. */

import type { CurvesRequest, FoldRequest } from "../generated/endpoints";
import { loadCurves, loadFold } from "./api";
import { Bundle } from "./bundle";
import { report } from "./report";

export interface Series {
  /** The run or the group. */
  name: string;
  runs: string[];
  tag: string;
  x: Float64Array;
  y: Float64Array;
  /** What smoothing with this weight made of `y`, over all points and not only those here. */
  smoothed: Float64Array | null;
  weight: number;
  low: Float64Array | null;
  high: Float64Array | null;
  /** How many runs stand behind each point of a group. */
  count: Float64Array | null;
  points: number;
  shown: number;
  /** Points of branches that a restart left behind. */
  hidden: number;
  /** Points without a place on the axis. */
  lost: number;
  /** What the fold has to say, as how it aligned the steps. */
  note: string;
}

type Asked = Required<Omit<CurvesRequest, "tags">>;

/** What is asked for each tag: the same for all charts. */
export type Question =
  | ({ isFolded: false } & Asked)
  | ({ isFolded: true } & Asked & Pick<FoldRequest, "by" | "centre" | "band" | "align">);

async function loadSeries(
  question: Question,
  tags: string[],
  signal: AbortSignal,
): Promise<Map<string, Series[]>> {
  const found = new Map<string, Series[]>(tags.map((tag) => [tag, []]));
  for (const series of await ask(question, tags, signal)) found.get(series.tag)?.push(series);
  return found;
}

async function ask(question: Question, tags: string[], signal: AbortSignal): Promise<Series[]> {
  if (question.isFolded) {
    const { isFolded: _, ...body } = question;
    const folds = await loadFold({ ...body, tags }, signal);
    return folds.map(({ group, centre, ...fold }) => ({
      ...fold,
      name: group,
      y: centre,
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
  series.reduce((sum, one) => sum + one.x.length * (one.low ? 5 : 2), 1);

/** All charts of the page ask here; a report has its answers by single tags. */
export const seriesBundle = report
  ? new Bundle<Question, Series[]>(loadSeries, weigh, { tags: 1, requests: 2, weight: 8_000_000 })
  : new Bundle<Question, Series[]>(loadSeries, weigh);
