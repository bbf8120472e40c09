/** The selected runs with their groups, colors and labels. */

import { createContext, useContext, useDeferredValue, useMemo } from "react";
import { sendJson } from "../data/api";
import { useDebounced, useLoaded } from "../data/loading";
import { findGrouping } from "../data/rows";
import type { RunTable } from "../data/types";
import { type Labels, labelNames } from "../format/labels";
import { spellCell } from "../format/number";
import { assignColors } from "../scale/colors";
import type { View } from "./view";

export interface Choice {
  generation: number;
  table: RunTable;
  /** Runs that match the filters. */
  listed: string[];
  /** Listed runs that are selected. */
  shown: string[];
  groupOf: (run: string) => string;
  groups: string[];
  colorOf: (name: string) => string;
  /** Labels of runs and groups that fit a narrow column if possible. */
  labels: Labels;
  groupLabels: Labels;
  /** The name that determines a run's color: its own, or its group's. */
  coloredAs: (run: string) => string;
  /** Error in the condition. */
  whereError: Error | null;
  /** Error in the grouping; empty if there is none. */
  byError: string;
}

/** Label width in characters that fits the list of runs. */
const LABEL = 28;

export const ChoiceContext = createContext<Choice | null>(null);

export function useChoice(): Choice {
  const choice = useContext(ChoiceContext);
  if (choice === null) throw new Error("useChoice must be called within a ChoiceContext");
  return choice;
}

interface Groups {
  groupOf: (run: string) => string;
  /** Error message; empty if there is none. */
  error: string;
}

/** Return the groups by folder or column, or null if only the server can compute them. */
export function groupLocally(table: RunTable, by: string): Groups["groupOf"] | null {
  if (!by) return (run) => run;
  if (by === "parent") return (run) => run.slice(0, Math.max(0, run.lastIndexOf("/"))) || ".";
  const column = findGrouping(table.columns, by);
  if (!column) return null;
  const names = new Map(
    table.runs.map((run, row) => [run, `${by}=${spellCell(column.cells[row] ?? null)}`]),
  );
  return (run) => names.get(run) ?? "";
}

/** Return the group of each run. The server groups by pattern, with the same rules as a fold. */
function useGroups(table: RunTable, by: string, generation: number): Groups {
  const local = useMemo(() => groupLocally(table, by), [table, by]);
  const debounced = useDebounced(by, 300);
  const loaded = useLoaded(local ? null : debounced || null, generation, async (signal) => {
    const { groups } = await sendJson("/api/groups", { by: debounced }, signal);
    return new Map(groups.flatMap(({ name, runs }) => runs.map((run) => [run, name])));
  });
  return useMemo(() => {
    if (local) return { groupOf: local, error: "" };
    const names = loaded.error ? null : loaded.value;
    return { groupOf: (run) => names?.get(run) ?? "", error: loaded.error?.message ?? "" };
  }, [local, loaded.value, loaded.error]);
}

export function useChoose(table: RunTable, view: View, generation: number): Choice {
  const where = useLoaded<string[] | null>(view.where, generation, async (signal) => {
    if (!view.where) return null;
    return (await sendJson("/api/where", { condition: view.where }, signal)).runs;
  });
  // Keeps typing responsive while a long list is filtered.
  const search = useDeferredValue(view.search).toLowerCase();
  const matching = view.where ? where.value : null;
  const listed = useMemo(() => {
    const matches = matching && new Set(matching);
    return table.runs.filter(
      (run) => (!matches || matches.has(run)) && run.toLowerCase().includes(search),
    );
  }, [table, matching, search]);
  const shown = useMemo(() => {
    const off = new Set(view.off);
    return listed.filter((run) => !off.has(run));
  }, [listed, view.off]);
  const { groupOf, error: byError } = useGroups(table, view.by, generation);
  const groups = useMemo(
    () => [...new Set(listed.map(groupOf).filter(Boolean))],
    [listed, groupOf],
  );
  const isByGroup = view.by !== "" && (view.colors === "group" || view.isFolded);
  const colors = useMemo(() => {
    const names = isByGroup ? [...new Set(table.runs.map(groupOf))] : table.runs;
    return new Map([...assignColors(names), ...Object.entries(view.painted)]);
  }, [table, groupOf, isByGroup, view.painted]);
  const labels = useMemo(() => labelNames(table.runs, LABEL), [table]);
  const groupLabels = useMemo(() => labelNames(groups, LABEL - 8, false), [groups]);
  const whereError = view.where ? where.error : null;
  return useMemo(() => {
    const coloredAs = isByGroup ? groupOf : (run: string) => run;
    const colorOf = (name: string) => colors.get(name) ?? colors.get(coloredAs(name)) ?? "#7a8290";
    const errors = { whereError, byError };
    const names = { labels, groupLabels };
    const runs = { table, listed, shown, groupOf, groups };
    return { generation, ...runs, colorOf, coloredAs, ...names, ...errors };
  }, [
    generation,
    table,
    listed,
    shown,
    groupOf,
    groups,
    colors,
    isByGroup,
    labels,
    groupLabels,
    whereError,
    byError,
  ]);
}
