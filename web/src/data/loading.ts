/** Hooks to load data; the old value stays visible while the new one loads. */

import { useEffect, useRef, useState } from "react";

export interface Loaded<T> {
  value: T | null;
  error: Error | null;
  isLoading: boolean;
}

/**
 * Load again whenever the key or the generation changes.
 *
 * The old value is kept until the new one arrives, even for another key, so that the
 * page does not jump; meanwhile `isLoading` is true. An outdated request is cancelled.
 * A null key loads nothing.
 */
export function useLoaded<T>(
  key: string | null,
  generation: number,
  load: (signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ value: null, error: null, isLoading: true });
  const current = useRef(load);
  current.current = load;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new generation reloads
  useEffect(() => {
    if (key === null) {
      setState({ value: null, error: null, isLoading: false });
      return;
    }
    const controller = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    current.current(controller.signal).then(
      (value) => setState({ value, error: null, isLoading: false }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const reason = error instanceof Error ? error : new Error(String(error));
        setState((before) => ({ value: before.value, error: reason, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [key, generation]);
  return state;
}

/** Return the value once it has stopped changing for a while, as after a drag or typing. */
export function useDebounced<T>(value: T, milliseconds: number): T {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return debounced;
}
