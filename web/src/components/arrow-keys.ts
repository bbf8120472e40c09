/** Arrow-key navigation in a long list, where one line at a time can take the focus. */

import type { Virtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type RefObject, useState } from "react";

const PAGE = 15;

/** Return the line that a key moves to, or null for other keys. */
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

export interface ArrowKeys {
  /** Props that make the element of a line focusable. */
  focusable: (line: number) => { "data-line": number; tabIndex: number; onFocus: () => void };
  onKeyDown: (event: KeyboardEvent) => void;
}

export function useArrowKeys(
  count: number,
  lines: Virtualizer<HTMLDivElement, Element>,
  box: RefObject<HTMLDivElement | null>,
): ArrowKeys {
  const [chosen, setChosen] = useState(0);
  const line = Math.min(chosen, Math.max(0, count - 1));
  return {
    focusable: (number) => ({
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
      // A distant line exists only after the list has been rendered again.
      requestAnimationFrame(() => requestAnimationFrame(focus));
    },
  };
}
