/** What is loaded for a key: the old answer stays while the new one is on its way. */

import { useEffect, useRef, useState } from "react";

export interface Loaded<T> {
  value: T | null;
  error: Error | null;
  isLoading: boolean;
}

/**
 * Load again whenever the key or the generation changes.
 *
 * With another key the old answer is kept too, so that what one looks at does not
 * jump; `isLoading` tells. A request that is no longer wanted is cancelled. A null
 * key asks for nothing.
 */
export function useLoaded<T>(
  key: string | null,
  generation: number,
  load: (signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ value: null, error: null, isLoading: true });
  const current = useRef(load);
  current.current = load;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the generation asks for it again
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

/** The value once it has rested, as a slider's at the end of a drag or a text's behind the last letter. */
export function usePaused<T>(value: T, milliseconds: number): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return rested;
}
