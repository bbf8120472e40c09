/** State of the TensorBoard instances, shared by all parts of the page. */

import { useSyncExternalStore } from "react";
import { formatDuration } from "../format/number";
import type { TensorBoard } from "../generated/endpoints";
import type { View } from "../state/address";
import { getJson, sendJson } from "./api";

export type Board = TensorBoard;

/**
 * The runs that a TensorBoard shows. If `runs` is null and `experiments` is empty, it shows all
 * runs, including future ones.
 */
export type Sources = Pick<Board, "runs" | "experiments" | "where">;

export interface Boards {
  /** Newest first. */
  all: Board[];
  isLoaded: boolean;
  error: Error | null;
}

const MOST_NAMES = 3;

/** Whether a TensorBoard's page can be opened. */
export function isServing(board: Board): boolean {
  return board.state === "RUNNING" || board.state === "WAITING";
}

export function isLive(board: Board): boolean {
  return board.state !== "TERMINATED";
}

/** Return the experiment of a run: the first folder of its path. */
export function experimentOf(run: string): string {
  const slash = run.indexOf("/");
  return slash < 0 ? run : run.slice(0, slash);
}

/** Return the sources for the selected runs. A condition alone also covers future runs. */
export function chooseSources(
  view: Pick<View, "search" | "where" | "off" | "on">,
  shown: readonly string[],
): Sources {
  const isConditionOnly = !view.search && !view.on && view.off.length === 0;
  return isConditionOnly
    ? { runs: null, experiments: [], where: view.where }
    : { runs: [...shown], experiments: [], where: "" };
}

function nameFew(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  const first = names.slice(0, MOST_NAMES).join(", ");
  return rest > 0 ? `${first} and ${rest.toLocaleString("en")} more` : first;
}

/** Describe in one line what a TensorBoard shows. */
export function describeBoard(board: Board): string {
  const summary = summarize(board);
  return board.isHere ? summary : `${summary}, in ${board.logdirs.join(", ")}`;
}

export function summarize({ runs, experiments, where }: Sources): string {
  const parts: string[] = [];
  if (experiments.length === 1) parts.push(`experiment ${experiments[0]}`);
  else if (experiments.length) parts.push(`experiments ${nameFew(experiments)}`);
  if (runs) {
    if (runs.length === 1) parts.push(`run ${runs[0]}`);
    else if (runs.length) parts.push(`${runs.length.toLocaleString("en")} runs: ${nameFew(runs)}`);
  }
  const chosen = parts.join("; ") || (runs ? "no runs" : "all runs");
  return where ? `${chosen} where ${where}` : chosen;
}

/** Describe how a TensorBoard exited; empty if it has not. */
export function describeExit(status: number | null): string {
  if (status === null) return "";
  return status < 0 ? `killed by signal ${-status}` : `exit status ${status}`;
}

/** Describe whether a TensorBoard is open in a browser, or how long it has been idle. */
export function describeUse(idle: number | null): string {
  if (idle === null) return "";
  return idle === 0 ? "in use" : `idle for ${formatDuration(idle)}`;
}

let current: Boards = { all: [], isLoaded: false, error: null };
const listeners = new Set<() => void>();

function show(change: Partial<Boards>): void {
  current = { ...current, ...change };
  for (const listener of listeners) listener();
}

/** Call a listener on every change. The list is refreshed while there are listeners. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  refresh();
  return () => listeners.delete(listener);
}

export function readBoards(): Boards {
  return current;
}

let changes = 0;

/** Show a TensorBoard's new state, and discard lists requested before the change. */
function put(board: Board): void {
  changes++;
  show({ all: [board, ...current.all.filter((other) => other.id !== board.id)].sort(byAge) });
  refresh();
}

function byAge(a: Board, b: Board): number {
  return b.created - a.created;
}

let isLoading = false;
let isStale = false;

/** Reload the list if there are listeners. A call during a reload starts another one after it. */
export function refresh(): void {
  isStale = true;
  if (listeners.size && !isLoading) void load();
}

async function load(): Promise<void> {
  isLoading = true;
  while (isStale) {
    isStale = false;
    const before = changes;
    try {
      const { tensorboards } = await getJson("/api/tensorboards", {});
      if (changes !== before) continue;
      show({ all: tensorboards.sort(byAge), isLoaded: true, error: null });
    } catch (error) {
      show({ error: error as Error });
    }
  }
  isLoading = false;
}

/** Start a TensorBoard for these runs, or return a running one that shows them. */
export async function startBoard({ runs, experiments, where }: Sources): Promise<Board> {
  const board = await sendJson("/api/tensorboards", { runs, experiments, where });
  put(board);
  return board;
}

export async function killBoard(id: string): Promise<void> {
  put(await sendJson("/api/tensorboards/kill", { id }));
}

const MOST_LINES = 1000;

/** Return the last lines of a TensorBoard's log. */
export async function loadLog(id: string, signal: AbortSignal): Promise<string[]> {
  const request = { id, tail: MOST_LINES };
  return (await getJson("/api/tensorboards/log", request, signal)).lines;
}

export function useBoards(): Boards {
  return useSyncExternalStore(subscribe, readBoards);
}
