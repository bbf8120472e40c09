/** A chart with its title, buttons, and a note on the data that it does not show. */

import { memo, useEffect, useMemo, useRef, useState } from "react";
import { useSeries } from "../data/chart-series";
import type { Line } from "../data/lines";
import { isDrawn, makeLines } from "../data/lines";
import { type Flag, type Mark, placeMarks } from "../data/marks";
import { useNear, useSize } from "../data/near";
import type { Question, Series } from "../data/series";
import type { Axis } from "../data/types";

import { formatNumber, formatTime, plural } from "../format/number";
import type { Range } from "../scale/range";
import type { Measure } from "../scale/ticks";
import { useIsDark } from "../state/theme";
import { ChartKey } from "./chart-key";
import { Plot } from "./chart-plot";
import { type FileKind, saveChart } from "./chart-save";
import { soon } from "./chart-soon";

/** Settings shared by all charts of the page. */
export interface ChartSetting {
  /** Identifies the question. The generation identifies the state of the logdir. */
  key: string;
  generation: number;
  question: Question;
  /** Lines per tag; the more there are, the fewer points are requested for each. */
  lines: number;
  smooth: number;
  isLogX: boolean;
  isLogY: boolean;
  isRobust: boolean;
  range: Range | null;
  /** Events marked by the runs; empty when marks are hidden. */
  marks: readonly Mark[];
  colorOf: (series: Series) => string;
  colorOfTag: (tag: string) => string;
  /** Short label for a tag, distinct from the labels of all other tags. */
  labelOfTag: (tag: string) => string;
  /** Number of problems in the files of a run. */
  problemsOf: (run: string) => number;
  onZoom: (range: Range | null) => void;
}

export interface ChartProps {
  /** Name of the chart in the URL. */
  id: string;
  /** Visible title, if it differs from the id. */
  title?: string;
  tags: readonly string[];
  setting: ChartSetting;
  isFull?: boolean;
  isTogether?: boolean;
  onFull: (id: string) => void;
  onTogether: (id: string) => void;
}

// More points would be invisible on a screen and slow to draw.
const MOST_POINTS = 240_000;

/** Number of columns to request per line: one per pixel, or fewer if there are many lines. */
function columnsOf(width: number, lines: number): number {
  const most = Math.max(100, Math.floor(MOST_POINTS / 4 / Math.max(1, lines)));
  return Math.min(4000, most, Math.max(100, Math.ceil(width / 100) * 100));
}

function measureOf(x: Axis, isLog: boolean): Measure {
  if (isLog) return "log";
  return x === "wall_time" ? "time" : x === "relative" ? "seconds" : "linear";
}

export const labelOf = (x: Axis): string => (typeof x === "object" ? x.tag : x);

export const Chart = memo(function Chart(props: ChartProps) {
  const { id, title = id, tags, setting, isFull = false } = props;
  const root = useRef<HTMLElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const isNear = useNear(root);
  const size = useSize(host);
  const width = size && columnsOf(size[0], setting.lines * tags.length);
  const key = isNear && width ? `${setting.key}|${width}` : null;
  const question = useMemo(() => ({ ...setting.question, width }), [setting.question, width]);
  const loaded = useSeries(key, setting.generation, question, tags);
  const { smooth, colorOf, colorOfTag } = setting;
  const lines = useMemo(
    () => makeLines(loaded.value ?? [], { smooth, colorOf, colorOfTag }),
    [loaded.value, smooth, colorOf, colorOfTag],
  );
  const { marks, isLogX, isLogY } = setting;
  const { x } = setting.question;
  const undrawn = useMemo(
    () => lines.filter((line) => line.y.length && !isDrawn(line, isLogX, isLogY)).length,
    [lines, isLogX, isLogY],
  );
  const flags = useMemo(
    () => placeMarks(marks, loaded.value ?? [], x, colorOf),
    [marks, loaded.value, x, colorOf],
  );
  const hasPlot = isNear && size !== null && loaded.value !== null;
  usePlot({ plot, host, hasPlot, size, lines, flags, setting });
  const save = (kind: FileKind) => {
    const picture = plot.current?.picture(title, labelOf(x));
    if (picture) saveChart(picture, kind).catch((error: unknown) => setFailure(String(error)));
  };
  const [failure, setFailure] = useState("");
  const message = failure || loaded.error?.message;
  const reason =
    isLogX || isLogY ? "only NaN or non-positive values on a log axis" : "only NaN values";
  return (
    <section className={isFull ? "chart full" : "chart"} ref={root} aria-label={title}>
      <div className="chart-head">
        <h3 title={title}>{setting.labelOfTag(title)}</h3>
        <Badges series={loaded.value ?? []} problemsOf={setting.problemsOf} />
        <Buttons {...props} save={save} />
      </div>
      <div
        className="plot"
        ref={host}
        role="application"
        aria-roledescription="chart"
        aria-label={`${title}: ${plural(lines.length, "line")}${flags.length ? `, ${plural(flags.length, "mark")}` : ""}. The left and right arrow keys move the pointer, or pan with Shift. The + and - keys zoom, and 0 resets the zoom.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the pointer in the chart
        tabIndex={0}
        onKeyDown={(event) => handleKey(event, plot.current, setting.onZoom)}
        onBlur={() => plot.current?.leave()}
      >
        {!hasPlot && !message && <p className="chart-wait">Loading…</p>}
        {hasPlot && !loaded.isLoading && lines.length === 0 && (
          <p className="chart-wait">No data in the selected runs.</p>
        )}
        {hasPlot && undrawn > 0 && undrawn === lines.length && (
          <p className="chart-wait">No points to draw: {reason}.</p>
        )}
        {message && (
          <p className="chart-wait failed" role="alert">
            {message}
          </p>
        )}
      </div>
      <ChartKey lines={lines} isFull={isFull} />
      <Note
        series={loaded.value ?? []}
        isLoading={loaded.isLoading}
        more={
          undrawn && undrawn < lines.length ? `${plural(undrawn, "line")} not drawn: ${reason}` : ""
        }
      />
    </section>
  );
});

interface PlotParts {
  plot: { current: Plot | null };
  host: { current: HTMLDivElement | null };
  hasPlot: boolean;
  size: [number, number] | null;
  lines: Line[];
  flags: Flag[];
  setting: ChartSetting;
}

/** Keep a plot while the chart is near the viewport, and pass it every change without a render. */
function usePlot({ plot, host, hasPlot, size, lines, flags, setting }: PlotParts): void {
  const { isLogX, isLogY, isRobust, range, onZoom } = setting;
  const { x } = setting.question;
  const axis = labelOf(x);
  const shown = useRef({ lines, range, flags, size: size ?? [50, 50] });
  shown.current = { lines, range, flags, size: size ?? [50, 50] };
  const dark = useIsDark();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the axis label identifies x; a new theme needs new colors
  useEffect(() => {
    if (!hasPlot) return;
    const style = {
      measureX: measureOf(x, isLogX),
      measureY: isLogY ? ("log" as const) : ("linear" as const),
      isRobust,
      nameX: (value: number) => nameX(value, x),
    };
    // A row of charts that scrolls into view is created over several frames.
    const cancel = soon(() => {
      if (!host.current) return;
      plot.current = new Plot(host.current, shown.current.size, style, onZoom);
      plot.current.mark(shown.current.flags);
      plot.current.show(shown.current.lines, shown.current.range);
    });
    return () => {
      cancel();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [hasPlot, isLogX, isLogY, isRobust, axis, onZoom, dark]);
  useEffect(() => plot.current?.show(lines, range), [plot, lines, range]);
  useEffect(() => plot.current?.mark(flags), [plot, flags]);
  useEffect(() => {
    if (size) plot.current?.resize(size[0], size[1]);
  }, [plot, size]);
}

function nameX(value: number, x: Axis): string {
  if (x === "wall_time") return formatTime(value);
  if (x === "relative") return `${formatNumber(value)} s`;
  return x === "step" ? `step ${formatNumber(Math.round(value))}` : formatNumber(value);
}

function handleKey(
  event: React.KeyboardEvent,
  plot: Plot | null,
  onZoom: (range: Range | null) => void,
): void {
  if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
  const side = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  if (side && event.shiftKey) onZoom(plot.shifted(side * 0.2, 1));
  else if (side) plot.step(side * 0.02);
  else if (event.key === "+" || event.key === "=") onZoom(plot.shifted(0, 0.5));
  else if (event.key === "-") onZoom(plot.shifted(0, 2));
  else if (event.key === "0") onZoom(null);
  else return;
  event.preventDefault();
}

function Buttons({
  id,
  title = id,
  isFull,
  isTogether,
  onFull,
  onTogether,
  save,
}: ChartProps & { save: (kind: FileKind) => void }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (menu.current) menu.current.open = false;
  };
  const choose = (kind: FileKind) => {
    close();
    save(kind);
  };
  return (
    <div className="chart-buttons">
      <button
        type="button"
        aria-pressed={isTogether}
        title={isTogether ? "Remove from the combined chart" : "Add to the combined chart"}
        aria-label={`Combine ${title} with other tags`}
        onClick={() => onTogether(id)}
      >
        {isTogether ? "−" : "+"}
      </button>
      <details
        ref={menu}
        onKeyDown={(event) => event.key === "Escape" && close()}
        onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && close()}
      >
        <summary title="Download this chart" aria-label={`Download ${title}`}>
          ↓
        </summary>
        <div className="menu">
          {(["csv", "svg", "png"] as const).map((kind) => (
            <button type="button" key={kind} onClick={() => choose(kind)}>
              {kind.toUpperCase()}
            </button>
          ))}
        </div>
      </details>
      <button
        type="button"
        title={isFull ? "Back to all charts" : "Full size"}
        aria-label={isFull ? "Back to all charts" : `Full size: ${title}`}
        onClick={() => onFull(isFull ? "" : id)}
      >
        {isFull ? "×" : "⤢"}
      </button>
    </div>
  );
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function Badges({ series, problemsOf }: { series: Series[]; problemsOf: (run: string) => number }) {
  const restarted = series.filter(({ hidden }) => hidden > 0);
  const runs = new Set(series.flatMap((line) => line.runs));
  const bad = [...runs].filter((run) => problemsOf(run) > 0);
  const list = (names: string[]) => names.slice(0, 8).join(", ") + (names.length > 8 ? ", …" : "");
  const points = sum(restarted.map(({ hidden }) => hidden));
  return (
    <>
      {points > 0 && (
        <span
          className="badge"
          title={`${plural(points, "point")} hidden by restarts: ${list(restarted.map(({ name }) => name))}`}
        >
          ↺ {formatNumber(points)}
        </span>
      )}
      {bad.length > 0 && (
        <span
          className="badge alarm"
          title={`${plural(sum(bad.map(problemsOf)), "problem")} in the files of ${plural(bad.length, "run")}: ${list(bad)}`}
        >
          ⚠ {formatNumber(bad.length)}
        </span>
      )}
    </>
  );
}

/** Note below a chart about the points and lines that the chart does not show. */
function Note({ series, isLoading, more }: { series: Series[]; isLoading: boolean; more: string }) {
  const points = sum(series.map((line) => line.points));
  const shown = sum(series.map((line) => line.shown));
  const lost = sum(series.map((line) => line.lost));
  const notes = [...new Set(series.map((line) => line.note).filter(Boolean))];
  if (shown < points) {
    notes.unshift(`showing ${formatNumber(shown)} of ${formatNumber(points)} points`);
  }
  if (lost) notes.push(`${plural(lost, "point")} not shown: no value on the x-axis`);
  if (more) notes.push(more);
  const text = notes.join("; ");
  return (
    <p className="chart-note" title={text} aria-busy={isLoading}>
      {text}
    </p>
  );
}
