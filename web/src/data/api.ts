/** Requests to the server; every answer is typed here and nowhere else. */

import { type Table, tableFromIPC } from "apache-arrow";
import { type Place, readStep } from "./media";
import { answer, blobOf, report } from "./report";
import type { Axis, Cell, Column, Curve, CurveInfo, Fold, FoldInfo, RunTable, Step } from "./types";

/** What the server refused, and where in what was asked. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly at: number | null = null,
  ) {
    super(message);
  }
}

type Query = Record<string, string | Step | readonly string[]>;

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = report
      ? answer(report, path, init)
      : await fetch(path, { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is `runfold serve` still running?", 0);
  }
  if (response.ok) return response;
  const text = await response.text();
  let message = text || response.statusText;
  let at: number | null = null;
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null) {
      if ("error" in body && typeof body.error === "string") message = body.error;
      if ("at" in body && typeof body.at === "number") at = body.at;
    }
  } catch {
    // Not JSON: the text itself says it.
  }
  throw new Refused(message, response.status, at);
}

function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === "object") for (const one of value) parameters.append(name, one);
    else parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

export function get(path: string, query: Query = {}, signal?: AbortSignal): Promise<Response> {
  return request(withQuery(path, query), signal ? { signal } : {});
}

export function send(
  path: string,
  body: unknown,
  signal?: AbortSignal,
  method = "POST",
): Promise<Response> {
  return request(path, {
    method,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

export async function getJson<T>(path: string, query: Query = {}, signal?: AbortSignal) {
  return (await (await get(path, query, signal)).json()) as T;
}

/** What is logged under a tag, and how much more of it there is than the server lists. */
export interface Entries<T> {
  entries: T[];
  leftOut: number;
}

/** The entries of a tag, as the server lists them under a name. */
export async function getEntries<T extends Place>(
  path: string,
  name: string,
  tag: string,
  signal: AbortSignal,
): Promise<Entries<T>> {
  const answer = await getJson<{ leftOut: number; [name: string]: unknown }>(path, { tag }, signal);
  const listed = answer[name] as T[];
  const entries = listed.map((entry) => ({ ...entry, step: readStep(entry.step) }));
  return { entries, leftOut: answer.leftOut };
}

export async function sendJson<T>(path: string, body: unknown, signal?: AbortSignal) {
  return (await (await send(path, body, signal)).json()) as T;
}

export async function readArrow(response: Response): Promise<Table> {
  return tableFromIPC(new Uint8Array(await response.arrayBuffer()));
}

const TWO_32 = 2 ** 32;

/** The numbers of a column; int64 become doubles, which steps below 2^53 survive. */
export function numbers(table: Table, name: string): Float64Array {
  const array: unknown = table.getChild(name)?.toArray() ?? [];
  if (array instanceof Float64Array) return array;
  if (array instanceof BigInt64Array) return readInt64(array);
  if (array instanceof Int32Array) return new Float64Array(array);
  return Float64Array.from(array as ArrayLike<number>, Number);
}

/** Without a bigint for each number: a million of them take a second. */
function readInt64(array: BigInt64Array): Float64Array {
  const low = new Uint32Array(array.buffer, array.byteOffset, 2 * array.length);
  const high = new Int32Array(array.buffer, array.byteOffset, 2 * array.length);
  const result = new Float64Array(array.length);
  for (let place = 0; place < result.length; place++) {
    result[place] = (high[2 * place + 1] as number) * TWO_32 + (low[2 * place] as number);
  }
  return result;
}

/** The steps of a column, each as it is. */
export function steps(table: Table): Step[] {
  return Array.from((table.getChild("step")?.toArray() ?? []) as BigInt64Array, readStep);
}

function readCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === "bigint") return readStep(value);
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  return String(value);
}

/** The columns of any table, for showing it. */
export function readColumns(table: Table): Column[] {
  return table.schema.fields.map((field) => {
    const cells = Array.from(table.getChild(field.name) ?? [], readCell);
    return {
      key: field.name,
      kind: (field.metadata.get("kind") as Column["kind"] | undefined) ?? "fixed",
      name: field.metadata.get("name") ?? field.name,
      stat: field.metadata.get("stat") ?? "",
      isNumber: cells.every((cell) => cell === null || typeof cell !== "string"),
      cells,
    };
  });
}

export async function loadTable(stats: readonly string[], signal: AbortSignal): Promise<RunTable> {
  const table = await readArrow(await get("/api/table", { stat: stats }, signal));
  const columns = readColumns(table);
  const runs = columns.find((column) => column.key === "run")?.cells.map(String) ?? [];
  const leftOut = JSON.parse(table.schema.metadata.get("leftOut") ?? "{}") as Record<
    string,
    number
  >;
  return { runs, columns, leftOut };
}

/** The series that a table holds in its rows, one behind the other. */
function* split<Info>(table: Table): Generator<[Info, number, number]> {
  const infos = JSON.parse(table.schema.metadata.get("series") ?? "[]") as Info[];
  const series = numbers(table, "series");
  let start = 0;
  for (const [number, info] of infos.entries()) {
    let end = start;
    while (series[end] === number) end++;
    yield [info, start, end];
    start = end;
  }
}

export interface CurveRequest {
  tags: readonly string[];
  runs: readonly string[] | null;
  x: Axis;
  width: number | null;
  range: readonly [number, number] | null;
  /** Whether x is logarithmic, and the weight of the smoothing, over all points and then thinned. */
  log: boolean;
  smooth: number;
}

export async function loadCurves(asked: CurveRequest, signal: AbortSignal): Promise<Curve[]> {
  // A report has the curves of all its runs together.
  const body = report ? { ...asked, runs: null } : asked;
  const wanted = report && asked.runs ? new Set(asked.runs) : null;
  const table = await readArrow(await send("/api/curves", body, signal));
  const [x, y, smoothed] = [numbers(table, "x"), numbers(table, "y"), numbers(table, "smoothed")];
  const curves = Array.from(split<CurveInfo>(table), ([info, start, end]) => ({
    ...info,
    x: x.subarray(start, end),
    y: y.subarray(start, end),
    smoothed: smoothed.length ? smoothed.subarray(start, end) : null,
  }));
  return wanted ? curves.filter((curve) => wanted.has(curve.run)) : curves;
}

export interface FoldRequest extends CurveRequest {
  by: string | readonly string[] | null;
  centre: "mean" | "median" | "iqm";
  band: "std" | "sem" | "minmax" | "q05-q95" | "q25-q75" | "ci95";
  align: string;
}

export async function loadFold(asked: FoldRequest, signal: AbortSignal): Promise<Fold[]> {
  const table = await readArrow(await send("/api/fold", asked, signal));
  const columns = ["x", "centre", "low", "high", "count"].map((name) => numbers(table, name));
  return Array.from(split<FoldInfo>(table), ([info, start, end]) => {
    const [x, centre, low, high, count] = columns.map((column) => column.subarray(start, end));
    return { ...info, x, centre, low, high, count } as Fold;
  });
}

/** Where the bytes of a picture or clip are. */
export function blobAddress(
  kind: "image" | "audio" | "boxes",
  place: { run: string; blob: string; index: number },
  tag: string,
): string {
  const { run, blob: row, index } = place;
  const address = withQuery("/api/blob", { kind, run, tag, row, index });
  return report ? blobOf(report, address) : address;
}
