/** Colors of runs and groups, chosen by name, so that they do not change when other runs do. */

// Eleven colors that are easy to distinguish on light and dark backgrounds.
const HUES = [
  "#3b7dd8",
  "#e0793a",
  "#3fa35b",
  "#c9485b",
  "#8a63c7",
  "#9a7148",
  "#d668a6",
  "#b3a125",
  "#2fa8b5",
  "#6b4fd1",
  "#4f8a10",
] as const;

function hash(text: string): number {
  let value = 2166136261;
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 16777619);
  }
  return value >>> 0;
}

/** Assign a color to each name; colors repeat only after all have been used. */
export function assignColors(names: readonly string[]): Map<string, string> {
  const colors = new Map<string, string>();
  const used = new Map<number, number>();
  for (const name of names) {
    let index = hash(name) % HUES.length;
    const fewest = Math.min(...HUES.map((_, number) => used.get(number) ?? 0));
    while ((used.get(index) ?? 0) > fewest) index = (index + 1) % HUES.length;
    used.set(index, (used.get(index) ?? 0) + 1);
    colors.set(name, HUES[index] ?? HUES[0]);
  }
  return colors;
}

/** Return a translucent color, for bands and for lines in the background. */
export function fade(color: string, share: number): string {
  const alpha = Math.round(share * 255)
    .toString(16)
    .padStart(2, "0");
  return `${color}${alpha}`;
}
