/** Arrow keys walk through the lines of a long list, of which one at a time takes the focus. */

import type { Virtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type RefObject, useState } from "react";

const PAGE = 15;

/** The line that a key leads to; null for a key that leads nowhere. */
export function nextLine(key: string, line: number, count: number): number | null {
  const steps: Record<string, number> = {
    ArrowUp: line - 1,
    ArrowDown: line + 1,
    PageUp: line - PAGE,
    PageDown: line + PAGE,
    Home: 0,
    End: count - 1,
  };
  const next = Object.hasOwn(steps, key) ? steps[key] : undefined;
  return next === undefined || count === 0 ? null : Math.min(count - 1, Math.max(0, next));
}

export interface Walk {
  /** What the element of a line needs so as to be reached. */
  reach: (line: number) => { "data-line": number; tabIndex: number; onFocus: () => void };
  onKeyDown: (event: KeyboardEvent) => void;
}

export function useWalk(
  count: number,
  lines: Virtualizer<HTMLDivElement, Element>,
  box: RefObject<HTMLDivElement | null>,
): Walk {
  const [chosen, setChosen] = useState(0);
  const line = Math.min(chosen, Math.max(0, count - 1));
  return {
    reach: (number) => ({
      "data-line": number,
      tabIndex: number === line ? 0 : -1,
      onFocus: () => setChosen(number),
    }),
    onKeyDown: (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const next = nextLine(event.key, line, count);
      if (next === null) return;
      event.preventDefault();
      setChosen(next);
      lines.scrollToIndex(next);
      const focus = () => box.current?.querySelector<HTMLElement>(`[data-line="${next}"]`)?.focus();
      // A line far away is there only after the list was drawn again.
      requestAnimationFrame(() => requestAnimationFrame(focus));
    },
  };
}
