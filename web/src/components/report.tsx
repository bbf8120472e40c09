/** Saving what one looks at as a file, and in such a file what it is. */

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
  // What TensorBoard shows needs a server.
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
        title="This view as one file that opens without a server"
        disabled={state === "busy"}
        onClick={start}
      >
        {state === "busy" ? "Saving …" : "Save as report"}
      </button>
    </>
  );
}

const CONNECTIONS: Record<Live["state"], string> = {
  live: "live",
  lost: "not connected",
  locked: "not connected: open the link that `runfold serve` printed",
};

/** Whether the page follows the log: live, or not, or never as it is a report. */
export function Liveness({ state }: { state: Live["state"] }) {
  if (report) {
    return <span className="live report">a report of {formatTime(report.time)}</span>;
  }
  return (
    <span className={state === "live" ? "live" : "live lost"} role="status">
      {CONNECTIONS[state]}
    </span>
  );
}

/** What a report leaves out. */
export function ReportNotes() {
  if (!report?.notes.length) return null;
  return (
    <p className="hint report-notes" role="note">
      {report.notes.join(" ")}
    </p>
  );
}
