/** Buttons that stop runs after confirmation, and the progress of the stop. */

import { type FormEvent, useEffect, useState } from "react";
import { report } from "../data/report";
import { isKillDue, isUnderWay, type Stop, stagesOf, stopRun, watchStop } from "../data/stop";
import { Menu } from "./menu";
import "./stop.css";

const POLL_MILLISECONDS = 1000;

/** Stop button for a run, and the progress of its stop. */
export function StopRun({ run, state }: { run: string; state: string }) {
  const [stop, setStop] = useState<Stop | null>(null);
  const [since, setSince] = useState<number | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [before, setBefore] = useState(state);
  if (state !== before) {
    setBefore(state);
    // The run was resumed, so the earlier stop no longer matters.
    if (state === "running") {
      setStop(null);
      setSince(null);
    }
  }
  const now = Date.now() / 1000;
  // When this page first saw the stop; the requester's clock may be wrong.
  if (since === null && stop && isUnderWay(stop)) setSince(now);
  const isWatched = stop ? isUnderWay(stop) : state === "stopping";
  useEffect(() => {
    if (!isWatched || report) return;
    const controller = new AbortController();
    let timer = 0;
    const poll = async () => {
      try {
        setStop(await watchStop(run, controller.signal));
        setError(null);
      } catch (reason) {
        if (controller.signal.aborted) return;
        setError(reason as Error);
      }
      timer = window.setTimeout(poll, POLL_MILLISECONDS);
    };
    poll();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [run, isWatched]);
  if (report || (!stop && state !== "running" && state !== "stopping")) return null;
  const request = async (reason: string, kill: boolean) => {
    try {
      setStop(await stopRun(run, reason, kill));
      setError(null);
    } catch (failure) {
      setError(failure as Error);
    }
  };
  const isRequested = stop !== null && stop.stage !== "running";
  return (
    <div className="stop">
      {!isRequested && state === "running" && (
        <Menu title="Stop…" label="Stop this run">
          {(close) => (
            <Confirmation
              text="This writes a stop request to the run's folder. The run then ends as if you had pressed Ctrl-C."
              answer="Stop run"
              onConfirm={(reason) => request(reason, false)}
              close={close}
            />
          )}
        </Menu>
      )}
      {isRequested && <Stages stop={stop} />}
      {isRequested && isKillDue(stop, since ?? now, now) && (
        <Kill why={stop.whyNotKill ?? ""} onConfirm={(reason) => request(reason, true)} />
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
      <ol role="status" aria-label="Stop progress">
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

function Kill({ why, onConfirm }: { why: string; onConfirm: (reason: string) => void }) {
  if (why) {
    return <p className="hint">The run has not ended yet. It cannot be killed from here: {why}</p>;
  }
  return (
    <Menu title="Kill…" label="Kill this run">
      {(close) => (
        <Confirmation
          text="This sends SIGTERM to the run's process. If the process is still running ten seconds later, it and its child processes are killed. Unsaved work is lost."
          answer="Kill run"
          onConfirm={onConfirm}
          close={close}
        />
      )}
    </Menu>
  );
}

/** Button that stops several runs after listing them. */
export function StopRuns({ runs }: { runs: readonly string[] }) {
  const [errors, setErrors] = useState<string[]>([]);
  if (report || (runs.length === 0 && errors.length === 0)) return null;
  const request = async (reason: string) => {
    const results = await Promise.allSettled(runs.map((run) => stopRun(run, reason)));
    setErrors(
      results.flatMap((result) =>
        result.status === "rejected" ? [(result.reason as Error).message] : [],
      ),
    );
  };
  return (
    <>
      {errors.map((message) => (
        <span key={message} className="hint failed" role="alert">
          {message}
        </span>
      ))}
      {runs.length > 0 && (
        <Menu title={`Stop ${runs.length} running…`}>
          {(close) => (
            <>
              <ul className="entries">
                {runs.map((run) => (
                  <li key={run}>{run}</li>
                ))}
              </ul>
              <Confirmation
                text="This writes a stop request to each run's folder. The runs then end as if you had pressed Ctrl-C."
                answer={runs.length === 1 ? "Stop run" : `Stop ${runs.length} runs`}
                onConfirm={request}
                close={close}
              />
            </>
          )}
        </Menu>
      )}
    </>
  );
}

interface ConfirmationProps {
  text: string;
  answer: string;
  onConfirm: (reason: string) => void;
  close: () => void;
}

function Confirmation({ text, answer, onConfirm, close }: ConfirmationProps) {
  const [reason, setReason] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    close();
    onConfirm(reason.trim());
  };
  return (
    <form className="question" onSubmit={submit}>
      <p>{text}</p>
      <input
        aria-label="Reason"
        placeholder="Reason (optional)"
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
