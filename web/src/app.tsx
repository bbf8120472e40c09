/** The page: a header, the list of runs, and the selected view. */

import { type ComponentType, useState } from "react";
import { Liveness, ReportNotes, SaveReport } from "./components/report";
import { SavedViews } from "./components/saved";
import { Sidebar } from "./components/sidebar";
import { Empty, ErrorBoundary, Failed, Waiting } from "./components/states";
import { getJson, loadTable } from "./data/api";
import { type Live, useLive } from "./data/live";
import { useLoaded } from "./data/loading";
import { report } from "./data/report";
import type { RunTable } from "./data/types";
import type { StatusResponse } from "./generated/endpoints";
import { TABLE_STATISTICS } from "./generated/vocabulary";
import { ChoiceContext, useChoose } from "./state/choice";
import { chooseTheme, THEMES, type Theme, useTheme } from "./state/theme";
import { setRuns, TABS, type Tab, useView } from "./state/view";
import { AudioView } from "./views/audio";
import { BoardsView } from "./views/boards";
import { CompareView } from "./views/compare";
import { CurvesView } from "./views/curves";
import { HistogramsView } from "./views/histograms";
import { HparamsView } from "./views/hparams";
import { ImagesView } from "./views/images";
import { MoreView } from "./views/more";
import { RunView } from "./views/run";
import { RunsView } from "./views/runs";
import { SqlView } from "./views/sql";
import { TextView } from "./views/text";

const VIEWS: Record<Tab, { title: string; kind?: string; Body: ComponentType }> = {
  runs: { title: "Runs", Body: RunsView },
  curves: { title: "Curves", Body: CurvesView },
  images: { title: "Images", kind: "image", Body: ImagesView },
  audio: { title: "Audio", kind: "audio", Body: AudioView },
  text: { title: "Text", kind: "text", Body: TextView },
  histograms: { title: "Histograms", kind: "histogram", Body: HistogramsView },
  more: { title: "More", Body: MoreView },
  hparams: { title: "Hparams", kind: "hparams", Body: HparamsView },
  compare: { title: "Compare", Body: CompareView },
  run: { title: "Run", Body: RunView },
  sql: { title: "SQL", Body: SqlView },
  boards: { title: "TensorBoards", Body: BoardsView },
};

export function App() {
  const live = useLive();
  // Load only after subscribing to changes, so that no change is missed.
  const key = live.generation ? "all" : null;
  const status = useLoaded(key, live.generation, (signal) => getJson("/api/status", {}, signal));
  const table = useLoaded(key, live.generation, async (signal) => {
    const runTable = await loadTable(TABLE_STATISTICS, signal);
    setRuns(runTable.runs);
    return runTable;
  });
  const failure = status.error ?? table.error;
  if (!status.value || !table.value) {
    return failure ? <Failed error={failure} /> : <Waiting what="runs" />;
  }
  return (
    <Page
      status={status.value}
      table={table.value}
      generation={live.generation}
      connection={live.state}
    />
  );
}

interface PageProps {
  status: StatusResponse;
  table: RunTable;
  generation: number;
  connection: Live["state"];
}

function Page({ status, table, generation, connection }: PageProps) {
  const [view, change] = useView();
  const choice = useChoose(table, view, generation);
  const [isSidebarOpen, setSidebarOpen] = useState(() => innerWidth > 800);
  const theme = useTheme();
  const shown = status.hasLogdir ? view.tab : "boards";
  const { Body } = VIEWS[shown];
  const tabs = TABS.filter((tab) => {
    if (report) return report.tabs.includes(tab);
    if (!status.hasLogdir) return false;
    const { kind } = VIEWS[tab];
    return !kind || tab === view.tab || (status.kinds[kind] ?? 0) > 0;
  });
  return (
    <ChoiceContext value={choice}>
      <header>
        {status.hasLogdir && (
          <button
            type="button"
            className="fold"
            aria-label="List of runs"
            aria-expanded={isSidebarOpen}
            onClick={() => setSidebarOpen(!isSidebarOpen)}
          >
            ☰
          </button>
        )}
        <h1 title={status.title}>{status.title}</h1>
        <nav aria-label="Views">
          {tabs.map((tab) => (
            <button
              type="button"
              key={tab}
              aria-current={tab === shown ? "page" : undefined}
              onClick={() => change({ tab })}
            >
              {VIEWS[tab].title}
            </button>
          ))}
        </nav>
        {!report && status.hasLogdir && <SavedViews />}
        <select
          aria-label="Theme"
          value={theme}
          onChange={(event) => chooseTheme(event.target.value as Theme)}
        >
          {THEMES.map((option) => (
            <option key={option} value={option}>
              {option === "system" ? "auto" : option}
            </option>
          ))}
        </select>
        {status.hasLogdir && <SaveReport />}
        <Liveness state={connection} />
      </header>
      <div className="page">
        {isSidebarOpen && status.hasLogdir && <Sidebar />}
        <main>
          <ReportNotes />
          {table.runs.length || shown === "boards" ? (
            <ErrorBoundary key={shown}>
              <Body />
            </ErrorBoundary>
          ) : (
            <Empty>No runs yet.</Empty>
          )}
        </main>
      </div>
    </ChoiceContext>
  );
}
