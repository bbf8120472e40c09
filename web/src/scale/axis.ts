/** Where a value lies on an axis from 0 to 1: numbers, also logarithmic, and names. */

import { compareCells } from "../data/rows";
import type { Cell } from "../data/types";
import { formatCell } from "../format/number";
import { makeTicks, nameTicks } from "./ticks";

export interface Axis {
  place: (cell: Cell) => number | null;
  ticks: { at: number; label: string }[];
}

function isNumber(cell: Cell): cell is number {
  return typeof cell === "number" && Number.isFinite(cell);
}

/** Whether values spread over so many sizes that a logarithmic axis shows them better. */
export function isSpread(numbers: readonly number[]): boolean {
  const least = Math.min(...numbers);
  return least > 0 && Math.max(...numbers) / least >= 100;
}

const [FEW, TICKS, APART] = [6, 5, 0.08];

/** The values themselves where a few of them come again and again, otherwise round numbers. */
function chooseTicks(numbers: readonly number[], isLog: boolean) {
  const values = [...new Set(numbers)].sort((one, other) => one - other);
  const [low = 0, high = 0] = [values[0], values.at(-1)];
  const move = isLog ? Math.log10 : (value: number) => value;
  const isApart = values.every((value, place) => {
    const before = values[place - 1];
    return before === undefined || move(value) - move(before) > APART * (move(high) - move(low));
  });
  if (values.length <= FEW && values.length < numbers.length && isApart) {
    return values.map((value) => ({ value, label: formatCell(value) }));
  }
  const measure = isLog ? "log" : "linear";
  const ticks = makeTicks(low, high, TICKS, measure);
  const labels = nameTicks(ticks, measure);
  return ticks.map((value, place) => ({ value, label: labels[place] ?? "" }));
}

/** An axis for some values: of numbers if all are, otherwise one place for each name. */
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
      place: (cell) => {
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
  const places = new Map(
    names.map((cell, number) => [
      String(cell),
      names.length === 1 ? 0.5 : number / (names.length - 1),
    ]),
  );
  return {
    place: (cell) => (cell === null ? null : (places.get(String(cell)) ?? null)),
    ticks: names
      .slice(0, 40)
      .map((cell) => ({ at: places.get(String(cell)) ?? 0, label: formatCell(cell) })),
  };
}

/**
 * A colour between violet and yellow, which people who do not see red and green see, too;
 * neither end is so dark or so bright that it is lost on dark or on light paper.
 */
export function shade(share: number): string {
  const stops = [
    [122, 70, 190],
    [62, 108, 190],
    [38, 148, 150],
    [96, 178, 90],
    [222, 172, 28],
  ];
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const [left = [], right = []] = [stops[Math.floor(place)], stops[Math.ceil(place)]];
  const parts = left.map((part, number) =>
    Math.round(part + ((right[number] ?? part) - part) * (place % 1)),
  );
  return `rgb(${parts.join(" ")})`;
}
