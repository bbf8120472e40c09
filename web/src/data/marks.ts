/** Events marked by runs, and their positions in a chart. */

import { useMemo } from "react";
import type { Mark } from "../generated/endpoints";
import { getJson } from "./api";
import { useLoaded } from "./loading";
import type { Series } from "./series";
import { isSystem } from "./tags";
import type { Axis } from "./types";

export type { Mark };

/** A mark in a chart. Identical marks of several runs are merged. */
export interface Flag {
  x: number;
  color: string;
  /** The text of the mark and the names of the runs. */
  label: string;
}

const MOST_NAMES = 3;
/** Color of marks shared by runs with different colors. */
const SHARED = "#7a8290";

/** Return the marks of all runs; the same array while they do not change. */
export function useMarks(generation: number): Mark[] {
  const { value } = useLoaded("marks", generation, (signal) => getJson("/api/marks", {}, signal));
  const text = useMemo(() => JSON.stringify(value?.marks ?? []), [value]);
  return useMemo(() => JSON.parse(text) as Mark[], [text]);
}

/** Return the marks of a chart's runs with their x; none if x is another tag. */
export function placeMarks(
  marks: readonly Mark[],
  series: readonly Series[],
  axis: Axis,
  colorOf: (series: Series) => string,
): Flag[] {
  if (typeof axis === "object" || !marks.length) return [];
  const field = axis === "wall_time" ? "wallTime" : axis;
  // The steps of system metrics are not training steps.
  const fitting = series.filter((line) => axis !== "step" || !isSystem(line.tag));
  const owners = new Map(fitting.flatMap((line) => line.runs.map((run) => [run, line] as const)));
  const merged = new Map<string, { x: number; color: string; text: string; runs: string[] }>();
  for (const mark of marks) {
    const owner = owners.get(mark.run);
    const x = Number(mark[field]);
    if (!owner || !Number.isFinite(x)) continue;
    const color = colorOf(owner);
    const key = JSON.stringify([x, mark.text]);
    const same = merged.get(key);
    if (!same) merged.set(key, { x, color, text: mark.text, runs: [mark.run] });
    else {
      same.runs.push(mark.run);
      if (same.color !== color) same.color = SHARED;
    }
  }
  return [...merged.values()].map(({ x, color, text, runs }) => {
    const rest = runs.length - MOST_NAMES;
    const names = runs.slice(0, MOST_NAMES).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
    return { x, color, label: `${text} (${names})` };
  });
}
