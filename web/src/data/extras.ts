/** Precision-recall curves, meshes and problems, as the server sends them. */

import type { Vector } from "apache-arrow";
import type { ProblemEntry, ProblemsResponse } from "../generated/endpoints";
import { type Entries, get, getJson, numbers, readArrow, steps } from "./api";
import { list } from "./histograms";
import { type Place, readStep, sortSteps } from "./media";
import type { Step } from "./types";

export interface PrCurve extends Place {
  thresholds: number[];
  precision: number[];
  recall: number[];
}

export interface Mesh extends Place {
  /** Three numbers each, one behind the other; colours from 0 to 255. */
  vertices: Float32Array;
  faces: Int32Array;
  colours: Float32Array;
  /** How many there are at that step; the first one is here. */
  batch: number;
}

export interface Meshes {
  meshes: Mesh[];
  /** All steps at which any run has one. */
  steps: Step[];
}

export async function loadPrCurves(tag: string, signal: AbortSignal): Promise<Entries<PrCurve>> {
  const table = await readArrow(await get("/api/pr_curves", { tag }, signal));
  const [step, wallTime] = [steps(table), numbers(table, "wall_time")];
  const columns = ["thresholds", "precision", "recall"].map((name) => table.getChild(name));
  const [thresholds = null, precision = null, recall = null] = columns;
  const runs = table.getChild("run");
  const entries = Array.from({ length: table.numRows }, (_, row) => ({
    run: String(runs?.get(row)),
    step: step[row] ?? 0,
    wallTime: wallTime[row] ?? 0,
    thresholds: list(thresholds, row),
    precision: list(precision, row),
    recall: list(recall, row),
  }));
  return { entries, leftOut: Number(table.schema.metadata.get("leftOut") ?? 0) };
}

export async function loadMeshes(
  tag: string,
  at: Step | null,
  signal: AbortSignal,
): Promise<Meshes> {
  const asked = at === null ? { tag } : { tag, step: at };
  const table = await readArrow(await get("/api/meshes", asked, signal));
  const [step, wallTime] = [steps(table), numbers(table, "wall_time")];
  const batch = numbers(table, "batch");
  const [runs, vertices, faces, colours] = ["run", "vertices", "faces", "colors"].map((name) =>
    table.getChild(name),
  );
  const meshes = Array.from({ length: table.numRows }, (_, row) => ({
    run: String(runs?.get(row)),
    step: step[row] ?? 0,
    wallTime: wallTime[row] ?? 0,
    vertices: Float32Array.from(flat(vertices, row)),
    faces: Int32Array.from(flat(faces, row)),
    colours: Float32Array.from(flat(colours, row)),
    batch: batch[row] ?? 1,
  }));
  type Known = Record<string, (number | string)[]>;
  const known = JSON.parse(table.schema.metadata.get("steps") ?? "{}") as Known;
  return { meshes, steps: sortSteps(Object.values(known).flat().map(readStep)) };
}

function flat(vector: Vector | null | undefined, row: number): ArrayLike<number> {
  const value = vector?.get(row) as Vector | null | undefined;
  return (value?.toArray() as ArrayLike<number> | undefined) ?? [];
}

export function loadProblems(signal: AbortSignal): Promise<ProblemsResponse> {
  return getJson("/api/problems", {}, signal);
}

/** The area below a curve by steps: the mean of the precision over the recall that is reached. */
export function averagePrecision(curve: Pick<PrCurve, "precision" | "recall">): number {
  const places = curve.recall
    .map((_, place) => place)
    .filter((place) => Number.isFinite(curve.recall[place]))
    .sort((one, other) => (curve.recall[one] ?? 0) - (curve.recall[other] ?? 0));
  let [area, reached] = [0, 0];
  for (const place of places) {
    const recall = curve.recall[place] ?? 0;
    area += (recall - reached) * (curve.precision[place] ?? 0);
    reached = recall;
  }
  return area;
}

/** How often each code occurs, the most frequent first. */
export function countCodes(problems: readonly ProblemEntry[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { code } of problems) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]);
}
