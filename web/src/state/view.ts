/** All that one looks at, kept in the address, so that a link shows the same thing. */

import { useCallback, useSyncExternalStore } from "react";
import { report } from "../data/report";
import { findOff, readView, switchOff, type View, writeView } from "./address";

export * from "./address";

// The server, and whatever stands before it, takes an address only up to some length.
const MOST_CHARACTERS = 4000;

const readAddress = () =>
  readView(location.search || location.hash.slice(1) || (report?.view ?? ""));

let runs: readonly string[] = [];
let current = readAddress();
const listeners = new Set<() => void>();

function take(view: View): void {
  current = findOff(view, runs);
  for (const listener of listeners) listener();
}

/** Say which runs there are: an address may name those that are on. */
export function knowRuns(names: readonly string[]): void {
  runs = names;
  take(current);
}

function show(view: View, isStep: boolean): void {
  const search = writeView(view);
  // Behind the # it stays in the browser: a thousand runs are a long text.
  const sign = search.length > MOST_CHARACTERS ? "#" : "?";
  const address = location.pathname + (search && sign + search);
  try {
    // A step back brings another page back, not each letter of a filter.
    if (isStep) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // The address of a file may not be changed everywhere: a report goes without.
  }
  take(view);
}

addEventListener("popstate", () => take(readAddress()));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export type ChangeView = (change: Partial<View>) => void;

export function useView(): [View, ChangeView] {
  const view = useSyncExternalStore(subscribe, () => current);
  const change = useCallback<ChangeView>((changes) => {
    const isStep = ["tab", "full", "run", "board"].some((name) => name in changes);
    const { off, on } = changes;
    // A whole view, as one that was saved, has said which of the two lists it keeps.
    const switched = off && on === undefined ? switchOff(off, runs) : {};
    show({ ...current, ...changes, ...switched }, isStep);
  }, []);
  return [view, change];
}

/** Opens the view of a run; null in a report that lacks it. */
export function useOpenRun(): ((run: string) => void) | null {
  const [, change] = useView();
  return report && !report.tabs.includes("run") ? null : (run) => change({ tab: "run", run });
}
