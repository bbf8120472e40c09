/** The end of a TensorBoard's log, which grows while one reads. */

import { useEffect, useRef, useState } from "react";
import { type Board, isLive, loadLog } from "../data/boards";
import { Empty, Failed, Waiting } from "./states";

const AGAIN_MILLISECONDS = 1000;
/** So near to its end one reads what comes, not what was. */
const NEAR = 40;

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
      if (isGrowing) timer = setTimeout(load, AGAIN_MILLISECONDS);
    };
    void load();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [id, isGrowing]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: more lines ask for it
  useEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  if (!lines) return error ? <Failed error={error} /> : <Waiting what="the log" />;
  return (
    <>
      {error && <Failed error={error} />}
      {lines.length === 0 ? (
        <Empty>It has said nothing yet.</Empty>
      ) : (
        <pre
          className="board-log"
          ref={box}
          role="log"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keys
          tabIndex={0}
          aria-label={`Log of ${board.name}`}
          onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
            isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR;
          }}
        >
          {lines.join("\n")}
        </pre>
      )}
    </>
  );
}
