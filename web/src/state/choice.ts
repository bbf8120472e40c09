/** Which runs are looked at, in which groups and colours. */

import { createContext, useContext, useDeferredValue, useMemo } from "react";
import { sendJson } from "../data/api";
import { useLoaded } from "../data/loading";
import { findGrouping } from "../data/rows";
import type { RunTable } from "../data/types";
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
  /** Whose colour a run has: its own, or that of its group. */
  colouredAs: (run: string) => string;
  /** What is wrong with the condition, and with what makes a group. */
  whereError: Error | null;
  byError: string;
}

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

/** The group of each run: a column's value, the folder, or what a pattern finds. */
function makeGroups(table: RunTable, by: string): Groups {
  if (!by) return { groupOf: (run) => run, error: "" };
  if (by === "parent") {
    const groupOf = (run: string) => run.slice(0, Math.max(0, run.lastIndexOf("/"))) || ".";
    return { groupOf, error: "" };
  }
  const column = findGrouping(table.columns, by);
  if (column) {
    const names = new Map(
      table.runs.map((run, row) => [run, `${by}=${spellCell(column.cells[row] ?? null)}`]),
    );
    return { groupOf: (run) => names.get(run) ?? "", error: "" };
  }
  let pattern: RegExp;
  try {
    // Python spells a named group (?P<name>...).
    pattern = new RegExp(by.replaceAll("(?P<", "(?<"));
  } catch {
    return { groupOf: () => "", error: "There is no such column, and it is no pattern." };
  }
  const groupOf = (run: string) => {
    const found = pattern.exec(run);
    if (!found) return "";
    const named = Object.entries(found.groups ?? {});
    if (named.length) return named.map(([name, value]) => `${name}=${value}`).join(",");
    return found[1] ?? found[0];
  };
  const error = "There is no such column, and as a pattern it is in no run's name.";
  return { groupOf, error: table.runs.some(groupOf) ? "" : error };
}

export function useChoose(table: RunTable, view: View, generation: number): Choice {
  const where = useLoaded<string[] | null>(view.where, generation, async (signal) => {
    if (!view.where) return null;
    const asked = { condition: view.where };
    return (await sendJson<{ runs: string[] }>("/api/where", asked, signal)).runs;
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
  const { groupOf, error: byError } = useMemo(() => makeGroups(table, view.by), [table, view.by]);
  const groups = useMemo(
    () => [...new Set(listed.map(groupOf).filter(Boolean))],
    [listed, groupOf],
  );
  const isByGroup = view.by !== "" && (view.colours === "group" || view.isFolded);
  const colours = useMemo(() => {
    const names = isByGroup ? [...new Set(table.runs.map(groupOf))] : table.runs;
    return new Map([...assignColours(names), ...Object.entries(view.painted)]);
  }, [table, groupOf, isByGroup, view.painted]);
  const whereError = view.where ? where.error : null;
  return useMemo(() => {
    const colouredAs = isByGroup ? groupOf : (run: string) => run;
    const colourOf = (name: string) =>
      colours.get(name) ?? colours.get(colouredAs(name)) ?? "#7a8290";
    const wrong = { whereError, byError };
    return { generation, table, listed, shown, groupOf, groups, colourOf, colouredAs, ...wrong };
  }, [generation, table, listed, shown, groupOf, groups, colours, isByGroup, whereError, byError]);
}
