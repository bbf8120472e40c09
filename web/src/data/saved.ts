/** Views and queries that were saved; the server keeps them, whatever port it has. */

import { useCallback, useEffect, useState } from "react";
import { getJson, send } from "./api";

export interface Kept {
  views: { name: string; address: string }[];
  queries: { name: string; query: string }[];
}

export interface Saved extends Kept {
  error: Error | null;
  saveView: (name: string, address: string) => void;
  saveQuery: (name: string, query: string) => void;
  forget: (kind: "views" | "queries", name: string) => void;
}

const NOTHING: Kept = { views: [], queries: [] };

/** Those with another name stay, in their order. */
export function put<T extends { name: string }>(all: readonly T[], one: T): T[] {
  return [...all.filter((other) => other.name !== one.name), one];
}

export function useSaved(): Saved {
  const [kept, setKept] = useState<Kept>(NOTHING);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    getJson<Kept>("/api/views", {}, controller.signal).then(setKept, (reason: unknown) => {
      if (!controller.signal.aborted) setError(reason as Error);
    });
    return () => controller.abort();
  }, []);
  const store = useCallback((next: Kept) => {
    setKept(next);
    send("/api/views", next, undefined, "PUT").then(() => setError(null), setError);
  }, []);
  return {
    ...kept,
    error,
    saveView: (name, address) => store({ ...kept, views: put(kept.views, { name, address }) }),
    saveQuery: (name, query) => store({ ...kept, queries: put(kept.queries, { name, query }) }),
    forget: (kind, name) =>
      store({ ...kept, [kind]: kept[kind].filter((one) => one.name !== name) }),
  };
}
