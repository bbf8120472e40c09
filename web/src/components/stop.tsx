/** Buttons that stop runs, after a question, and what comes of it. */

import { type FormEvent, useEffect, useState } from "react";
import { report } from "../data/report";
import { isKillDue, isUnderWay, type Stop, stagesOf, stopRun, watchStop } from "../data/stop";
import { Menu } from "./menu";
import "./stop.css";

const MILLISECONDS = 1000;

/** The stop button of one run, and how far its stop has come. */
export function StopRun({ run, state }: { run: string; state: string }) {
  const [stop, setStop] = useState<Stop | null>(null);
  const [since, setSince] = useState<number | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [before, setBefore] = useState(state);
  if (state !== before) {
    setBefore(state);
    // It was resumed: what came of its stop is over.
    if (state === "running") {
      setStop(null);
      setSince(null);
    }
  }
  const now = Date.now() / 1000;
  // From when on this page has seen it, whatever the clock of who asked says.
  if (since === null && stop && isUnderWay(stop)) setSince(now);
  const isWatched = stop ? isUnderWay(stop) : state === "stopping";
  useEffect(() => {
    if (!isWatched || report) return;
    const controller = new AbortController();
    let timer = 0;
    const look = async () => {
      try {
        setStop(await watchStop(run, controller.signal));
        setError(null);
      } catch (reason) {
        if (controller.signal.aborted) return;
        setError(reason as Error);
      }
      timer = window.setTimeout(look, MILLISECONDS);
    };
    look();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [run, isWatched]);
  if (report || (!stop && state !== "running" && state !== "stopping")) return null;
  const ask = async (reason: string, kill: boolean) => {
    try {
      setStop(await stopRun(run, reason, kill));
      setError(null);
    } catch (refused) {
      setError(refused as Error);
    }
  };
  const isAsked = stop !== null && stop.stage !== "running";
  return (
    <div className="stop">
      {!isAsked && state === "running" && (
        <Menu title="Stop …" label="Stop the run">
          {(close) => (
            <Question
              text="The run is asked through its folder, and ends as by Ctrl-C."
              answer="Stop it"
              onYes={(reason) => ask(reason, false)}
              close={close}
            />
          )}
        </Menu>
      )}
      {isAsked && <Stages stop={stop} />}
      {isAsked && isKillDue(stop, since ?? now, now) && (
        <Kill why={stop.whyNotKill ?? ""} onYes={(reason) => ask(reason, true)} />
      )}
      {error && (
        <p className="hint failed" role="alert">
          {error.message}
        </p>
      )}
    </div>
  );
}

function Stages({ stop }: { stop: Stop }) {
  const by = [stop.who && `by ${stop.who}`, stop.reason && `“${stop.reason}”`].filter(Boolean);
  return (
    <>
      <ol role="status" aria-label="Stop of the run">
        {stagesOf(stop).map(([name, isDone]) => (
          <li key={name} className={isDone ? "done" : ""}>
            {name}
          </li>
        ))}
      </ol>
      {by.length > 0 && <span className="hint">{by.join(": ")}</span>}
    </>
  );
}

function Kill({ why, onYes }: { why: string; onYes: (reason: string) => void }) {
  if (why) return <p className="hint">It takes its time. It cannot be killed from here: {why}</p>;
  return (
    <Menu title="Kill …" label="Kill the run">
      {(close) => (
        <Question
          text="Its process is told to end (SIGTERM), and killed ten seconds later with all that it started. What it has not saved by then is lost."
          answer="Kill it"
          onYes={onYes}
          close={close}
        />
      )}
    </Menu>
  );
}

/** The stop button of many runs: it names them first. */
export function StopRuns({ runs }: { runs: readonly string[] }) {
  const [refused, setRefused] = useState<string[]>([]);
  if (report || (runs.length === 0 && refused.length === 0)) return null;
  const ask = async (reason: string) => {
    const answers = await Promise.allSettled(runs.map((run) => stopRun(run, reason)));
    setRefused(
      answers.flatMap((one) => (one.status === "rejected" ? [(one.reason as Error).message] : [])),
    );
  };
  return (
    <>
      {refused.map((message) => (
        <span key={message} className="hint failed" role="alert">
          {message}
        </span>
      ))}
      {runs.length > 0 && (
        <Menu title={`Stop ${runs.length} running …`}>
          {(close) => (
            <>
              <ul className="entries">
                {runs.map((run) => (
                  <li key={run}>{run}</li>
                ))}
              </ul>
              <Question
                text="These runs are asked through their folders, and end as by Ctrl-C."
                answer={runs.length === 1 ? "Stop it" : `Stop all ${runs.length}`}
                onYes={ask}
                close={close}
              />
            </>
          )}
        </Menu>
      )}
    </>
  );
}

interface QuestionProps {
  text: string;
  answer: string;
  onYes: (reason: string) => void;
  close: () => void;
}

function Question({ text, answer, onYes, close }: QuestionProps) {
  const [reason, setReason] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    close();
    onYes(reason.trim());
  };
  return (
    <form className="question" onSubmit={submit}>
      <p>{text}</p>
      <input
        aria-label="Reason"
        placeholder="Why, if you like"
        maxLength={1000}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <div className="row">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" className="danger">
          {answer}
        </button>
      </div>
    </form>
  );
}
