/** The series of a chart's tags, while it is near; the old ones stay until the new are there. */

import { useEffect, useRef, useState } from "react";
import type { Loaded } from "./loading";
import { type Question, type Series, seriesBundle } from "./series";

interface Job {
  key: string;
  tags: readonly string[];
  /** What is being loaded, and what is wanted by now. */
  generation: number;
  wanted: number;
  isBusy: boolean;
  controller: AbortController;
}

const NOTHING: Loaded<Series[]> = { value: null, error: null, isLoading: true };

/**
 * Load what a key asks for; nothing with a null key, and what there was is let go.
 *
 * Another key cancels what is on its way. Another generation does not, it is asked for
 * behind it: where files grow faster than answers come, some answer must still arrive.
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of the question
  useEffect(() => {
    const before = job.current;
    const isRunning = before?.isBusy && !before.controller.signal.aborted;
    if (isRunning && before.key === key && before.tags === tags) {
      before.wanted = generation;
      return;
    }
    before?.controller.abort();
    if (key === null) {
      job.current = null;
      setState(NOTHING);
      return;
    }
    const controller = new AbortController();
    const own: Job = { key, tags, generation, wanted: generation, isBusy: true, controller };
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
    job.generation = job.wanted;
    const key = `${job.generation}|${job.key}`;
    const kept = tags.map((tag) => seriesBundle.peek(key, tag));
    if (kept.every((series) => series !== undefined)) {
      show(() => ({ value: kept.flat(), error: null, isLoading: false }));
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
  } while (job.wanted !== job.generation);
  job.isBusy = false;
}
