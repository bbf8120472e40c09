/** Filters tags, sorts them into sections, and finds metrics. */

import { METRIC, STORY_PREFIX, SYSTEM_PREFIX } from "../generated/vocabulary";
import type { Column } from "./types";

export interface Section {
  /** The part before the first slash; empty for tags without a slash. */
  prefix: string;
  tags: string[];
}

/** Return a filter that matches tags by substring or regular expression, ignoring case. */
export function makeFilter(search: string): (tag: string) => boolean {
  const text = search.toLowerCase();
  let pattern: RegExp | null = null;
  try {
    pattern = new RegExp(search, "i");
  } catch {
    // An incomplete pattern, while it is being typed, matches as text.
  }
  return (tag) => tag.toLowerCase().includes(text) || pattern?.test(tag) === true;
}

/** Whether a tag is a system metric, whose steps count seconds. */
export function isSystem(tag: string): boolean {
  return tag.startsWith(SYSTEM_PREFIX);
}

/** Group tags into sections, both sorted by name, with system metrics last. */
export function makeSections(tags: readonly string[]): Section[] {
  const sections = new Map<string, string[]>();
  const order = new Intl.Collator("en", { numeric: true }).compare;
  for (const tag of [...tags].sort(order)) {
    const slash = tag.indexOf("/");
    const prefix = slash > 0 ? tag.slice(0, slash) : "";
    const section = sections.get(prefix);
    if (section) section.push(tag);
    else sections.set(prefix, [tag]);
  }
  return Array.from(sections, ([prefix, own]) => ({ prefix, tags: own })).sort(
    (a, b) =>
      Number(isSystem(`${a.prefix}/`)) - Number(isSystem(`${b.prefix}/`)) ||
      order(a.prefix, b.prefix),
  );
}

/** Whether a tag contains data that a tracked run recorded about itself, such as its code. */
export function isStory(tag: string): boolean {
  return tag.startsWith(STORY_PREFIX);
}

/** Return the columns that runs can be compared by: statistics except system metrics. */
export function findMetrics(columns: readonly Column[]): Column[] {
  return columns.filter((column) => column.kind === "statistic" && !isSystem(column.name));
}

const LIKELY_METRIC = new RegExp(METRIC);

/** Return the metric with this name, or else the most likely one. Reports choose the same way. */
export function chooseMetric<T>(
  metrics: readonly T[],
  nameOf: (metric: T) => string,
  name: string,
): T | undefined {
  return (
    metrics.find((metric) => nameOf(metric) === name) ??
    metrics.find((metric) => LIKELY_METRIC.test(nameOf(metric))) ??
    metrics[0]
  );
}
