/** Button that saves the view as a report, and the parts that only a report shows. */

import { useState } from "react";
import { send } from "../data/api";
import type { Live } from "../data/live";
import { report } from "../data/report";
import { formatTime } from "../format/number";
import { useView, writeView } from "../state/view";
import { save } from "./chart-save";

export function SaveReport() {
  const [view] = useView();
  const [state, setState] = useState<"" | "busy" | Error>("");
  // TensorBoards need a server, so a report cannot contain them.
  if (report || view.tab === "boards") return null;
  const start = async () => {
    setState("busy");
    try {
      const answer = await send("/api/report", { view: writeView(view) });
      save(await answer.blob(), "report.html");
      setState("");
    } catch (error) {
      setState(error as Error);
    }
  };
  return (
    <>
      {state instanceof Error && (
        <span className="hint failed" role="alert">
          {state.message}
        </span>
      )}
      <button
        type="button"
        title="Save this view as a single file that opens without a server"
        disabled={state === "busy"}
        onClick={start}
      >
        {state === "busy" ? "Saving…" : "Save as report"}
      </button>
    </>
  );
}

const CONNECTIONS: Record<Live["state"], string> = {
  live: "live",
  lost: "not connected",
  locked: "not connected: open the login link that `runfold serve` printed",
};

/** Connection status in the header; for a report, when it was saved. */
export function Liveness({ state }: { state: Live["state"] }) {
  if (report) {
    return <span className="live report">report saved {formatTime(report.time)}</span>;
  }
  return (
    <span className={state === "live" ? "live" : "live lost"} role="status">
      {CONNECTIONS[state]}
    </span>
  );
}

/** Notes on what a report leaves out. */
export function ReportNotes() {
  if (!report?.notes.length) return null;
  return (
    <p className="hint report-notes" role="note">
      {report.notes.join(" ")}
    </p>
  );
}
