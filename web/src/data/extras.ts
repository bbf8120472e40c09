/** Loads precision-recall curves, meshes and problems. */

import type { Vector } from "apache-arrow";
import type { ProblemEntry, ProblemsResponse } from "../generated/endpoints";
import { type Entries, get, getJson, numbers, readArrow, steps } from "./api";
import { list } from "./histograms";
import { type EntryBase, readStep, sortSteps } from "./media";
import type { Step } from "./types";

export interface PrCurve extends EntryBase {
  thresholds: number[];
  precision: number[];
  recall: number[];
}

export interface Mesh extends EntryBase {
  /** Flat arrays of three numbers per item; colors range from 0 to 255. */
  vertices: Float32Array;
  faces: Int32Array;
  colors: Float32Array;
  /** Number of meshes at this step; only the first is loaded. */
  batch: number;
}

export interface Meshes {
  meshes: Mesh[];
  /** All steps at which any run has a mesh. */
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
  const request = at === null ? { tag } : { tag, step: at };
  const table = await readArrow(await get("/api/meshes", request, signal));
  const [step, wallTime] = [steps(table), numbers(table, "wall_time")];
  const batch = numbers(table, "batch");
  const [runs, vertices, faces, colors] = ["run", "vertices", "faces", "colors"].map((name) =>
    table.getChild(name),
  );
  const meshes = Array.from({ length: table.numRows }, (_, row) => ({
    run: String(runs?.get(row)),
    step: step[row] ?? 0,
    wallTime: wallTime[row] ?? 0,
    vertices: Float32Array.from(flat(vertices, row)),
    faces: Int32Array.from(flat(faces, row)),
    colors: Float32Array.from(flat(colors, row)),
    batch: batch[row] ?? 1,
  }));
  type StepsByRun = Record<string, (number | string)[]>;
  const byRun = JSON.parse(table.schema.metadata.get("steps") ?? "{}") as StepsByRun;
  return { meshes, steps: sortSteps(Object.values(byRun).flat().map(readStep)) };
}

function flat(vector: Vector | null | undefined, row: number): ArrayLike<number> {
  const value = vector?.get(row) as Vector | null | undefined;
  return (value?.toArray() as ArrayLike<number> | undefined) ?? [];
}

export function loadProblems(signal: AbortSignal): Promise<ProblemsResponse> {
  return getJson("/api/problems", {}, signal);
}

/** Return the area under a precision-recall curve, treated as a step function. */
export function averagePrecision(curve: Pick<PrCurve, "precision" | "recall">): number {
  const order = curve.recall
    .map((_, index) => index)
    .filter((index) => Number.isFinite(curve.recall[index]))
    .sort((a, b) => (curve.recall[a] ?? 0) - (curve.recall[b] ?? 0));
  let [area, reached] = [0, 0];
  for (const index of order) {
    const recall = curve.recall[index] ?? 0;
    area += (recall - reached) * (curve.precision[index] ?? 0);
    reached = recall;
  }
  return area;
}

/** Count the problems by code, most frequent first. */
export function countCodes(problems: readonly ProblemEntry[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { code } of problems) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
