/** Real TensorBoards: which there are and how they are, the same in every part of the page. */

import { useSyncExternalStore } from "react";
import { formatDuration } from "../format/number";
import type { TensorBoard } from "../generated/endpoints";
import type { View } from "../state/address";
import { getJson, sendJson } from "./api";

export type Board = TensorBoard;

/** Which runs one shows; without names and experiments all of them, also those to come. */
export type Sources = Pick<Board, "runs" | "experiments" | "where">;

export interface Boards {
  /** The newest first. */
  all: Board[];
  isLoaded: boolean;
  error: Error | null;
}

const MOST_NAMES = 3;

/** Whether its page can be looked at. */
export function isServing(board: Board): boolean {
  return board.state === "RUNNING" || board.state === "WAITING";
}

export function isLive(board: Board): boolean {
  return board.state !== "TERMINATED";
}

/** The experiment of a run: the first folder below the log. */
export function experimentOf(run: string): string {
  const slash = run.indexOf("/");
  return slash < 0 ? run : run.slice(0, slash);
}

/** All that is listed and not switched off. What only a condition chose is followed by it. */
export function chooseSources(
  view: Pick<View, "search" | "where" | "off" | "on">,
  shown: readonly string[],
): Sources {
  const isFollowed = !view.search && !view.on && view.off.length === 0;
  return isFollowed
    ? { runs: null, experiments: [], where: view.where }
    : { runs: [...shown], experiments: [], where: "" };
}

function nameFew(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  const first = names.slice(0, MOST_NAMES).join(", ");
  return rest > 0 ? `${first} and ${rest.toLocaleString("en")} more` : first;
}

/** What a TensorBoard shows, in a line. */
export function describeBoard(board: Board): string {
  const told = summarise(board);
  return board.isHere ? told : `${told}, in ${board.logdirs.join(", ")}`;
}

export function summarise({ runs, experiments, where }: Sources): string {
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

/** How one ended, where it did. */
export function describeExit(status: number | null): string {
  if (status === null) return "";
  return status < 0 ? `ended by signal ${-status}` : `exit status ${status}`;
}

/** Whether somebody looks at one, or for how long nobody did; a page that is open is no idleness. */
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

/** Hear of every change, from now on; the server is asked as long as somebody does. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  refresh();
  return () => listeners.delete(listener);
}

export function readBoards(): Boards {
  return current;
}

let changes = 0;

/** Show how one is by now; an answer that was asked for before says less. */
function put(board: Board): void {
  changes++;
  show({ all: [board, ...current.all.filter((one) => one.id !== board.id)].sort(byAge) });
  refresh();
}

function byAge(one: Board, other: Board): number {
  return other.created - one.created;
}

let isLoading = false;
let isOld = false;

/** Ask the server how they are, if anybody looks; once more where it is asked meanwhile. */
export function refresh(): void {
  isOld = true;
  if (listeners.size && !isLoading) void load();
}

async function load(): Promise<void> {
  isLoading = true;
  while (isOld) {
    isOld = false;
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

/** One that shows these: one that is up already, or else a new one. */
export async function startBoard({ runs, experiments, where }: Sources): Promise<Board> {
  const board = await sendJson("/api/tensorboards", { runs, experiments, where });
  put(board);
  return board;
}

export async function killBoard(id: string): Promise<void> {
  put(await sendJson("/api/tensorboards/kill", { id }));
}

const MOST_LINES = 1000;

/** The last lines of its log. */
export async function loadLog(id: string, signal: AbortSignal): Promise<string[]> {
  const asked = { id, tail: MOST_LINES };
  return (await getJson("/api/tensorboards/log", asked, signal)).lines;
}

export function useBoards(): Boards {
  return useSyncExternalStore(subscribe, readBoards);
}
