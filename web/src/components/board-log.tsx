/** Last lines of a TensorBoard's log, reloaded while it runs. */

import { useEffect, useRef, useState } from "react";
import { type Board, isLive, loadLog } from "../data/boards";
import { Empty, Failed, Waiting } from "./states";

const RELOAD_MILLISECONDS = 1000;
/** A log scrolled to within this many pixels of its end keeps scrolling to new lines. */
const NEAR_END = 40;

export function BoardLog({ board }: { board: Board }) {
  const { id } = board;
  const isGrowing = isLive(board);
  const [lines, setLines] = useState<string[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        setLines(await loadLog(id, controller.signal));
        setError(null);
      } catch (reason) {
        if (controller.signal.aborted) return;
        setError(reason as Error);
      }
      if (isGrowing) timer = setTimeout(load, RELOAD_MILLISECONDS);
    };
    void load();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [id, isGrowing]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls after new lines
  useEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  if (!lines) return error ? <Failed error={error} /> : <Waiting what="log" />;
  return (
    <>
      {error && <Failed error={error} />}
      {lines.length === 0 ? (
        <Empty>The log is empty.</Empty>
      ) : (
        <pre
          className="board-log"
          ref={box}
          role="log"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard
          tabIndex={0}
          aria-label={`Log of ${board.name}`}
          onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
            isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
          }}
        >
          {lines.join("\n")}
        </pre>
      )}
    </>
  );
}
