/** The series of a chart's tags, while it is near; the old ones stay until the new are there. */

import { useEffect, useState } from "react";
import type { Loaded } from "./loading";
import { type Question, type Series, seriesBundle } from "./series";

/** Nothing is asked for with a null key, and what there was is let go. */
export function useSeries(
  key: string | null,
  question: Question,
  tags: readonly string[],
): Loaded<Series[]> {
  const [state, setState] = useState<Loaded<Series[]>>({
    value: null,
    error: null,
    isLoading: true,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of the question
  useEffect(() => {
    if (key === null) {
      setState({ value: null, error: null, isLoading: true });
      return;
    }
    const kept = tags.map((tag) => seriesBundle.peek(key, tag));
    if (kept.every((series) => series !== undefined)) {
      setState({ value: kept.flat(), error: null, isLoading: false });
      return;
    }
    const controller = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    Promise.all(tags.map((tag) => seriesBundle.load(key, question, tag, controller.signal))).then(
      (value) => {
        if (controller.signal.aborted) return;
        setState({ value: value.flat(), error: null, isLoading: false });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const reason = error instanceof Error ? error : new Error(String(error));
        setState((before) => ({ value: before.value, error: reason, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [key, tags]);
  return state;
}
