/** The TensorBoards of this log: started, opened, watched and ended. */

import { useEffect, useMemo, useState } from "react";
import { BoardState, BoardTab, KillBoard } from "../components/board";
import { BoardFrame } from "../components/board-frame";
import { BoardLog } from "../components/board-log";
import { StartBoard } from "../components/board-start";
import { Menu } from "../components/menu";
import { Empty, Failed, Waiting } from "../components/states";
import {
  type Board,
  chooseSources,
  describeBoard,
  describeExit,
  describeUse,
  experimentOf,
  isLive,
  isServing,
  refresh,
  useBoards,
} from "../data/boards";
import { formatTime } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import "./boards.css";

/** How long one was idle is not told as it changes. */
const AGAIN_MILLISECONDS = 5000;
const MOST = 200;

export function BoardsView() {
  const [view, change] = useView();
  const { all, isLoaded, error } = useBoards();
  const hasRuns = useChoice().table.runs.length > 0;
  useEffect(() => {
    const timer = setInterval(refresh, AGAIN_MILLISECONDS);
    return () => clearInterval(timer);
  }, []);
  const open = all.find((board) => board.id === view.board);
  if (open) return <BoardFrame key={open.id} board={open} />;
  if (!isLoaded) return error ? <Failed error={error} /> : <Waiting what="the TensorBoards" />;
  const live = all.filter(isLive);
  const ended = all.filter((board) => !isLive(board));
  return (
    <section className="boards">
      {error && <Failed error={error} />}
      {hasRuns && <Start />}
      {view.board && (
        <p className="state failed" role="alert">
          There is no TensorBoard {view.board} any more.{" "}
          <button type="button" onClick={() => change({ board: "" })}>
            Good
          </button>
        </p>
      )}
      {live.length === 0 && (
        <Empty>
          No TensorBoard runs.{" "}
          {hasRuns
            ? "Start one for the runs that you have chosen: it shows exactly these."
            : "The command `runfold tensorboard start` starts one."}
        </Empty>
      )}
      <ul aria-label="TensorBoards">
        {live.map((board) => (
          <Entry key={board.id} board={board} />
        ))}
      </ul>
      {ended.length > 0 && (
        <details className="part" open={live.length === 0}>
          <summary>Ended ({ended.length})</summary>
          <ul aria-label="Ended TensorBoards">
            {ended.map((board) => (
              <Entry key={board.id} board={board} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Start() {
  const [view] = useView();
  const { shown, table } = useChoice();
  const experiments = useMemo(() => [...new Set(table.runs.map(experimentOf))], [table]);
  const many = shown.length.toLocaleString("en");
  return (
    <div className="controls">
      <StartBoard
        make={() => chooseSources(view, shown)}
        isDisabled={shown.length === 0}
        title="A TensorBoard with the runs that are chosen at the left"
      >
        {shown.length === table.runs.length
          ? "Start with all runs"
          : `Start with the ${many} chosen run${shown.length === 1 ? "" : "s"}`}
      </StartBoard>
      {experiments.length > 0 && (
        <Menu title="Start with experiments">
          {(close) => <Experiments names={experiments} close={close} />}
        </Menu>
      )}
    </div>
  );
}

function Experiments({ names, close }: { names: string[]; close: () => void }) {
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const found = names.filter((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  const toggle = (name: string) =>
    setChosen(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  return (
    <>
      <input
        type="search"
        aria-label="Find experiments"
        placeholder="Find experiments"
        value={wanted}
        onChange={(event) => setWanted(event.target.value)}
      />
      <ul className="entries">
        {found.slice(0, MOST).map((name) => (
          <li key={name}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(name)}
                onChange={() => toggle(name)}
              />{" "}
              {name}
            </label>
          </li>
        ))}
      </ul>
      {found.length > MOST && (
        <p className="hint">
          {(found.length - MOST).toLocaleString("en")} more: find them by their names.
        </p>
      )}
      <StartBoard
        make={() => ({ runs: null, experiments: chosen, where: "" })}
        isDisabled={chosen.length === 0}
        title="Runs that they get later are shown, too"
        onStart={close}
      >
        {chosen.length === 1 ? "Start with it" : `Start with these ${chosen.length || ""}`}
      </StartBoard>
    </>
  );
}

function Entry({ board }: { board: Board }) {
  const [, change] = useView();
  const [hasLog, setLog] = useState(false);
  const exit = isLive(board) ? "" : describeExit(board.exitStatus);
  const facts = [
    board.ended ? `ended ${formatTime(board.ended)}` : "",
    exit,
    board.started ? `started ${formatTime(board.started)}` : "",
    isServing(board) ? describeUse(board.idle) : "",
    board.restarts ? `restarted ${board.restarts} time${board.restarts === 1 ? "" : "s"}` : "",
  ].filter(Boolean);
  return (
    <li className="board" aria-label={board.name}>
      <div className="bar">
        <strong>{board.name}</strong>
        <code>{board.id}</code>
        <BoardState board={board} />
        <span className="buttons">
          {isLive(board) ? (
            <button
              type="button"
              aria-label={`Open ${board.name}`}
              onClick={() => change({ board: board.id, dashboard: "" })}
            >
              Open
            </button>
          ) : (
            board.isHere && <StartBoard make={() => board}>Start again</StartBoard>
          )}
          <BoardTab board={board} />
          <button
            type="button"
            aria-label={`Log of ${board.name}`}
            aria-expanded={hasLog}
            onClick={() => setLog(!hasLog)}
          >
            Log
          </button>
          <KillBoard board={board} />
        </span>
      </div>
      <p className="shows">{describeBoard(board)}</p>
      {board.description && <p>{board.description}</p>}
      <p className="hint">{facts.join(" · ")}</p>
      {board.message && <p className="message">{board.message}</p>}
      {hasLog && <BoardLog board={board} />}
    </li>
  );
}
