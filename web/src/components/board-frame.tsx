/** One TensorBoard that is open within the page, with a bar above it. */

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
  const told = describeBoard(board);
  return (
    <section className="board-frame" aria-label={`TensorBoard ${board.name}`}>
      <div className="bar">
        <h2>{board.name}</h2>
        <BoardState board={board} />
        <span className="shows" title={told}>
          {told}
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
        <Absent board={board} />
      )}
    </section>
  );
}

/** What is said instead of a page that is not there yet, or no more. */
function Absent({ board }: { board: Board }) {
  const [view] = useView();
  if (board.state === "STARTING") {
    return (
      <p className="state" role="status">
        {board.restarts ? "TensorBoard is started again …" : "TensorBoard is starting …"}
      </p>
    );
  }
  if (isLive(board)) {
    return (
      <p className="state" role="status">
        It is being ended …
      </p>
    );
  }
  const exit = describeExit(board.exitStatus);
  return (
    <Empty>
      It has ended{exit && ` (${exit})`}.{" "}
      {board.isHere && (
        <StartBoard make={() => board} dashboard={view.dashboard}>
          Start again
        </StartBoard>
      )}
    </Empty>
  );
}
