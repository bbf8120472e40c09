/** Parts shared by the list of TensorBoards and the embedded one: state badge, link, kill button. */

import { useState } from "react";
import { type Board, isLive, isServing, killBoard } from "../data/boards";
import { Menu } from "./menu";
import "./stop.css";

const MEANINGS: Record<Board["state"], string> = {
  STARTING: "Starting up",
  WAITING: "Running, but none of its runs has an event file yet",
  RUNNING: "Running",
  TERMINATING: "Shutting down",
  TERMINATED: "Ended",
};

/** URL of a TensorBoard's page, or of one of its dashboards. */
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

/** Link that opens a TensorBoard in a new tab while it is serving. */
export function BoardTab({ board, dashboard }: { board: Board; dashboard?: string }) {
  if (!isServing(board)) return null;
  return (
    <a
      className="button"
      href={boardAddress(board, dashboard)}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`Open ${board.name} in a new tab`}
    >
      New tab ↗
    </a>
  );
}

/** Button that kills a TensorBoard after confirmation. */
export function KillBoard({ board }: { board: Board }) {
  const [error, setError] = useState<Error | null>(null);
  if (!isLive(board)) return null;
  const kill = async () => {
    try {
      await killBoard(board.id);
      setError(null);
    } catch (reason) {
      setError(reason as Error);
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
        <Menu title="Kill…" label={`Kill ${board.name}`}>
          {(close) => (
            <div className="question">
              <p>
                This shuts down {board.name} for everyone who has it open. The runs are not
                affected.
              </p>
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
                  Kill TensorBoard
                </button>
              </div>
            </div>
          )}
        </Menu>
      )}
    </>
  );
}
