/** List of TensorBoards: start, open, watch and kill them. */

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
import { formatTime, plural } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import "./boards.css";

/** The server sends no event when the idle time changes. */
const REFRESH_MILLISECONDS = 5000;
const MOST_EXPERIMENTS = 200;

export function BoardsView() {
  const [view, change] = useView();
  const { all, isLoaded, error } = useBoards();
  const hasRuns = useChoice().table.runs.length > 0;
  useEffect(() => {
    const timer = setInterval(refresh, REFRESH_MILLISECONDS);
    return () => clearInterval(timer);
  }, []);
  const open = all.find((board) => board.id === view.board);
  if (open) return <BoardFrame key={open.id} board={open} />;
  if (!isLoaded) return error ? <Failed error={error} /> : <Waiting what="TensorBoards" />;
  const live = all.filter(isLive);
  const ended = all.filter((board) => !isLive(board));
  return (
    <section className="boards">
      {error && <Failed error={error} />}
      {hasRuns && <Start />}
      {view.board && (
        <p className="state failed" role="alert">
          TensorBoard {view.board} does not exist.{" "}
          <button type="button" onClick={() => change({ board: "" })}>
            Dismiss
          </button>
        </p>
      )}
      {live.length === 0 && (
        <Empty>
          No TensorBoard is running.{" "}
          {hasRuns
            ? "Start one to see only the selected runs."
            : "Start one with `runfold tensorboard start`."}
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
  return (
    <div className="controls">
      <StartBoard
        make={() => chooseSources(view, shown)}
        isDisabled={shown.length === 0}
        title="Open the selected runs in TensorBoard"
      >
        {shown.length === table.runs.length
          ? "Start with all runs"
          : `Start with ${plural(shown.length, "selected run")}`}
      </StartBoard>
      {experiments.length > 0 && (
        <Menu title="Start with experiments…">
          {(close) => <Experiments names={experiments} close={close} />}
        </Menu>
      )}
    </div>
  );
}

function Experiments({ names, close }: { names: string[]; close: () => void }) {
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const matching = names.filter((name) => name.toLowerCase().includes(search.toLowerCase()));
  const toggle = (name: string) =>
    setChosen(chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name]);
  return (
    <>
      <input
        type="search"
        aria-label="Filter experiments"
        placeholder="Filter experiments"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <ul className="entries">
        {matching.slice(0, MOST_EXPERIMENTS).map((name) => (
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
      {matching.length > MOST_EXPERIMENTS && (
        <p className="hint">
          {(matching.length - MOST_EXPERIMENTS).toLocaleString("en")} more. Filter by name to find
          them.
        </p>
      )}
      <StartBoard
        make={() => ({ runs: null, experiments: chosen, where: "" })}
        isDisabled={chosen.length === 0}
        title="Includes runs added to these experiments later"
        onStart={close}
      >
        {chosen.length ? `Start with ${plural(chosen.length, "experiment")}` : "Start"}
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
    board.restarts ? `restarted ${plural(board.restarts, "time")}` : "",
    board.node ? `on node ${board.node}` : "",
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
