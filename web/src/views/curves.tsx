/** The "curves" view: one chart per tag, in sections by tag prefix. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Chart, type ChartSetting } from "../components/chart";
import { ChartControls } from "../components/chart-controls";
import { Empty, Failed, Waiting } from "../components/states";
import { MoreTags } from "../components/tags";
import { getJson } from "../data/api";
import { useDebounced, useLoaded } from "../data/loading";
import { type Mark, useMarks } from "../data/marks";
import { report } from "../data/report";
import type { Question, Series } from "../data/series";
import { makeFilter, makeSections, type Section } from "../data/tags";
import { labelNames } from "../format/labels";
import { assignColors } from "../scale/colors";
import type { Range } from "../scale/range";
import { useChoice } from "../state/choice";
import { type ChangeView, useView, type View } from "../state/view";
import "./curves.css";

/** Name of the combined chart in the URL. The slash at the end distinguishes it from a tag. */
const TOGETHER = "together/";
const NO_PREFIX = "other tags";
const NO_MARKS: Mark[] = [];

export function CurvesView() {
  const [view, change] = useView();
  const { generation, shown } = useChoice();
  const loaded = useLoaded("tags", generation, (signal) => getJson("/api/tags", {}, signal));
  const tags = useSame((loaded.value?.kinds.scalar ?? []).map((info) => info.tag));
  const matching = useMemo(() => tags.filter(makeFilter(view.tags)), [tags, view.tags]);
  const sections = useMemo(() => makeSections(matching), [matching]);
  const marks = useMarks(generation);
  const setting = useSetting(view, change, tags, view.hasMarks ? marks : NO_MARKS);
  if (!loaded.value) {
    return loaded.error ? <Failed error={loaded.error} /> : <Waiting what="tags" />;
  }
  if (!tags.length) return <Empty>No run has logged scalars yet.</Empty>;
  return (
    <div className="curves">
      <ChartControls
        view={view}
        change={change}
        tags={tags}
        count={matching.length}
        hasAnyMarks={marks.length > 0}
      />
      <MoreTags leftOut={loaded.value.leftOut?.scalar ?? 0} />
      {!shown.length && <Empty>No runs selected.</Empty>}
      {shown.length > 0 && <Charts {...{ view, change, tags, sections, setting }} />}
    </div>
  );
}

interface ChartsProps {
  view: View;
  change: ChangeView;
  tags: readonly string[];
  sections: Section[];
  setting: ChartSetting;
}

function Charts({ view, change, tags, sections, setting }: ChartsProps) {
  const { together } = view;
  const onFull = useCallback((full: string) => change({ full }), [change]);
  const onTogether = useCallback(
    (tag: string) => {
      const others = together.filter((other) => other !== tag);
      if (tag === TOGETHER) change({ together: [] });
      else change({ together: others.length < together.length ? others : [...together, tag] });
    },
    [change, together],
  );
  const shared = useMemo(() => {
    const known = new Set(tags);
    return together.filter((tag) => known.has(tag));
  }, [together, tags]);
  useEffect(() => {
    const leave = (event: KeyboardEvent) => event.key === "Escape" && onFull("");
    if (view.full) addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, [view.full, onFull]);
  const common = { setting, onFull, onTogether };
  const title = shared.join(" · ");
  const sharedChart = (isFull: boolean) => (
    <Chart id={TOGETHER} title={title} tags={shared} isFull={isFull} isTogether {...common} />
  );
  if (view.full === TOGETHER && shared.length) return sharedChart(true);
  if (tags.includes(view.full)) return <TagChart tag={view.full} isFull {...common} />;
  if (!sections.length) return <Empty>No tags match this filter.</Empty>;
  const toggle = (prefix: string, isOpen: boolean) => {
    const others = view.closed.filter((other) => other !== prefix);
    change({ closed: isOpen ? others : [...others, prefix] });
  };
  return (
    <>
      {shared.length > 0 && (
        <section className="curves-section" aria-label="Combined chart">
          <div className="curves-grid wide">{sharedChart(false)}</div>
        </section>
      )}
      {sections.map(({ prefix, tags: own }) => {
        const isOpen = !view.closed.includes(prefix);
        return (
          <section className="curves-section" key={prefix} aria-label={prefix || NO_PREFIX}>
            <h2>
              <button
                type="button"
                className="section-toggle"
                aria-expanded={isOpen}
                onClick={() => toggle(prefix, !isOpen)}
              >
                <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {prefix || NO_PREFIX}{" "}
                <span className="hint">{own.length}</span>
              </button>
            </h2>
            {isOpen && (
              <div className="curves-grid">
                {own.map((tag) => (
                  <TagChart key={tag} tag={tag} isTogether={together.includes(tag)} {...common} />
                ))}
              </div>
            )}
          </section>
        );
      })}
    </>
  );
}

interface TagChartProps {
  tag: string;
  setting: ChartSetting;
  isFull?: boolean;
  isTogether?: boolean;
  onFull: (id: string) => void;
  onTogether: (id: string) => void;
}

function TagChart({ tag, ...others }: TagChartProps) {
  const tags = useMemo(() => [tag], [tag]);
  return <Chart id={tag} tags={tags} {...others} />;
}

/** Return the settings shared by all charts; they change only if a chart would look different. */
function useSetting(
  view: View,
  change: ChangeView,
  tags: readonly string[],
  marks: readonly Mark[],
): ChartSetting {
  const { generation, shown, table, colorOf } = useChoice();
  const debounced = useDebounced(view.smooth, 300);
  // A report has no server to smooth all points again, so the page smooths the ones it has.
  const smooth = report?.smooth ?? debounced;
  const by = useDebounced(view.by, 300);
  const runs = useSame(shown.length === table.runs.length ? null : shown);
  const x = useSame(view.x);
  const range = useSame(view.range);
  const colors = useSame(Object.fromEntries(shown.map((run) => [`run ${run}`, colorOf(run)])));
  const request = { runs, x, width: null, range, log: view.isLogX };
  const fold = { by: by || null, center: view.center, band: view.band, align: "auto" } as const;
  const question: Question = useSame(
    view.isFolded
      ? { isFolded: true, ...request, ...fold, smooth }
      : { isFolded: false, ...request, smooth },
  );
  const key = useMemo(() => JSON.stringify(question), [question]);
  const throttled = useThrottled(generation, 1000);
  const onZoom = useCallback((zoomed: Range | null) => change({ range: zoomed }), [change]);
  const colorOfSeries = useCallback(
    (series: Series) => colors[`run ${series.runs[0]}`] ?? "#7a8290",
    [colors],
  );
  const tagColors = useMemo(() => assignColors(tags), [tags]);
  const colorOfTag = useCallback((tag: string) => tagColors.get(tag) ?? "#7a8290", [tagColors]);
  const labelOfTag = useMemo(() => labelNames(tags, 28, false).of, [tags]);
  const problemsOf = useMemo(() => {
    const column = table.columns.find(({ key: name }) => name === "problems");
    const counts = new Map(table.runs.map((run, row) => [run, Number(column?.cells[row] ?? 0)]));
    return (run: string) => counts.get(run) ?? 0;
  }, [table]);
  return useMemo(
    () => ({
      key,
      generation: throttled,
      question,
      lines: shown.length,
      smooth: view.smooth,
      isLogX: view.isLogX,
      isLogY: view.isLogY,
      isRobust: view.isRobust,
      range,
      marks,
      colorOf: colorOfSeries,
      colorOfTag,
      labelOfTag,
      problemsOf,
      onZoom,
    }),
    [
      key,
      throttled,
      question,
      shown.length,
      view.smooth,
      view.isLogX,
      view.isLogY,
      view.isRobust,
      range,
      marks,
      colorOfSeries,
      colorOfTag,
      labelOfTag,
      problemsOf,
      onZoom,
    ],
  );
}

/** Return the previous value while the new one is equal, so that memoized values stay valid. */
function useSame<T>(value: T): T {
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text identifies the value
  return useMemo(() => value, [text]);
}

/** Return the value, updated at most once per interval: files can grow many times a second. */
function useThrottled<T>(value: T, milliseconds: number): T {
  const [throttled, setThrottled] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const set = () => {
      last.current = performance.now();
      setThrottled(value);
    };
    const timer = setTimeout(set, Math.max(0, last.current + milliseconds - performance.now()));
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return throttled;
}
