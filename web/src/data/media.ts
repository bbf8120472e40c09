/** Text entries, images and audio clips of a tag. */

import type {
  TextEntry as AnyText,
  Clip as ClipEntry,
  DrawnBoxes,
  Mask,
  Picture as PictureEntry,
} from "../generated/endpoints";
import type { Step } from "./types";

/** Fields that all entries have. */
export interface EntryBase {
  run: string;
  step: Step;
  wallTime: number;
}

export type TextValue = string | TextValue[];

export type TextEntry = Omit<AnyText, "step" | "text"> & EntryBase & { text: TextValue };

export type Boxes = DrawnBoxes;
export type Clip = Omit<ClipEntry, "step"> & EntryBase;
export type Picture = Omit<PictureEntry, "step"> & EntryBase;

/** Read a step from JSON, Arrow or a URL: a number if that is exact, otherwise a bigint. */
export function readStep(value: Step | string): Step {
  return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
}

/** Return the latest entry at or before a step; without a step, the latest of all. */
export function latest<T extends EntryBase>(
  entries: readonly T[],
  step: Step | null,
): T | undefined {
  let last: T | undefined;
  for (const entry of entries) {
    if (step !== null && entry.step > step) continue;
    if (!last || entry.step >= last.step) last = entry;
  }
  return last;
}

/** Group entries by run. */
export function byRun<T extends EntryBase>(entries: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const entry of entries) {
    const group = groups.get(entry.run);
    if (group) group.push(entry);
    else groups.set(entry.run, [entry]);
  }
  return groups;
}

/** Return the distinct steps in order. */
export function sortSteps(steps: Iterable<Step>): Step[] {
  return [...new Set(steps)].sort((a, b) => (a < b ? -1 : 1));
}

/** Return the distinct steps of all entries in order. */
export function stepsOf(entries: readonly EntryBase[]): Step[] {
  return sortSteps(entries.map((entry) => entry.step));
}

/** Return the indices of the boxes with a visible label and at least the threshold score. */
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

/**
 * Fill in the pixels of a run-length encoded mask. The counts of pixels outside and inside the
 * mask alternate, column by column.
 */
export function fillMask(
  mask: Mask,
  color: readonly [number, number, number],
  pixels: Uint8ClampedArray,
): void {
  const [height, width] = mask.size;
  let start = 0;
  for (const [turn, count] of mask.counts.entries()) {
    const end = Math.min(start + count, width * height);
    if (turn % 2 === 1) {
      for (let at = start; at < end; at++) {
        const pixel = 4 * ((at % height) * width + Math.floor(at / height));
        pixels.set([...color, 110], pixel);
      }
    }
    start = end;
  }
}

/** Return the red, green and blue parts of a color such as #ff4040. */
export function readColor(color: string): [number, number, number] {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(color);
  if (!match) return [255, 64, 64];
  return [match[1], match[2], match[3]].map((part) => Number.parseInt(part ?? "0", 16)) as [
    number,
    number,
    number,
  ];
}
