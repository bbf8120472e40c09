/** Short, distinct labels for many names, by the same rules as runfold/_labels.py. */

/** A number like 1e-3, a word like `seed` or `v1.2`, or any other character. */
const TOKEN =
  /[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+(?![\p{L}\p{N}])|[\p{L}\p{N}]+(?:\.[\p{L}\p{N}]+)*|./gsu;
/** Tokens of a name beyond this number are treated as one, because the comparison is quadratic. */
const MOST_TOKENS = 100;

export interface Labels {
  /** The common folder that the labels omit; empty if they include it. */
  folder: string;
  of: (name: string) => string;
}

/**
 * Return a distinct label for each name, at most `width` characters long if possible. The
 * common folder is dropped first, then common words. Words that differ are always kept, so
 * a label can be longer than `width`.
 */
export function labelNames(names: Iterable<string>, width: number, dropFolder = true): Labels {
  const all = [...new Set(names)];
  const longest = (texts: readonly string[]) =>
    texts.reduce((most, text) => Math.max(most, text.length), 0);
  if (longest(all) <= width) return { folder: "", of: (name) => name };
  const folder = dropFolder ? commonFolder(all) : "";
  const whole = all.map((name) => name.slice(folder.length));
  let shown = whole;
  if (longest(whole) > width) {
    const short = shortenCommon(whole, longest(whole) - width);
    // Shortening a name that fits is useless if other labels are too long anyway.
    const fits = longest(short) > width ? width : 0;
    const isUseful = (label: string) => /[\p{L}\p{N}]/u.test(label);
    shown = short.map((label, row) => {
      const text = whole[row] as string;
      return text.length > fits && isUseful(label) ? label : text;
    });
  }
  const labels = new Map(undoCollisions(shown, whole).map((label, row) => [all[row], label]));
  return { folder, of: (name) => labels.get(name) ?? name };
}

function commonFolder(names: readonly string[]): string {
  const sorted = [...names].sort();
  const [first, last] = [sorted[0] ?? "", sorted.at(-1) ?? ""];
  let size = 0;
  // The last part of a single name is kept.
  while (size < first.length - 1 && first[size] === last[size]) size++;
  return first.slice(0, size && first.lastIndexOf("/", size - 1) + 1);
}

function shortenCommon(names: readonly string[], excess: number): string[] {
  const split = names.map(splitName);
  const common = commonTokens([...split].sort(compareTokens));
  const positions = split.map((tokens) => findTokens(common, tokens));
  const ends = boundaries(common, positions);
  const parts = ends.slice(1).map((end, number) => common.slice(ends[number], end));
  const texts = shortenParts(parts, excess);
  return split.map((tokens, row) => {
    const left = [...tokens];
    for (const [number, text] of texts.entries()) {
      const [start, end] = [ends[number] as number, ends[number + 1] as number];
      for (let at = start; at < end; at++)
        left[(positions[row] as number[])[at] as number] = at === start ? text : "";
    }
    return left.join("").replace(/…+/g, "…");
  });
}

function splitName(name: string): string[] {
  const tokens = name.match(TOKEN) ?? [];
  if (tokens.length <= MOST_TOKENS) return [...tokens];
  return [...tokens.slice(0, MOST_TOKENS), tokens.slice(MOST_TOKENS).join("")];
}

/** Compare token lists. Sorting makes the labels independent of the order of the names. */
function compareTokens(a: readonly string[], b: readonly string[]): number {
  for (const [at, token] of a.entries()) {
    const other = b[at];
    if (other === undefined || token > other) return 1;
    if (token < other) return -1;
  }
  return a.length - b.length;
}

/** Return the tokens that all names have in this order, with as many letters as possible. */
function commonTokens(names: readonly string[][]): string[] {
  let common = names[0] ?? [];
  for (const tokens of names) {
    if (findTokens(common, tokens).length < common.length) common = longestCommon(common, tokens);
  }
  return common;
}

/** Return the positions of the common tokens; fewer if the name lacks some. */
function findTokens(common: readonly string[], tokens: readonly string[]): number[] {
  const positions: number[] = [];
  for (const [position, token] of tokens.entries()) {
    if (positions.length < common.length && token === common[positions.length])
      positions.push(position);
  }
  return positions;
}

/** Return the longest common subsequence, measured in letters. */
function longestCommon(a: readonly string[], b: readonly string[]): string[] {
  const best = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  const at = (i: number, j: number) => best[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = best[i] as number[];
      if (a[i] === b[j]) row[j] = at(i + 1, j + 1) + (a[i] as string).length;
      else row[j] = Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const result: string[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      result.push(a[i] as string);
      i++;
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return result;
}

/** Return where the common tokens split into parts that are contiguous in every name. */
function boundaries(common: readonly string[], positions: readonly number[][]): number[] {
  const ends = new Set([0, common.length]);
  for (const [at, token] of common.entries()) if (token === "/") ends.add(at + 1);
  for (const row of positions) {
    for (let at = 1; at < row.length; at++)
      if (row[at] !== (row[at - 1] as number) + 1) ends.add(at);
  }
  return [...ends].sort((a, b) => a - b);
}

/** Shorten parts by `excess` letters in total, dropping words from the start of the longest first. */
function shortenParts(parts: readonly string[][], excess: number): string[] {
  const texts = parts.map((part) => part.join(""));
  const lengths = texts.map((text) => text.length);
  const order = [...parts.keys()].sort((a, b) => (lengths[b] as number) - (lengths[a] as number));
  for (const least of [3, 0]) {
    for (const number of order) {
      const part = parts[number] as string[];
      // The levels of a path stay visible.
      const stays = Math.max(least, part.at(-1) === "/" ? 1 : 0);
      for (let start = 1; start <= part.length - stays && excess > 0; start++) {
        const end = `…${part.slice(start).join("")}`;
        const saved = (texts[number] as string).length - end.length;
        if (saved <= 0) continue;
        excess -= saved;
        texts[number] = end;
      }
    }
  }
  return texts;
}

/** Return the labels, with the whole name in place of labels that are not unique. */
function undoCollisions(shown: readonly string[], whole: readonly string[]): string[] {
  for (let labels = [...shown]; ; ) {
    const counts = new Map<string, number>();
    for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
    if (counts.size === labels.length) return labels;
    labels = labels.map((label, row) => (counts.get(label) === 1 ? label : (whole[row] as string)));
  }
}
