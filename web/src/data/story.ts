/** What a run says of itself, and in what two runs differ. */

import { formatBytes, formatNumber, formatStep, plural } from "../format/number";
import type { FinalRow, PluginValues } from "../generated/endpoints";
import type { Json } from "../generated/vocabulary";

export type Value = Json;

export function spellPlugin({ plugin, kind, values, size }: PluginValues): string {
  const reading = kind === "unknown" ? "not decoded" : "listed as tensors";
  return `${plugin}: ${plural(values, "value")}, ${formatBytes(size)}, ${reading}`;
}

type Final = FinalRow["a"];

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
