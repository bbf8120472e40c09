/** Which runs are looked at, in which groups and colours. */

import { createContext, useContext, useMemo } from "react";
import { sendJson } from "../data/api";
import { useLoaded } from "../data/loading";
import type { RunTable } from "../data/types";
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
  /** What is wrong with the condition. */
  whereError: Error | null;
}

export const ChoiceContext = createContext<Choice | null>(null);

export function useChoice(): Choice {
  const choice = useContext(ChoiceContext);
  if (choice === null) throw new Error("there is no choice of runs here");
  return choice;
}

/** The group of each run: an hparam's value, the folder, or what a pattern finds. */
function makeGroups(table: RunTable, by: string): (run: string) => string {
  if (!by) return (run) => run;
  if (by === "parent") {
    return (run) => (run.includes("/") ? run.slice(0, run.lastIndexOf("/")) : ".");
  }
  const column = table.columns.find((one) => one.kind === "hparam" && one.name === by);
  if (column) {
    const names = new Map(
      table.runs.map((run, row) => [run, `${by}=${column.cells[row] ?? "none"}`]),
    );
    return (run) => names.get(run) ?? "";
  }
  let pattern: RegExp;
  try {
    // Python spells a named group (?P<name>...).
    pattern = new RegExp(by.replaceAll("(?P<", "(?<"));
  } catch {
    return (run) => run;
  }
  return (run) => {
    const found = pattern.exec(run);
    if (!found) return "";
    const named = Object.entries(found.groups ?? {});
    if (named.length) return named.map(([name, value]) => `${name}=${value}`).join(", ");
    return found[1] ?? found[0];
  };
}

export function useChoose(table: RunTable, view: View, generation: number): Choice {
  const where = useLoaded<string[] | null>(view.where, generation, async (signal) => {
    if (!view.where) return null;
    const asked = { condition: view.where };
    return (await sendJson<{ runs: string[] }>("/api/where", asked, signal)).runs;
  });
  return useMemo(() => {
    const kept = view.where && where.value ? new Set(where.value) : null;
    const search = view.search.toLowerCase();
    const listed = table.runs.filter(
      (run) => (!kept || kept.has(run)) && run.toLowerCase().includes(search),
    );
    const off = new Set(view.off);
    const shown = listed.filter((run) => !off.has(run));
    const groupOf = makeGroups(table, view.by);
    const groups = [...new Set(listed.map(groupOf).filter(Boolean))];
    const runColours = assignColours(table.runs);
    const groupColours = assignColours([...new Set(table.runs.map(groupOf))]);
    const byGroup = view.by !== "" && (view.colours === "group" || view.isFolded);
    const colourOf = (name: string) =>
      (byGroup ? (groupColours.get(name) ?? groupColours.get(groupOf(name))) : undefined) ??
      runColours.get(name) ??
      "#7a8290";
    const whereError = view.where ? where.error : null;
    return { generation, table, listed, shown, groupOf, groups, colourOf, whereError };
  }, [table, view, where, generation]);
}
