/** A TensorBoard embedded in the page, with a toolbar above it. */

import { useState } from "react";
import { type Board, describeBoard, describeExit, isLive, isServing } from "../data/boards";
import { useView } from "../state/view";
import { BoardState, BoardTab, boardAddress, KillBoard } from "./board";
import { BoardLog } from "./board-log";
import { StartBoard } from "./board-start";
import { Empty } from "./states";

export function BoardFrame({ board }: { board: Board }) {
  const [view, change] = useView();
  const [hasLog, setLog] = useState(false);
  const description = describeBoard(board);
  return (
    <section className="board-frame" aria-label={`TensorBoard ${board.name}`}>
      <div className="bar">
        <h2>{board.name}</h2>
        <BoardState board={board} />
        <span className="shows" title={description}>
          {description}
        </span>
        <button type="button" aria-pressed={hasLog} onClick={() => setLog(!hasLog)}>
          Log
        </button>
        <BoardTab board={board} dashboard={view.dashboard} />
        <KillBoard board={board} />
        <button type="button" onClick={() => change({ board: "", dashboard: "" })}>
          Close
        </button>
      </div>
      {board.message && (
        <p className="message" role="status">
          {board.message}
        </p>
      )}
      {hasLog && <BoardLog board={board} />}
      {isServing(board) ? (
        <iframe
          key={board.restarts}
          title={`TensorBoard ${board.name}`}
          src={boardAddress(board, view.dashboard)}
          allow="fullscreen; clipboard-write"
        />
      ) : (
        <NotServing board={board} />
      )}
    </section>
  );
}

/** Message shown while TensorBoard is starting or after it has ended. */
function NotServing({ board }: { board: Board }) {
  const [view] = useView();
  if (board.state === "STARTING") {
    return (
      <p className="state" role="status">
        {board.restarts ? "Restarting TensorBoard…" : "Starting TensorBoard…"}
      </p>
    );
  }
  if (isLive(board)) {
    return (
      <p className="state" role="status">
        Shutting down TensorBoard…
      </p>
    );
  }
  const exit = describeExit(board.exitStatus);
  return (
    <Empty>
      This TensorBoard has ended{exit && ` (${exit})`}.{" "}
      {board.isHere && (
        <StartBoard make={() => board} dashboard={view.dashboard}>
          Start again
        </StartBoard>
      )}
    </Empty>
  );
}
