/** Texts, pictures and clips of a tag, as the server lists them. */

import type {
  TextEntry as AnyText,
  Clip as ClipEntry,
  DrawnBoxes,
  Mask,
  Picture as PictureEntry,
} from "../generated/endpoints";
import type { Step } from "./types";

export interface Place {
  run: string;
  step: Step;
  wallTime: number;
}

export type TextValue = string | TextValue[];

export type TextEntry = Omit<AnyText, "step" | "text"> & Place & { text: TextValue };

export type Boxes = DrawnBoxes;
export type Clip = Omit<ClipEntry, "step"> & Place;
export type Picture = Omit<PictureEntry, "step"> & Place;

/** A step as JSON, Arrow or an address has it; equal ones are the same, whatever they came as. */
export function readStep(sent: Step | string): Step {
  return Number.isSafeInteger(Number(sent)) ? Number(sent) : BigInt(sent);
}

/** The last step at or before one that is asked for; without a wish the last of all. */
export function latest<T extends Place>(entries: readonly T[], step: Step | null): T | undefined {
  let found: T | undefined;
  for (const entry of entries) {
    if (step !== null && entry.step > step) continue;
    if (!found || entry.step >= found.step) found = entry;
  }
  return found;
}

/** The entries of each run. */
export function byRun<T extends Place>(entries: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const entry of entries) {
    const own = found.get(entry.run);
    if (own) own.push(entry);
    else found.set(entry.run, [entry]);
  }
  return found;
}

/** Each step once, in order. */
export function sortSteps(steps: Iterable<Step>): Step[] {
  return [...new Set(steps)].sort((one, other) => (one < other ? -1 : 1));
}

/** All steps that any entry has, in order. */
export function stepsOf(entries: readonly Place[]): Step[] {
  return sortSteps(entries.map((entry) => entry.step));
}

/** Which boxes are shown: those of the labels that are on, with at least that score. */
export function chooseBoxes(
  boxes: Boxes,
  threshold: number,
  isLabelOff: (label: string) => boolean,
): number[] {
  return boxes.boxes.flatMap((_, number) => {
    const score = boxes.scores?.[number];
    const label = boxes.labels?.[number];
    const isLow = typeof score === "number" && score < threshold;
    return isLow || (label !== undefined && isLabelOff(label)) ? [] : [number];
  });
}

/** The pixels of a mask: runs outside and inside by turns, column by column. */
export function fillMask(
  mask: Mask,
  colour: readonly [number, number, number],
  pixels: Uint8ClampedArray,
): void {
  const [height, width] = mask.size;
  let place = 0;
  for (const [turn, count] of mask.counts.entries()) {
    const end = Math.min(place + count, width * height);
    if (turn % 2 === 1) {
      for (let at = place; at < end; at++) {
        const pixel = 4 * ((at % height) * width + Math.floor(at / height));
        pixels.set([...colour, 110], pixel);
      }
    }
    place = end;
  }
}

/** The parts of a colour such as #ff4040. */
export function readColour(colour: string): [number, number, number] {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(colour);
  if (!found) return [255, 64, 64];
  return [found[1], found[2], found[3]].map((part) => Number.parseInt(part ?? "0", 16)) as [
    number,
    number,
    number,
  ];
}
