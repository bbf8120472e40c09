/** Changes of the log, as the server sees them. */

import { useEffect, useState } from "react";
import type { Change } from "./types";

export interface Live {
  /** Grows with each change; what was loaded before it is old. */
  generation: number;
  isConnected: boolean;
}

export function useLive(): Live {
  const [live, setLive] = useState<Live>({ generation: 0, isConnected: true });
  useEffect(() => {
    const source = new EventSource("/api/events");
    source.addEventListener("open", () => setLive((before) => ({ ...before, isConnected: true })));
    // The browser connects again by itself.
    source.addEventListener("error", () =>
      setLive((before) => ({ ...before, isConnected: false })),
    );
    source.addEventListener("change", (event) => {
      const change = JSON.parse((event as MessageEvent<string>).data) as Change;
      setLive({ generation: change.generation, isConnected: true });
    });
    return () => source.close();
  }, []);
  return live;
}
