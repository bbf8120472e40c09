/** The view, stored in the URL, so that a link shows the same view. */

import { useCallback, useSyncExternalStore } from "react";
import { report } from "../data/report";
import { findOff, readView, switchOff, type View, writeView } from "./address";

export * from "./address";

// Servers and proxies limit the length of a URL.
const MOST_CHARACTERS = 4000;

const readAddress = () =>
  readView(location.search || location.hash.slice(1) || (report?.view ?? ""));

let runs: readonly string[] = [];
let current = readAddress();
const listeners = new Set<() => void>();

function publish(view: View): void {
  current = findOff(view, runs);
  for (const listener of listeners) listener();
}

/** Set the names of all runs, needed if a URL lists the selected runs, not the hidden ones. */
export function setRuns(names: readonly string[]): void {
  runs = names;
  publish(current);
}

function show(view: View, isStep: boolean): void {
  const search = writeView(view);
  // After a #, the parameters are not sent to the server and can be long.
  const sign = search.length > MOST_CHARACTERS ? "#" : "?";
  const address = location.pathname + (search && sign + search);
  try {
    // The back button returns to another tab, not to each letter typed in a filter.
    if (isStep) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // Some browsers do not allow changing a file URL, so a report works without it.
  }
  publish(view);
}

addEventListener("popstate", () => publish(readAddress()));

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
    // A complete view, such as a saved one, has already chosen between the two lists.
    const switched = off && on === undefined ? switchOff(off, runs) : {};
    show({ ...current, ...changes, ...switched }, isStep);
  }, []);
  return [view, change];
}

/** Return a function that opens a run, or null in a report without that view. */
export function useOpenRun(): ((run: string) => void) | null {
  const [, change] = useView();
  return report && !report.tabs.includes("run") ? null : (run) => change({ tab: "run", run });
}
