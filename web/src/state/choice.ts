/** Which runs are looked at, in which groups and colours. */

import { createContext, useContext, useDeferredValue, useMemo } from "react";
import { sendJson } from "../data/api";
import { useLoaded, usePaused } from "../data/loading";
import { findGrouping } from "../data/rows";
import type { RunTable } from "../data/types";
import { type Labels, labelNames } from "../format/labels";
import { spellCell } from "../format/number";
import { assignColours } from "../scale/colours";
import type { View } from "./view";

export interface Choice {
  generation: number;
  table: RunTable;
  /** The runs that the filters leave, and of these the ones that are not switched off. */
  listed: string[];
  shown: string[];
  groupOf: (run: string) => string;
  groups: string[];
  colourOf: (name: string) => string;
  /** Labels of all runs and of all groups that fit a narrow column if possible. */
  labels: Labels;
  groupLabels: Labels;
  /** Whose colour a run has: its own, or that of its group. */
  colouredAs: (run: string) => string;
  /** What is wrong with the condition, and with what makes a group. */
  whereError: Error | null;
  byError: string;
}

/** The characters that a label may have: what the list of runs has room for. */
const LABEL = 28;

export const ChoiceContext = createContext<Choice | null>(null);

export function useChoice(): Choice {
  const choice = useContext(ChoiceContext);
  if (choice === null) throw new Error("there is no choice of runs here");
  return choice;
}

interface Groups {
  groupOf: (run: string) => string;
  /** What is wrong with what was asked for. */
  error: string;
}

/** The group of each run by the folder or a column; null for what only the server can tell. */
export function knowGroups(table: RunTable, by: string): Groups["groupOf"] | null {
  if (!by) return (run) => run;
  if (by === "parent") return (run) => run.slice(0, Math.max(0, run.lastIndexOf("/"))) || ".";
  const column = findGrouping(table.columns, by);
  if (!column) return null;
  const names = new Map(
    table.runs.map((run, row) => [run, `${by}=${spellCell(column.cells[row] ?? null)}`]),
  );
  return (run) => names.get(run) ?? "";
}

/** The group of each run; a pattern finds what it finds in a fold, or is refused in its words. */
function useGroups(table: RunTable, by: string, generation: number): Groups {
  const known = useMemo(() => knowGroups(table, by), [table, by]);
  const rested = usePaused(by, 300);
  const found = useLoaded(known ? null : rested || null, generation, async (signal) => {
    const { groups } = await sendJson("/api/groups", { by: rested }, signal);
    return new Map(groups.flatMap(({ name, runs }) => runs.map((run) => [run, name])));
  });
  return useMemo(() => {
    if (known) return { groupOf: known, error: "" };
    const names = found.error ? null : found.value;
    return { groupOf: (run) => names?.get(run) ?? "", error: found.error?.message ?? "" };
  }, [known, found.value, found.error]);
}

export function useChoose(table: RunTable, view: View, generation: number): Choice {
  const where = useLoaded<string[] | null>(view.where, generation, async (signal) => {
    if (!view.where) return null;
    const asked = { condition: view.where };
    return (await sendJson("/api/where", asked, signal)).runs;
  });
  // Typing goes on while a long list is made.
  const search = useDeferredValue(view.search).toLowerCase();
  const kept = view.where ? where.value : null;
  const listed = useMemo(() => {
    const isKept = kept && new Set(kept);
    return table.runs.filter(
      (run) => (!isKept || isKept.has(run)) && run.toLowerCase().includes(search),
    );
  }, [table, kept, search]);
  const shown = useMemo(() => {
    const off = new Set(view.off);
    return listed.filter((run) => !off.has(run));
  }, [listed, view.off]);
  const { groupOf, error: byError } = useGroups(table, view.by, generation);
  const groups = useMemo(
    () => [...new Set(listed.map(groupOf).filter(Boolean))],
    [listed, groupOf],
  );
  const isByGroup = view.by !== "" && (view.colours === "group" || view.isFolded);
  const colours = useMemo(() => {
    const names = isByGroup ? [...new Set(table.runs.map(groupOf))] : table.runs;
    return new Map([...assignColours(names), ...Object.entries(view.painted)]);
  }, [table, groupOf, isByGroup, view.painted]);
  const labels = useMemo(() => labelNames(table.runs, LABEL), [table]);
  const groupLabels = useMemo(() => labelNames(groups, LABEL - 8, false), [groups]);
  const whereError = view.where ? where.error : null;
  return useMemo(() => {
    const colouredAs = isByGroup ? groupOf : (run: string) => run;
    const colourOf = (name: string) =>
      colours.get(name) ?? colours.get(colouredAs(name)) ?? "#7a8290";
    const wrong = { whereError, byError };
    const names = { labels, groupLabels };
    const runs = { table, listed, shown, groupOf, groups };
    return { generation, ...runs, colourOf, colouredAs, ...names, ...wrong };
  }, [
    generation,
    table,
    listed,
    shown,
    groupOf,
    groups,
    colours,
    isByGroup,
    labels,
    groupLabels,
    whereError,
    byError,
  ]);
}
