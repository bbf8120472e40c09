/** What a run says of itself, and in what two runs differ. */

import { formatBytes, formatNumber, formatStep, plural } from "../format/number";
import type { PluginValues } from "./types";

export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

export interface Problem {
  run: string;
  file: string;
  offset: number | null;
  code: string;
  message: string;
}

export interface Story {
  name: string;
  status: {
    state: string;
    started: number | null;
    ended: number | null;
    exit: number | null;
    traceback: string | null;
    heartbeat: number | null;
  };
  config: Record<string, Value>;
  code: {
    commit: string;
    branch: string | null;
    remote: string | null;
    is_dirty: boolean;
    script: string;
    masked: string[];
    left_out: Record<string, string>;
    notes: string[];
  } | null;
  diff: string;
  files: Record<string, string>;
  command: Value;
  host: Record<string, Value>;
  packages: Record<string, Value>;
  environment: Record<string, Value>;
  artifacts: { name: string; size: number; sha256: string }[];
  marks: { step: number | string; wall_time: number; text: string }[];
  problems: Problem[];
  tags: Record<string, string[]>;
  /** How many more tags of a kind there are; not in older reports. */
  tagsLeftOut?: Record<string, number>;
  /** Not in older reports. */
  plugins?: (PluginValues & { tag: string })[];
  hidden: number;
  points: number;
}

export function spellPlugin({ plugin, kind, values, size }: PluginValues): string {
  const reading = kind === "unknown" ? "not decoded" : "listed as tensors";
  return `${plugin}: ${plural(values, "value")}, ${formatBytes(size)}, ${reading}`;
}

export interface Output {
  text: string;
  next: number;
  total: number;
}

export interface DiffRow {
  name: string;
  a?: Value;
  b?: Value;
  isSame: boolean;
}

/** Step and value of the last point; NaN and infinity are words. */
type Final = [number | string, number | string] | null;

export interface Difference {
  sections: { title: string; rows: DiffRow[] }[];
  code: string;
  finals: { tag: string; a: Final; b: Final; isSame: boolean }[];
}

export function spellFinal(final: Final): string {
  return final ? `${formatNumber(Number(final[1]))} at step ${formatStep(final[0])}` : "";
}

/** A value in one line; nested ones as JSON. */
export function spell(value: Value | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The command as a shell takes it. */
export function spellCommand(command: Value): string {
  const isObject = typeof command === "object" && command !== null && !Array.isArray(command);
  const words = isObject ? (command.orig_argv ?? command.argv) : command;
  if (!Array.isArray(words)) return words ? spell(words) : "";
  return words.map((word) => quote(spell(word))).join(" ");
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** What a machine says of itself; memory as people count it. */
export function spellHost(host: Record<string, Value>): [string, string][] {
  return flatten(host).map(([name, value]) => {
    const isSize = /(^|[._])memory$/.test(name) && typeof value === "number";
    return [name, isSize ? formatBytes(value) : spell(value)];
  });
}

/** Nested settings by dotted names. */
export function flatten(settings: Record<string, Value>, above = ""): [string, Value][] {
  return Object.entries(settings).flatMap(([name, value]): [string, Value][] => {
    const whole = above ? `${above}.${name}` : name;
    const isNested =
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      Object.keys(value).length > 0;
    return isNested ? flatten(value as Record<string, Value>, whole) : [[whole, value]];
  });
}

export type LineKind = "added" | "removed" | "place" | "file" | "same";

/** What each line of a unified diff is. */
export function readDiff(text: string): { kind: LineKind; text: string }[] {
  return text.split("\n").map((line) => {
    let kind: LineKind = "same";
    if (/^(diff |index |\+\+\+ |--- |new file|deleted file)/.test(line)) kind = "file";
    else if (line.startsWith("@@")) kind = "place";
    else if (line.startsWith("+")) kind = "added";
    else if (line.startsWith("-")) kind = "removed";
    return { kind, text: line };
  });
}
