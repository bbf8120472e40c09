/** Requests to stop a run, and their progress. */

import type { StopResponse } from "../generated/endpoints";
import { getJson, sendJson } from "./api";

export type Stop = StopResponse;

/** Seconds that a run has to end before the page offers to kill it. */
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

/** Return the stages of a stop, each with whether it is done. */
export function stagesOf(stop: Stop): [string, boolean][] {
  const isOver = stop.stage === "ended";
  const isKilled = stop.stage === "terminated" || stop.stage === "killed";
  const isSeen = stop.stage === "seen" || isKilled || isOver;
  const killed: [string, boolean][] = isKilled
    ? [[stop.stage === "killed" ? "killed" : "SIGTERM sent", true]]
    : [];
  return [
    ["requested", stop.stage !== "running"],
    ["seen by the run", isSeen],
    ...killed,
    [isOver ? `ended: ${stop.state}` : "ended", isOver],
  ];
}

/** Whether the grace period is over; `now` and `since` are in seconds. */
export function isKillDue(stop: Stop, since: number, now: number): boolean {
  if (stop.stage !== "asked" && stop.stage !== "seen") return false;
  return now - Math.min(since, stop.when ?? since) >= GRACE;
}
