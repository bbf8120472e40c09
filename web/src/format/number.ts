/** Formats numbers, times and cells for display. */

import type { Cell, Step } from "../data/types";

export function formatNumber(value: number | bigint | null, digits = 4): string {
  if (value === null) return "";
  if (typeof value === "bigint") return value.toString();
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    return Number(value.toPrecision(digits)).toExponential();
  }
  return String(Number(value.toPrecision(digits)));
}

/** Format a step with all its digits; it can be a string from JSON. */
export function formatStep(step: Step | string): string {
  return BigInt(step).toLocaleString("en");
}

/** `1 point`, `2,000 points`. */
export function plural(count: number, what: string): string {
  return `${formatNumber(count)} ${what}${count === 1 ? "" : "s"}`;
}

export function formatDuration(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return "";
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Format a size in bytes, with all digits below 1 kB. */
export function formatBytes(count: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(count || 1) / 3)));
  return `${formatNumber(count / 1000 ** power, power ? 3 : 15)} ${units[power]}`;
}

/** Format a time in seconds since 1970 in the browser's time zone. */
export function formatTime(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return "";
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return formatNumber(seconds);
  const pad = (number: number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

export function formatCell(cell: Cell, name = ""): string {
  if (cell === null) return "";
  if (typeof cell === "number") {
    if (name === "start") return formatTime(cell);
    if (name === "duration") return formatDuration(cell);
    return formatNumber(cell);
  }
  return String(cell);
}

/** Format a cell in the name of a group as the server does: 1e-05, true. */
export function spellCell(cell: Cell): string {
  const isSmall = typeof cell === "number" && cell !== 0 && Math.abs(cell) < 1e-4;
  return isSmall ? cell.toExponential().replace(/-(\d)$/, "-0$1") : String(cell ?? "none");
}
