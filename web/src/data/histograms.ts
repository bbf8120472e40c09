/** Histograms over steps, with shared bins and as quantiles. */

import type { Vector } from "apache-arrow";
import { get, numbers, readArrow, steps } from "./api";
import type { EntryBase } from "./media";

export interface Histogram extends EntryBase {
  edges: number[];
  counts: number[];
  quantiles: number[];
}

export interface Histograms {
  entries: Histogram[];
  /** Levels of the quantiles, between 0 and 1. */
  levels: number[];
  leftOut: number;
}

export function list(vector: Vector | null, row: number): number[] {
  const value: unknown = vector?.get(row);
  return value ? Array.from(value as Iterable<number>, Number) : [];
}

export async function loadHistograms(
  tag: string,
  bins: number,
  signal: AbortSignal,
): Promise<Histograms> {
  const table = await readArrow(await get("/api/histograms", { tag, bins }, signal));
  const [step, wallTime] = [steps(table), numbers(table, "wall_time")];
  const columns = ["left", "right", "counts", "quantiles"].map((name) => table.getChild(name));
  const [left = null, right = null, counts = null, quantiles = null] = columns;
  const runs = table.getChild("run");
  const entries = Array.from({ length: table.numRows }, (_, row) => ({
    run: String(runs?.get(row)),
    step: step[row] ?? 0,
    wallTime: wallTime[row] ?? 0,
    edges: [...list(left, row), ...list(right, row).slice(-1)],
    counts: list(counts, row),
    quantiles: list(quantiles, row),
  }));
  return {
    entries,
    levels: JSON.parse(table.schema.metadata.get("quantiles") ?? "[]") as number[],
    leftOut: Number(table.schema.metadata.get("leftOut") ?? 0),
  };
}

/** Return the lowest and highest finite quantile. */
export function findLimits(entries: readonly Histogram[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of entries.flatMap((entry) => entry.quantiles)) {
    if (!Number.isFinite(value)) continue;
    [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return low <= high ? [low, high] : [0, 1];
}

/** Return at most `most` entries, evenly spread, including the first and last. */
export function spread<T>(entries: readonly T[], most: number): T[] {
  if (entries.length <= most) return [...entries];
  const every = (entries.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, number) => entries[Math.round(number * every)] as T);
}
