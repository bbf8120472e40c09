/** The tags that have a chart: which are shown, and under which heading. */

import { METRIC, STORY_PREFIX, SYSTEM_PREFIX } from "../generated/vocabulary";
import type { Column } from "./types";

export interface Section {
  /** What stands before the first slash, "" for tags without one. */
  prefix: string;
  tags: string[];
}

/** Whether a tag is looked for: by a part of it or by a regular expression, letters of any case. */
export function makeFilter(wanted: string): (tag: string) => boolean {
  const text = wanted.toLowerCase();
  let pattern: RegExp | null = null;
  try {
    pattern = new RegExp(wanted, "i");
  } catch {
    // Half a pattern, while it is being typed: a text then.
  }
  return (tag) => tag.toLowerCase().includes(text) || pattern?.test(tag) === true;
}

/** Whether a tag is of the load of a run's machine; the steps of these count seconds. */
export function isSystem(tag: string): boolean {
  return tag.startsWith(SYSTEM_PREFIX);
}

/** The tags in their sections; both in the order of their names, the machine's load last. */
export function makeSections(tags: readonly string[]): Section[] {
  const sections = new Map<string, string[]>();
  const order = new Intl.Collator("en", { numeric: true }).compare;
  for (const tag of [...tags].sort(order)) {
    const slash = tag.indexOf("/");
    const prefix = slash > 0 ? tag.slice(0, slash) : "";
    const before = sections.get(prefix);
    if (before) before.push(tag);
    else sections.set(prefix, [tag]);
  }
  return Array.from(sections, ([prefix, own]) => ({ prefix, tags: own })).sort(
    (a, b) =>
      Number(isSystem(`${a.prefix}/`)) - Number(isSystem(`${b.prefix}/`)) ||
      order(a.prefix, b.prefix),
  );
}

/** Whether a tag is what a tracked run records about itself. */
export function isStory(tag: string): boolean {
  return tag.startsWith(STORY_PREFIX);
}

/** The statistics of tags that people compare runs by. */
export function findMetrics(columns: readonly Column[]): Column[] {
  return columns.filter((column) => column.kind === "statistic" && !isSystem(column.name));
}

const GUESS = new RegExp(METRIC);

/** The one of a name, or else the one that is most likely meant; the same as a report chooses. */
export function chooseMetric<T>(
  metrics: readonly T[],
  nameOf: (metric: T) => string,
  wanted: string,
): T | undefined {
  return (
    metrics.find((one) => nameOf(one) === wanted) ??
    metrics.find((one) => GUESS.test(nameOf(one))) ??
    metrics[0]
  );
}
