/** What every sight of a TensorBoard has: its state, and the buttons to leave and to end it. */

import { useState } from "react";
import { type Board, isLive, isServing, killBoard } from "../data/boards";
import { Menu } from "./menu";
import "./stop.css";

const MEANINGS: Record<Board["state"], string> = {
  STARTING: "It is being started.",
  WAITING: "It runs, but none of its runs has an event file yet.",
  RUNNING: "It runs.",
  TERMINATING: "It is being ended.",
  TERMINATED: "It has ended.",
};

/** Where a browser finds its page, or one of its dashboards. */
export function boardAddress(board: Board, dashboard = ""): string {
  return /^\w+$/.test(dashboard) ? `${board.path}#${dashboard}` : board.path;
}

export function BoardState({ board }: { board: Board }) {
  const hasFailed = board.state === "TERMINATED" && (board.exitStatus ?? 0) > 0;
  return (
    <span
      className={`board-state ${board.state.toLowerCase()}${hasFailed ? " failed" : ""}`}
      title={MEANINGS[board.state]}
    >
      {board.state.toLowerCase()}
    </span>
  );
}

/** A link to its own page, as long as it has one. */
export function BoardTab({ board, dashboard }: { board: Board; dashboard?: string }) {
  if (!isServing(board)) return null;
  return (
    <a
      className="button"
      href={boardAddress(board, dashboard)}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`Open ${board.name} in a tab`}
    >
      In a tab ↗
    </a>
  );
}

/** Ends one, after a question. */
export function KillBoard({ board }: { board: Board }) {
  const [error, setError] = useState<Error | null>(null);
  if (!isLive(board)) return null;
  const kill = async () => {
    try {
      await killBoard(board.id);
      setError(null);
    } catch (refused) {
      setError(refused as Error);
    }
  };
  return (
    <>
      {error && (
        <span className="hint failed" role="alert">
          {error.message}
        </span>
      )}
      {board.state !== "TERMINATING" && (
        <Menu title="Kill …" label={`Kill ${board.name}`}>
          {(close) => (
            <div className="question">
              <p>{board.name} ends, for all who look at it. The runs stay as they are.</p>
              <div className="row">
                <button type="button" onClick={close}>
                  Cancel
                </button>
                <button
                  type="button"
                  className="danger"
                  onClick={() => {
                    close();
                    void kill();
                  }}
                >
                  Kill it
                </button>
              </div>
            </div>
          )}
        </Menu>
      )}
    </>
  );
}
