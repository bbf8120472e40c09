/** A report: the page with the answers inside, as `runfold report` writes it, and no server. */

import { CHART_ONLY_FIELDS } from "../generated/vocabulary";

/** Key, status, type, whether it is compressed, base64. */
type Answer = [string, number, string, boolean, string];

export interface Report {
  /** When it was written, in seconds. */
  time: number;
  /** The address of the view, and the smoothing that the server has done for it. */
  view: string;
  smooth: number;
  /** The views that it has the data of. */
  tabs: string[];
  /** What is not in it, in sentences. */
  notes: string[];
  find: (key: string) => Answer | undefined;
}

const OF_CHARTS = new Set<string>(CHART_ONLY_FIELDS);

/** The name of an answer, the same as in `_serve/report/recorded_answers.py`. */
export function keyOf(method: string, address: string, body?: string): string {
  const { pathname, searchParams } = new URL(address, "http://report");
  if (method === "GET") return JSON.stringify([method, pathname, [...searchParams]]);
  const asked = Object.entries(JSON.parse(body ?? "{}") as Record<string, unknown>)
    .filter(([name]) => !OF_CHARTS.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([method, pathname, asked]);
}

export function readReport(text: string): Report {
  const { answers, ...told } = JSON.parse(text) as Omit<Report, "find"> & { answers: Answer[] };
  const known = new Map(answers.map((answer) => [answer[0], answer]));
  return { ...told, find: (key) => known.get(key) };
}

const element = typeof document === "undefined" ? null : document.getElementById("answers");

/** The report that this page is, or null where a server stands behind it. */
export const report: Report | null = element ? readReport(element.textContent ?? "") : null;

const MISSING = JSON.stringify({
  error:
    "This report has only the data of the view that was saved. `runfold serve` shows the rest.",
});

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** What the server answered when the report was written. */
export function answer(own: Report, address: string, init: RequestInit): Response {
  const body = typeof init.body === "string" ? init.body : undefined;
  const found = own.find(keyOf(init.method ?? "GET", address, body));
  if (!found) return new Response(MISSING, { status: 404 });
  const [, status, type, isPacked, base64] = found;
  const stored = new Blob([decode(base64)]).stream();
  const data = isPacked ? stored.pipeThrough(new DecompressionStream("gzip")) : stored;
  return new Response(data, { status, headers: { "Content-Type": type } });
}

const addresses = new Map<string, string>();

/** Where a browser finds the bytes of a picture or clip that is in the report. */
export function blobOf(own: Report, address: string): string {
  const before = addresses.get(address);
  if (before !== undefined) return before;
  const found = own.find(keyOf("GET", address));
  const made = found
    ? URL.createObjectURL(new Blob([decode(found[4])], { type: found[2] }))
    : "blob:none";
  addresses.set(address, made);
  return made;
}
