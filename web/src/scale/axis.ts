/** Positions on an axis from 0 to 1, for numbers (linear or logarithmic) and names. */

import { compareCells } from "../data/rows";
import type { Cell } from "../data/types";
import { formatCell } from "../format/number";
import { makeTicks, nameTicks } from "./ticks";

export interface Axis {
  /** Position of a cell from 0 to 1; null if it has none. */
  position: (cell: Cell) => number | null;
  ticks: { at: number; label: string }[];
}

function isNumber(cell: Cell): cell is number {
  return typeof cell === "number" && Number.isFinite(cell);
}

/** Whether values span so many orders of magnitude that a log axis shows them better. */
export function isSpread(numbers: readonly number[]): boolean {
  const lowest = Math.min(...numbers);
  return lowest > 0 && Math.max(...numbers) / lowest >= 100;
}

const [FEW, TICKS, APART] = [6, 5, 0.08];

/** Place ticks at the values if there are a few recurring ones, otherwise at round numbers. */
function chooseTicks(numbers: readonly number[], isLog: boolean) {
  const values = [...new Set(numbers)].sort((a, b) => a - b);
  const [low = 0, high = 0] = [values[0], values.at(-1)];
  const move = isLog ? Math.log10 : (value: number) => value;
  const isApart = values.every((value, index) => {
    const before = values[index - 1];
    return before === undefined || move(value) - move(before) > APART * (move(high) - move(low));
  });
  if (values.length <= FEW && values.length < numbers.length && isApart) {
    return values.map((value) => ({ value, label: formatCell(value) }));
  }
  const measure = isLog ? "log" : "linear";
  const ticks = makeTicks(low, high, TICKS, measure);
  const labels = nameTicks(ticks, measure);
  return ticks.map((value, index) => ({ value, label: labels[index] ?? "" }));
}

/** Make an axis for cells: numeric if all are numbers, otherwise one position per name. */
export function makeAxis(cells: readonly Cell[], isLogarithmic?: boolean): Axis {
  const known = cells.filter((cell) => cell !== null && !Number.isNaN(cell));
  const numbers = known.filter(isNumber);
  if (numbers.length === known.length && new Set(numbers).size > 1) {
    const isLog = isLogarithmic ?? isSpread(numbers);
    const move = isLog ? Math.log10 : (value: number) => value;
    const usable = isLog ? numbers.filter((value) => value > 0) : numbers;
    const [low, high] = [Math.min(...usable), Math.max(...usable)];
    const [start, end] = [move(low), move(high)];
    return {
      position: (cell) => {
        if (!isNumber(cell) || (isLog && cell <= 0)) return null;
        return end === start ? 0.5 : (move(cell) - start) / (end - start);
      },
      ticks: chooseTicks(usable, isLog).map(({ value, label }) => ({
        at: end === start ? 0.5 : (move(value) - start) / (end - start),
        label,
      })),
    };
  }
  const names = [...new Map(known.map((cell) => [String(cell), cell])).values()].sort((a, b) =>
    compareCells(a, b),
  );
  const positions = new Map(
    names.map((cell, number) => [
      String(cell),
      names.length === 1 ? 0.5 : number / (names.length - 1),
    ]),
  );
  return {
    position: (cell) => (cell === null ? null : (positions.get(String(cell)) ?? null)),
    ticks: names
      .slice(0, 40)
      .map((cell) => ({ at: positions.get(String(cell)) ?? 0, label: formatCell(cell) })),
  };
}

/**
 * Return a color between violet and yellow. The scale works for red-green color blindness
 * and on light and dark backgrounds.
 */
export function shade(share: number): string {
  const stops = [
    [122, 70, 190],
    [62, 108, 190],
    [38, 148, 150],
    [96, 178, 90],
    [222, 172, 28],
  ];
  const position = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const [left = [], right = []] = [stops[Math.floor(position)], stops[Math.ceil(position)]];
  const parts = left.map((part, number) =>
    Math.round(part + ((right[number] ?? part) - part) * (position % 1)),
  );
  return `rgb(${parts.join(" ")})`;
}
