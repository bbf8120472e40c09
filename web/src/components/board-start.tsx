/** Button that opens a TensorBoard for the given runs, reusing one that already serves them. */

import { type ReactNode, useState } from "react";
import { type Sources, startBoard } from "../data/boards";
import { report } from "../data/report";
import { useView } from "../state/view";

interface Props {
  make: () => Sources;
  /** TensorBoard dashboard to open. */
  dashboard?: string;
  title?: string;
  isDisabled?: boolean;
  /** Called after TensorBoard has started, before it is opened. */
  onStart?: () => void;
  children: ReactNode;
}

export function StartBoard({ make, dashboard = "", title, isDisabled, onStart, children }: Props) {
  const [, change] = useView();
  const [state, setState] = useState<"" | "busy" | Error>("");
  if (report) return null;
  const start = async () => {
    setState("busy");
    try {
      const { id } = await startBoard(make());
      setState("");
      onStart?.();
      change({ tab: "boards", board: id, dashboard });
    } catch (error) {
      setState(error as Error);
    }
  };
  return (
    <>
      <button
        type="button"
        title={title}
        disabled={isDisabled || state === "busy"}
        onClick={() => void start()}
      >
        {state === "busy" ? "Starting…" : children}
      </button>
      {state instanceof Error && (
        <span className="hint failed" role="alert">
          {state.message}
        </span>
      )}
    </>
  );
}
