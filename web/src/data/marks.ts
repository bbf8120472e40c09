/** The events that runs marked, and where each stands in a chart. */

import { useMemo } from "react";
import type { Mark } from "../generated/endpoints";
import { getJson } from "./api";
import { useLoaded } from "./loading";
import type { Series } from "./series";
import { isSystem } from "./tags";
import type { Axis } from "./types";

export type { Mark };

/** A mark in a chart; what several runs marked alike is one, in no colour of theirs. */
export interface Flag {
  x: number;
  colour: string;
  /** What was marked, and by whom. */
  label: string;
}

const MOST_NAMES = 3;
const SHARED = "#7a8290";

/** The marks of all runs; the same array as long as they are the same. */
export function useMarks(generation: number): Mark[] {
  const { value } = useLoaded("marks", generation, (signal) => getJson("/api/marks", {}, signal));
  const text = useMemo(() => JSON.stringify(value?.marks ?? []), [value]);
  return useMemo(() => JSON.parse(text) as Mark[], [text]);
}

/** Where the runs of a chart have marked something; along another tag a mark has no place. */
export function placeMarks(
  marks: readonly Mark[],
  series: readonly Series[],
  axis: Axis,
  colourOf: (series: Series) => string,
): Flag[] {
  if (typeof axis === "object" || !marks.length) return [];
  const place = axis === "wall_time" ? "wallTime" : axis;
  // The steps of the machine's load are none of the training.
  const fitting = series.filter((one) => axis !== "step" || !isSystem(one.tag));
  const owners = new Map(fitting.flatMap((one) => one.runs.map((run) => [run, one] as const)));
  const found = new Map<string, { x: number; colour: string; text: string; runs: string[] }>();
  for (const mark of marks) {
    const owner = owners.get(mark.run);
    const x = Number(mark[place]);
    if (!owner || !Number.isFinite(x)) continue;
    const colour = colourOf(owner);
    const key = JSON.stringify([x, mark.text]);
    const known = found.get(key);
    if (!known) found.set(key, { x, colour, text: mark.text, runs: [mark.run] });
    else {
      known.runs.push(mark.run);
      if (known.colour !== colour) known.colour = SHARED;
    }
  }
  return [...found.values()].map(({ x, colour, text, runs }) => {
    const rest = runs.length - MOST_NAMES;
    const names = runs.slice(0, MOST_NAMES).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
    return { x, colour, label: `${text} (${names})` };
  });
}
