/** Conversion between the view and the URL. */

import { readStep } from "../data/media";
import { AXIS_NAMES, DEFAULTS, TABS, type Turn, type View } from "../generated/vocabulary";

export { DEFAULTS, TABS, type Tab, type View } from "../generated/vocabulary";

/** Return the URL parameters of a view: values that differ from the defaults, as JSON or text. */
export function writeView(view: View): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(DEFAULTS) as (keyof View)[]) {
    // The hidden runs follow from the selected ones.
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

/** Return the view that a URL describes. Invalid parameters are ignored. */
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
      if (isValid(value, standard, name)) view[name] = value;
    } catch {
      // A truncated URL.
    }
  }
  const read = view as unknown as View;
  return TABS.includes(read.tab) ? read : { ...read, tab: DEFAULTS.tab };
}

/** Return the fields that hide runs: the hidden runs, and the selected runs if they are fewer. */
export function switchOff(off: string[], runs: readonly string[]): Pick<View, "off" | "on"> {
  const isOff = new Set(off);
  const on = runs.filter((run) => !isOff.has(run));
  return { off, on: on.length < runs.length - on.length ? on : null };
}

/** Return the view with its hidden runs filled in if it lists the selected ones. */
export function findOff(view: View, runs: readonly string[]): View {
  if (!view.on) return view;
  const isOn = new Set(view.on);
  return { ...view, off: runs.filter((run) => !isOn.has(run)) };
}

function isValid(value: unknown, standard: unknown, name: keyof View): boolean {
  if (name === "x") {
    const isTag = typeof value === "object" && value !== null && "tag" in value;
    return isTag || (typeof value === "string" && value in AXIS_NAMES);
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
    return isObject && Object.values(value).every((color) => /^#[0-9a-f]{6}$/i.test(String(color)));
  }
  if (name === "columns" || name === "on" || Array.isArray(standard)) {
    return Array.isArray(value) && value.every((item) => typeof item === "string");
  }
  return typeof value === typeof standard;
}
