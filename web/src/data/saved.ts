/** Views and queries that were saved; the server keeps them, whatever port it has. */

import { useEffect, useSyncExternalStore } from "react";
import type { ViewsResponse } from "../generated/endpoints";
import { getJson, putJson, Refused } from "./api";

/** The revision is that of what was last seen, so that no window undoes what another saved. */
export type Kept = ViewsResponse;

export type Edit = (kept: Kept) => Kept;

/** Those with another name stay, in their order. */
export function put<T extends { name: string }>(all: readonly T[], one: T): T[] {
  return [...all.filter((other) => other.name !== one.name), one];
}

export function addView(name: string, view: string): Edit {
  return (kept) => ({ ...kept, views: put(kept.views, { name, view }) });
}

export function addQuery(name: string, query: string): Edit {
  return (kept) => ({ ...kept, queries: put(kept.queries, { name, query }) });
}

export function forget(kind: "views" | "queries", name: string): Edit {
  return (kept) => ({ ...kept, [kind]: kept[kind].filter((one) => one.name !== name) });
}

export interface Saved extends Kept {
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

async function load(): Promise<Kept> {
  const kept = await getJson("/api/views", {});
  show({ ...kept, isLoaded: true, error: null });
  return kept;
}

/** Store an edit of what the server has; once more where another window was faster. */
async function store(edit: Edit): Promise<void> {
  const write = async (kept: Kept) => {
    const { views, queries, revision } = edit(kept);
    const answer = await putJson("/api/views", { views, queries, revision });
    show({ ...answer, isLoaded: true, error: null });
  };
  try {
    await write(current.isLoaded ? current : await load());
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 400) throw error;
    const before = current.revision;
    const kept = await load();
    if (kept.revision === before) throw error;
    await write(kept);
  }
}

let queue: Promise<void> = Promise.resolve();

/** Edits are stored one after the other. */
export function change(edit: Edit): void {
  queue = queue.then(() => store(edit)).catch((error: Error) => show({ error }));
}

/** What is saved, the same in every part of the page. */
export function useSaved(): Saved {
  const saved = useSyncExternalStore(subscribe, () => current);
  useEffect(() => {
    if (!current.isLoaded) load().catch((error: Error) => show({ error }));
  }, []);
  return saved;
}
