/** Loads the series of a chart while it is near the viewport. */

import { useEffect, useRef, useState } from "react";
import type { Loaded } from "./loading";
import { type Question, type Series, seriesBundle } from "./series";

interface Job {
  key: string;
  tags: readonly string[];
  /** Generation being loaded. */
  generation: number;
  /** Generation to load next, if newer. */
  newest: number;
  isBusy: boolean;
  controller: AbortController;
}

const NOTHING: Loaded<Series[]> = { value: null, error: null, isLoading: true };

/**
 * Load the series for a key, and keep the old ones until the new ones arrive. A null key clears
 * them.
 *
 * A new key cancels the current request. A new generation does not: its series are requested
 * afterwards. Otherwise, a chart would never show files that grow faster than the server responds.
 */
export function useSeries(
  key: string | null,
  generation: number,
  question: Question,
  tags: readonly string[],
): Loaded<Series[]> {
  const [state, setState] = useState(NOTHING);
  const job = useRef<Job | null>(null);
  useEffect(() => () => job.current?.controller.abort(), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key identifies the question
  useEffect(() => {
    const before = job.current;
    const isRunning = before?.isBusy && !before.controller.signal.aborted;
    if (isRunning && before.key === key && before.tags === tags) {
      before.newest = generation;
      return;
    }
    before?.controller.abort();
    if (key === null) {
      job.current = null;
      setState(NOTHING);
      return;
    }
    const controller = new AbortController();
    const own: Job = { key, tags, generation, newest: generation, isBusy: true, controller };
    job.current = own;
    void load(own, question, setState);
  }, [key, tags, generation]);
  return state;
}

async function load(
  job: Job,
  question: Question,
  show: (change: (before: Loaded<Series[]>) => Loaded<Series[]>) => void,
): Promise<void> {
  const { tags, controller } = job;
  do {
    job.generation = job.newest;
    const key = `${job.generation}|${job.key}`;
    const cached = tags.map((tag) => seriesBundle.peek(key, tag));
    if (cached.every((series) => series !== undefined)) {
      show(() => ({ value: cached.flat(), error: null, isLoading: false }));
      continue;
    }
    show((before) => ({ ...before, isLoading: true }));
    try {
      const value = await Promise.all(
        tags.map((tag) => seriesBundle.load(key, question, tag, controller.signal)),
      );
      if (controller.signal.aborted) return;
      show(() => ({ value: value.flat(), error: null, isLoading: false }));
    } catch (error) {
      if (controller.signal.aborted) return;
      const reason = error instanceof Error ? error : new Error(String(error));
      show((before) => ({ value: before.value, error: reason, isLoading: false }));
    }
  } while (job.newest !== job.generation);
  job.isBusy = false;
}
