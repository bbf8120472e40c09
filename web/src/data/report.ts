/** Reports: a page written by `runfold report`, with the server's responses inside. */

import { CHART_ONLY_FIELDS } from "../generated/vocabulary";

/** Key, status, content type, whether it is compressed, data in base64. */
type Recorded = [string, number, string, boolean, string];

export interface Report {
  /** When the report was written, in seconds since 1970. */
  time: number;
  /** The view as URL parameters. */
  view: string;
  /** Smoothing weight that the server applied. */
  smooth: number;
  /** Tabs whose data the report contains. */
  tabs: string[];
  /** Sentences on what the report leaves out. */
  notes: string[];
  find: (key: string) => Recorded | undefined;
}

const CHART_ONLY = new Set<string>(CHART_ONLY_FIELDS);

/** Return the key of a request, the same as in `_serve/report/recorded_answers.py`. */
export function keyOf(method: string, address: string, body?: string): string {
  const { pathname, searchParams } = new URL(address, "http://report");
  if (method === "GET") return JSON.stringify([method, pathname, [...searchParams]]);
  const fields = Object.entries(JSON.parse(body ?? "{}") as Record<string, unknown>)
    .filter(([name]) => !CHART_ONLY.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([method, pathname, fields]);
}

export function readReport(text: string): Report {
  const { answers, ...fields } = JSON.parse(text) as Omit<Report, "find"> & {
    answers: Recorded[];
  };
  const byKey = new Map(answers.map((answer) => [answer[0], answer]));
  return { ...fields, find: (key) => byKey.get(key) };
}

const element = typeof document === "undefined" ? null : document.getElementById("answers");

/** The report in this page, or null if a server provides the data. */
export const report: Report | null = element ? readReport(element.textContent ?? "") : null;

const MISSING = JSON.stringify({
  error:
    "This report contains only the data of the saved view. Use `runfold serve` to see the rest.",
});

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** Return the response that the report contains for a request, or a 404. */
export function findResponse(own: Report, address: string, init: RequestInit): Response {
  const body = typeof init.body === "string" ? init.body : undefined;
  const recorded = own.find(keyOf(init.method ?? "GET", address, body));
  if (!recorded) return new Response(MISSING, { status: 404 });
  const [, status, type, isPacked, base64] = recorded;
  const stored = new Blob([decode(base64)]).stream();
  const data = isPacked ? stored.pipeThrough(new DecompressionStream("gzip")) : stored;
  return new Response(data, { status, headers: { "Content-Type": type } });
}

const addresses = new Map<string, string>();

/** Return a URL for an image or audio clip in the report. */
export function blobOf(own: Report, address: string): string {
  const cached = addresses.get(address);
  if (cached !== undefined) return cached;
  const recorded = own.find(keyOf("GET", address));
  const url = recorded
    ? URL.createObjectURL(new Blob([decode(recorded[4])], { type: recorded[2] }))
    : "blob:none";
  addresses.set(address, url);
  return url;
}
