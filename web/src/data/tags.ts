/** The tags that have a chart: which are shown, and under which heading. */

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

/** What a tracked run logs of its machine; the steps of these count seconds. */
export const SYSTEM = "system";

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
      Number(a.prefix === SYSTEM) - Number(b.prefix === SYSTEM) || order(a.prefix, b.prefix),
  );
}
