/** All that one looks at, and the address that tells it. */

import { readStep } from "../data/media";
import type { Axis, Step } from "../data/types";
import { FRONT, type Turn } from "../scale/turn";

export const TABS = [
  "runs",
  "curves",
  "images",
  "audio",
  "text",
  "histograms",
  "more",
  "hparams",
  "compare",
  "run",
  "sql",
  "boards",
] as const;
export type Tab = (typeof TABS)[number];

export interface View {
  tab: Tab;
  /** A text to be found in the name, and a condition as `runs.where` takes it. */
  search: string;
  where: string;
  /** Runs that are switched off, among those that the filters leave. */
  off: string[];
  /** Those that are on, where they are fewer: a run that appears later is off then, otherwise on. */
  on: string[] | null;
  /** What makes a group: an hparam, "parent", or a pattern with named groups. */
  by: string;
  /** Groups of which the list beside the views has only the name. */
  shut: string[];
  colours: "run" | "group";
  /** Colours that were chosen by hand, by run or group. */
  painted: Record<string, string>;
  columns: string[] | null;
  pinned: string[];
  sort: string;
  isDescending: boolean;
  /** Which tags to show, as a text or a regular expression. */
  tags: string;
  isFolded: boolean;
  centre: "mean" | "median" | "iqm";
  band: "std" | "sem" | "minmax" | "q05-q95" | "q25-q75" | "ci95";
  x: Axis;
  smooth: number;
  isLogX: boolean;
  isLogY: boolean;
  isRobust: boolean;
  /** Whether charts have a line for each event that a run marked. */
  hasMarks: boolean;
  range: [number, number] | null;
  /** A chart that fills the page, and tags that share one chart. */
  full: string;
  together: string[];
  closed: string[];
  step: Step | null;
  /** Which part of "more" is open. */
  part: string;
  /** From where meshes are seen. */
  turn: Turn;
  layers: "boxes" | "masks" | "both" | "none";
  threshold: number;
  /** Labels of boxes that are switched off, and how wide a picture is. */
  labelsOff: string[];
  size: number;
  /** Histograms as bands of quantiles, text as it was written, an answer drawn. */
  isBands: boolean;
  isPlain: boolean;
  isDrawn: boolean;
  /** Two runs with all that they have in common, too. */
  isAll: boolean;
  metric: string;
  hparam: string;
  at: string;
  better: "" | "lower" | "higher";
  run: string;
  other: string;
  query: string;
  /** The TensorBoard that is open, and which of its dashboards it was opened at. */
  board: string;
  dashboard: string;
}

export const DEFAULTS: View = {
  tab: "curves",
  search: "",
  where: "",
  off: [],
  on: null,
  by: "",
  shut: [],
  colours: "run",
  painted: {},
  columns: null,
  pinned: [],
  sort: "",
  isDescending: false,
  tags: "",
  isFolded: false,
  centre: "mean",
  band: "std",
  x: "step",
  smooth: 0,
  isLogX: false,
  isLogY: false,
  isRobust: false,
  hasMarks: true,
  range: null,
  full: "",
  together: [],
  closed: [],
  step: null,
  part: "",
  turn: FRONT,
  layers: "both",
  threshold: 0,
  labelsOff: [],
  size: 260,
  isBands: false,
  isPlain: false,
  isDrawn: false,
  isAll: false,
  metric: "",
  hparam: "",
  at: "last",
  better: "",
  run: "",
  other: "",
  query: "",
  board: "",
  dashboard: "",
};

/** The address of a view: what differs from the defaults, each as JSON or as plain text. */
export function writeView(view: View): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(DEFAULTS) as (keyof View)[]) {
    // One list says which runs are on; which are off follows from it.
    if (name === "off" && view.on) continue;
    const value = view[name];
    if (spell(value) !== spell(DEFAULTS[name])) parameters.set(name, spell(value));
  }
  return parameters.toString();
}

function spell(value: View[keyof View]): string {
  const isPlain = typeof value === "string" || typeof value === "bigint";
  return isPlain ? String(value) : JSON.stringify(value);
}

/** The view of an address; what makes no sense in it is left out. */
export function readView(search: string): View {
  const parameters = new URLSearchParams(search);
  const view: Record<string, unknown> = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS) as (keyof View)[]) {
    const text = parameters.get(name);
    if (text === null) continue;
    const standard = DEFAULTS[name];
    if (typeof standard === "string" && name !== "x") {
      view[name] = text;
      continue;
    }
    if (name === "step") {
      if (/^-?\d{1,20}$/.test(text)) view[name] = readStep(text);
      continue;
    }
    try {
      const value: unknown = name === "x" && !text.startsWith("{") ? text : JSON.parse(text);
      if (isAlike(value, standard, name)) view[name] = value;
    } catch {
      // An address that somebody cut off.
    }
  }
  const read = view as unknown as View;
  return TABS.includes(read.tab) ? read : { ...read, tab: DEFAULTS.tab };
}

/** How an address tells that these runs are off: by them or, where those are fewer, by the rest. */
export function switchOff(off: string[], runs: readonly string[]): Pick<View, "off" | "on"> {
  const isOff = new Set(off);
  const on = runs.filter((run) => !isOff.has(run));
  return { off, on: on.length < runs.length - on.length ? on : null };
}

/** The view with the runs that are off, where it names those that are on. */
export function findOff(view: View, runs: readonly string[]): View {
  if (!view.on) return view;
  const isOn = new Set(view.on);
  return { ...view, off: runs.filter((run) => !isOn.has(run)) };
}

function isAlike(value: unknown, standard: unknown, name: keyof View): boolean {
  if (name === "x") {
    const isTag = typeof value === "object" && value !== null && "tag" in value;
    return isTag || value === "step" || value === "wall_time" || value === "relative";
  }
  if (name === "range") {
    return Array.isArray(value) && value.length === 2 && value.every(Number.isFinite);
  }
  if (name === "turn") {
    const { around, up, zoom } = (value ?? {}) as Partial<Turn>;
    return [around, up, zoom].every(Number.isFinite);
  }
  if (name === "painted") {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject && Object.values(value).every((one) => /^#[0-9a-f]{6}$/i.test(String(one)));
  }
  if (name === "columns" || name === "on" || Array.isArray(standard)) {
    return Array.isArray(value) && value.every((one) => typeof one === "string");
  }
  return typeof value === typeof standard;
}
