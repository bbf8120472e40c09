/** Saved views and queries. The server stores them, independently of its port. */

import { useEffect, useSyncExternalStore } from "react";
import type { ViewsResponse } from "../generated/endpoints";
import { getJson, putJson, RequestError } from "./api";

/** Saved data with its revision, which prevents a window from overwriting another's changes. */
export type SavedData = ViewsResponse;

export type Edit = (data: SavedData) => SavedData;

/** Add an entry at the end, replacing an entry with the same name. */
export function put<T extends { name: string }>(all: readonly T[], entry: T): T[] {
  return [...all.filter((other) => other.name !== entry.name), entry];
}

export function addView(name: string, view: string): Edit {
  return (data) => ({ ...data, views: put(data.views, { name, view }) });
}

export function addQuery(name: string, query: string): Edit {
  return (data) => ({ ...data, queries: put(data.queries, { name, query }) });
}

export function remove(kind: "views" | "queries", name: string): Edit {
  return (data) => ({ ...data, [kind]: data[kind].filter((entry) => entry.name !== name) });
}

export interface Saved extends SavedData {
  isLoaded: boolean;
  error: Error | null;
}

let current: Saved = { views: [], queries: [], revision: null, isLoaded: false, error: null };
const listeners = new Set<() => void>();

function show(change: Partial<Saved>): void {
  current = { ...current, ...change };
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

async function load(): Promise<SavedData> {
  const data = await getJson("/api/views", {});
  show({ ...data, isLoaded: true, error: null });
  return data;
}

/** Apply an edit and store it. Try again if another window has stored changes since. */
async function store(edit: Edit): Promise<void> {
  const write = async (data: SavedData) => {
    const { views, queries, revision } = edit(data);
    const stored = await putJson("/api/views", { views, queries, revision });
    show({ ...stored, isLoaded: true, error: null });
  };
  try {
    await write(current.isLoaded ? current : await load());
  } catch (error) {
    if (!(error instanceof RequestError) || error.status !== 400) throw error;
    const before = current.revision;
    const data = await load();
    if (data.revision === before) throw error;
    await write(data);
  }
}

let queue: Promise<void> = Promise.resolve();

/** Store an edit after all earlier ones. */
export function change(edit: Edit): void {
  queue = queue.then(() => store(edit)).catch((error: Error) => show({ error }));
}

/** Return the saved data, shared by all parts of the page. */
export function useSaved(): Saved {
  const saved = useSyncExternalStore(subscribe, () => current);
  useEffect(() => {
    if (!current.isLoaded) load().catch((error: Error) => show({ error }));
  }, []);
  return saved;
}
