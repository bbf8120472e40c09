/** The view "curves": a chart for each tag, in sections by the prefix of the tag. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Chart, type ChartSetting } from "../components/chart";
import { ChartControls } from "../components/chart-controls";
import { Empty, Failed, Waiting } from "../components/states";
import { MoreTags } from "../components/tags";
import { getJson } from "../data/api";
import { useLoaded, usePaused } from "../data/loading";
import { type Mark, useMarks } from "../data/marks";
import { report } from "../data/report";
import type { Question, Series } from "../data/series";
import { makeFilter, makeSections, type Section } from "../data/tags";
import { labelNames } from "../format/labels";
import { assignColours } from "../scale/colours";
import type { Range } from "../scale/range";
import { useChoice } from "../state/choice";
import { type ChangeView, useView, type View } from "../state/view";
import "./curves.css";

/** How the chart of several tags is called in the address; no tag ends in a slash. */
const TOGETHER = "together/";
const NO_PREFIX = "other tags";
const NO_MARKS: Mark[] = [];

export function CurvesView() {
  const [view, change] = useView();
  const { generation, shown } = useChoice();
  const loaded = useLoaded("tags", generation, (signal) => getJson("/api/tags", {}, signal));
  const tags = useSame((loaded.value?.kinds.scalar ?? []).map((info) => info.tag));
  const found = useMemo(() => tags.filter(makeFilter(view.tags)), [tags, view.tags]);
  const sections = useMemo(() => makeSections(found), [found]);
  const marks = useMarks(generation);
  const setting = useSetting(view, change, tags, view.hasMarks ? marks : NO_MARKS);
  if (!loaded.value) {
    return loaded.error ? <Failed error={loaded.error} /> : <Waiting what="the tags" />;
  }
  if (!tags.length) return <Empty>No run has logged a scalar yet.</Empty>;
  return (
    <div className="curves">
      <ChartControls
        view={view}
        change={change}
        tags={tags}
        count={found.length}
        isMarked={marks.length > 0}
      />
      <MoreTags leftOut={loaded.value.leftOut?.scalar ?? 0} />
      {!shown.length && <Empty>No run is chosen.</Empty>}
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
      const others = together.filter((one) => one !== tag);
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
  if (tags.includes(view.full)) return <OneChart tag={view.full} isFull {...common} />;
  if (!sections.length) return <Empty>No tag fits the filter.</Empty>;
  const toggle = (prefix: string, isOpen: boolean) => {
    const others = view.closed.filter((one) => one !== prefix);
    change({ closed: isOpen ? others : [...others, prefix] });
  };
  return (
    <>
      {shared.length > 0 && (
        <section className="curves-section" aria-label="Tags in one chart">
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
                  <OneChart key={tag} tag={tag} isTogether={together.includes(tag)} {...common} />
                ))}
              </div>
            )}
          </section>
        );
      })}
    </>
  );
}

interface OneProps {
  tag: string;
  setting: ChartSetting;
  isFull?: boolean;
  isTogether?: boolean;
  onFull: (id: string) => void;
  onTogether: (id: string) => void;
}

function OneChart({ tag, ...others }: OneProps) {
  const tags = useMemo(() => [tag], [tag]);
  return <Chart id={tag} tags={tags} {...others} />;
}

/** What all charts share; it changes only when a chart would look different. */
function useSetting(
  view: View,
  change: ChangeView,
  tags: readonly string[],
  marks: readonly Mark[],
): ChartSetting {
  const { generation, shown, table, colourOf } = useChoice();
  const rested = usePaused(view.smooth, 300);
  // Nobody smooths all points again for a report: the ones that it has are smoothed here.
  const smooth = report?.smooth ?? rested;
  const by = usePaused(view.by, 300);
  const runs = useSame(shown.length === table.runs.length ? null : shown);
  const x = useSame(view.x);
  const range = useSame(view.range);
  const colours = useSame(Object.fromEntries(shown.map((run) => [`run ${run}`, colourOf(run)])));
  const asked = { runs, x, width: null, range, log: view.isLogX };
  const fold = { by: by || null, centre: view.centre, band: view.band, align: "auto" } as const;
  const question: Question = useSame(
    view.isFolded
      ? { isFolded: true, ...asked, ...fold, smooth }
      : { isFolded: false, ...asked, smooth },
  );
  const key = useMemo(() => JSON.stringify(question), [question]);
  const steady = useSteady(generation, 1000);
  const onZoom = useCallback((zoomed: Range | null) => change({ range: zoomed }), [change]);
  const colourOfOne = useCallback(
    (series: Series) => colours[`run ${series.runs[0]}`] ?? "#7a8290",
    [colours],
  );
  const tagColours = useMemo(() => assignColours(tags), [tags]);
  const colourOfTag = useCallback((tag: string) => tagColours.get(tag) ?? "#7a8290", [tagColours]);
  const labelOfTag = useMemo(() => labelNames(tags, 28, false).of, [tags]);
  const problemsOf = useMemo(() => {
    const column = table.columns.find((one) => one.key === "problems");
    const counts = new Map(table.runs.map((run, row) => [run, Number(column?.cells[row] ?? 0)]));
    return (run: string) => counts.get(run) ?? 0;
  }, [table]);
  return useMemo(
    () => ({
      key,
      generation: steady,
      question,
      lines: shown.length,
      smooth: view.smooth,
      isLogX: view.isLogX,
      isLogY: view.isLogY,
      isRobust: view.isRobust,
      range,
      marks,
      colourOf: colourOfOne,
      colourOfTag,
      labelOfTag,
      problemsOf,
      onZoom,
    }),
    [
      key,
      steady,
      question,
      shown.length,
      view.smooth,
      view.isLogX,
      view.isLogY,
      view.isRobust,
      range,
      marks,
      colourOfOne,
      colourOfTag,
      labelOfTag,
      problemsOf,
      onZoom,
    ],
  );
}

/** The value of before as long as it says the same, so that nothing is made anew for it. */
function useSame<T>(value: T): T {
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text says all of the value
  return useMemo(() => value, [text]);
}

/** The value, but no more often than once in so long: files may grow many times a second. */
function useSteady<T>(value: T, milliseconds: number): T {
  const [steady, setSteady] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const set = () => {
      last.current = performance.now();
      setSteady(value);
    };
    const timer = setTimeout(set, Math.max(0, last.current + milliseconds - performance.now()));
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return steady;
}
