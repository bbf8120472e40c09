/** Formats the data that a tracked run records about itself. */

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

/** Return a value in one line: text unchanged, everything else as JSON. */
export function spell(value: Value | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Return the command quoted for a shell. */
export function spellCommand(command: Value): string {
  const isObject = typeof command === "object" && command !== null && !Array.isArray(command);
  const words = isObject ? (command.orig_argv ?? command.argv) : command;
  if (!Array.isArray(words)) return words ? spell(words) : "";
  return words.map((word) => quote(spell(word))).join(" ");
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Return the facts about a machine, with memory in readable units. */
export function spellHost(host: Record<string, Value>): [string, string][] {
  return flatten(host).map(([name, value]) => {
    const isSize = /(^|[._])memory$/.test(name) && typeof value === "number";
    return [name, isSize ? formatBytes(value) : spell(value)];
  });
}

/** Return nested settings by dotted names. */
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

export type LineKind = "added" | "removed" | "hunk" | "file" | "same";

/** Classify the lines of a unified diff. */
export function readDiff(text: string): { kind: LineKind; text: string }[] {
  return text.split("\n").map((line) => {
    let kind: LineKind = "same";
    if (/^(diff |index |\+\+\+ |--- |new file|deleted file)/.test(line)) kind = "file";
    else if (line.startsWith("@@")) kind = "hunk";
    else if (line.startsWith("+")) kind = "added";
    else if (line.startsWith("-")) kind = "removed";
    return { kind, text: line };
  });
}
