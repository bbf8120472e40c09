/** A run that is asked to stop: how far that has come, and what one can do then. */

import type { StopResponse } from "../generated/endpoints";
import { getJson, sendJson } from "./api";

export type Stop = StopResponse;

/** So many seconds a run has for its end before one may kill it. */
export const GRACE = 30;

export function watchStop(run: string, signal: AbortSignal): Promise<Stop> {
  return getJson("/api/stop", { run }, signal);
}

export function stopRun(run: string, reason: string, kill = false): Promise<Stop> {
  return sendJson("/api/stop", { run, reason, kill });
}

export function isUnderWay(stop: Stop): boolean {
  return stop.stage !== "running" && stop.stage !== "ended";
}

/** The stages on the way, and which of them are behind. */
export function stagesOf(stop: Stop): [string, boolean][] {
  const isOver = stop.stage === "ended";
  const isKilled = stop.stage === "terminated" || stop.stage === "killed";
  const isSeen = stop.stage === "seen" || isKilled || isOver;
  const killed: [string, boolean][] = isKilled
    ? [[stop.stage === "killed" ? "killed" : "told to end at once", true]]
    : [];
  return [
    ["asked", stop.stage !== "running"],
    ["seen by the run", isSeen],
    ...killed,
    [isOver ? `ended: ${stop.state}` : "ended", isOver],
  ];
}

/** Whether one has waited long enough, `now` and `since` in seconds. */
export function isKillDue(stop: Stop, since: number, now: number): boolean {
  if (stop.stage !== "asked" && stop.stage !== "seen") return false;
  return now - Math.min(since, stop.when ?? since) >= GRACE;
}
