/** Changes of the log, as the server sees them. */

import { useEffect, useState } from "react";
import { refresh } from "./boards";
import { report } from "./report";
import type { Change } from "./types";

export interface Live {
  /** Grows with each change; what was loaded before it is old. 0 until the server is heard. */
  generation: number;
  state: "live" | "lost" | "locked";
}

const AGAIN_MILLISECONDS = 1000;

/** What the server tells, for as long as the page is open: it may end and come back.
 *
 * `onChange` is called when all that was loaded is old, also after the server was away:
 * another one may count its generations anew.
 */
export function follow(onChange: () => void, onState: (state: Live["state"]) => void): () => void {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let known: number | null = null;
  const hear = (event: MessageEvent<string>) => {
    const { generation } = JSON.parse(event.data) as Pick<Change, "generation">;
    if (generation !== known) onChange();
    known = generation;
    onState("live");
  };
  const lose = async () => {
    known = null;
    // The browser connects again by itself, unless the server refused.
    if (source.readyState !== EventSource.CLOSED) return onState("lost");
    timer = setTimeout(connect, AGAIN_MILLISECONDS);
    const answer = await fetch("/api/status").catch(() => null);
    onState(answer?.status === 403 ? "locked" : "lost");
  };
  const connect = () => {
    source = new EventSource("/api/events");
    // At once when it is connected, and then every few seconds.
    source.addEventListener("ping", hear);
    source.addEventListener("change", hear);
    // Those of a server that was away may be others.
    source.addEventListener("open", refresh);
    source.addEventListener("tensorboards", refresh);
    source.addEventListener("error", lose);
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
                // Where it never was heard, what is loaded says why.
                generation: Math.max(1, before.generation),
              })),
          ),
    [],
  );
  return live;
}
