/** Follows the server's events about changes in the logdir. */

import { useEffect, useState } from "react";
import { refresh } from "./boards";
import { report } from "./report";
import type { Change } from "./types";

export interface Live {
  /** Grows with each change, which makes earlier data stale. 0 until the first event. */
  generation: number;
  state: "live" | "lost" | "locked";
}

const RETRY_MILLISECONDS = 1000;

/**
 * Follow the server's events and reconnect when the connection is lost.
 *
 * `onChange` is called when all loaded data is stale. That includes reconnects, because
 * a restarted server counts generations from the start.
 */
export function follow(onChange: () => void, onState: (state: Live["state"]) => void): () => void {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest: number | null = null;
  const receive = (event: MessageEvent<string>) => {
    const { generation } = JSON.parse(event.data) as Pick<Change, "generation">;
    if (generation !== latest) onChange();
    latest = generation;
    onState("live");
  };
  const handleError = async () => {
    latest = null;
    // The browser reconnects automatically, unless the server refused the connection.
    if (source.readyState !== EventSource.CLOSED) return onState("lost");
    timer = setTimeout(connect, RETRY_MILLISECONDS);
    const response = await fetch("/api/status").catch(() => null);
    onState(response?.status === 403 ? "locked" : "lost");
  };
  const connect = () => {
    source = new EventSource("/api/events");
    // Sent when the page connects, and then every few seconds.
    source.addEventListener("ping", receive);
    source.addEventListener("change", receive);
    // After a reconnect, the server's TensorBoards may have changed.
    source.addEventListener("open", refresh);
    source.addEventListener("tensorboards", refresh);
    source.addEventListener("error", handleError);
  };
  connect();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

export function useLive(): Live {
  const [live, setLive] = useState<Live>({ generation: report ? 1 : 0, state: "live" });
  useEffect(
    () =>
      report
        ? undefined
        : follow(
            () => setLive((before) => ({ ...before, generation: before.generation + 1 })),
            (state) =>
              setLive((before) => ({
                state,
                // If the first connection fails, loading shows the reason.
                generation: Math.max(1, before.generation),
              })),
          ),
    [],
  );
  return live;
}
