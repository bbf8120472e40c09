/** The colour of a run or a group: by its name, so that it stays when others come and go. */

// Eleven that most people tell apart, on light and on dark.
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
  for (let place = 0; place < text.length; place++) {
    value = Math.imul(value ^ text.charCodeAt(place), 16777619);
  }
  return value >>> 0;
}

/** A colour for each name; neighbours differ as long as there are colours left. */
export function assignColours(names: readonly string[]): Map<string, string> {
  const colours = new Map<string, string>();
  const used = new Map<number, number>();
  for (const name of names) {
    let place = hash(name) % HUES.length;
    const least = Math.min(...HUES.map((_, number) => used.get(number) ?? 0));
    while ((used.get(place) ?? 0) > least) place = (place + 1) % HUES.length;
    used.set(place, (used.get(place) ?? 0) + 1);
    colours.set(name, HUES[place] ?? HUES[0]);
  }
  return colours;
}

/** A colour with less of it, for bands and for what lies in the background. */
export function fade(colour: string, share: number): string {
  const alpha = Math.round(share * 255)
    .toString(16)
    .padStart(2, "0");
  return `${colour}${alpha}`;
}
