/** Ticks of an axis and their labels. */

import { formatNumber } from "../format/number";

/** Scale of an axis: numbers, powers of ten, time of day, or elapsed seconds. */
export type Measure = "linear" | "log" | "time" | "seconds";

// Common intervals in seconds, up to a week.
const SPANS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
  604800,
];

/** Return about `count` round numbers within a range. */
export function makeTicks(low: number, high: number, count: number, measure: Measure): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [low];
  if (measure === "log") return logTicks(low, high, count);
  const least = (high - low) / Math.max(count, 1);
  let step = roundUp(least);
  if (measure !== "linear" && least > 0.5) {
    step = SPANS.find((span) => span >= least) ?? 86400 * roundUp(least / 86400);
  }
  // Days begin at midnight in the browser's time zone, not in UTC.
  const shift = measure === "time" ? new Date(low * 1000).getTimezoneOffset() * 60 : 0;
  const ticks: number[] = [];
  const first = Math.ceil((low - shift) / step);
  const last = Math.floor((high - shift) / step);
  for (let index = first; index <= last && ticks.length < 1000; index++) {
    ticks.push(tidy(index * step, step) + shift);
  }
  return ticks;
}

function roundUp(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const digit = [1, 2, 5, 10].find((candidate) => candidate * power >= least * (1 - 1e-9)) ?? 10;
  return digit * power;
}

/** Round 0.30000000000000004 to 0.3. */
function tidy(value: number, step: number): number {
  const digits = Math.max(0, 1 - Math.floor(Math.log10(step)));
  return digits > 20 ? value : Number(value.toFixed(digits));
}

function logTicks(low: number, high: number, count: number): number[] {
  if (low <= 0) return [];
  const decades = Math.log10(high / low);
  if (decades < 1) return makeTicks(low, high, count, "linear");
  const digits = decades * 3 <= count ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / Math.max(count, 1)));
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % every !== 0) continue;
    for (const digit of digits) {
      const tick = Number(`${digit}e${power}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

/** Return the tick labels. */
export function nameTicks(ticks: readonly number[], measure: Measure): string[] {
  const step = ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : 0;
  if (measure === "time") return ticks.map((tick) => nameTime(tick, step));
  if (measure === "seconds") return ticks.map((tick) => nameSeconds(tick));
  return ticks.map((tick) => nameNumber(tick, step));
}

/** Format with enough digits to distinguish adjacent ticks: step 1,000,000,001 is not 1G. */
function nameNumber(value: number, step: number): string {
  const size = Math.abs(value);
  const needed = step > 0 && size > 0 ? Math.ceil(Math.log10(size / step)) + 1 : 0;
  const digits = Math.min(15, Math.max(6, needed));
  if (size >= 1e15) return value.toExponential(0);
  for (const [power, letter] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (size >= power * (power === 1e3 ? 10 : 1)) {
      return `${Number((value / power).toPrecision(digits))}${letter}`;
    }
  }
  return size !== 0 && size < 1e-3
    ? String(Number(value.toPrecision(digits)).toExponential())
    : formatNumber(value, digits);
}

const pad = (number: number) => String(number).padStart(2, "0");

function nameTime(seconds: number, step: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return formatNumber(seconds);
  if (step >= 86400)
    return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const minutes = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  if (step && step < 1)
    return `${minutes}:${pad(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
  return step && step < 60 ? `${minutes}:${pad(date.getSeconds())}` : minutes;
}

function nameSeconds(seconds: number): string {
  const size = Math.abs(seconds);
  if (size >= 3600) return `${Number((seconds / 3600).toFixed(2))} h`;
  if (size >= 60) return `${Number((seconds / 60).toFixed(2))} min`;
  return size ? `${Number(seconds.toPrecision(4))} s` : "0";
}
