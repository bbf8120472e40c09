/** Requests to the server. All responses get their types here. */

import { type Table, tableFromIPC } from "apache-arrow";
import type {
  BlobRequest,
  CurvesRequest,
  FoldRequest,
  GetRequests,
  GetResponses,
  PostRequests,
  PostResponses,
  PutRequests,
  PutResponses,
} from "../generated/endpoints";
import type { Statistic } from "../generated/vocabulary";
import { readStep } from "./media";
import { blobOf, findResponse, report } from "./report";
import type { Cell, Column, Curve, CurveInfo, Fold, FoldInfo, RunTable, Step } from "./types";

/** Error response from the server; `at` is the position of the mistake in the request, if known. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly at: number | null = null,
  ) {
    super(message);
  }
}

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = report
      ? findResponse(report, path, init)
      : await fetch(path, { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError("The server is not responding. Is `runfold serve` still running?", 0);
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
    // Not JSON: the text itself is the message.
  }
  throw new RequestError(message, response.status, at);
}

function withQuery<Path extends keyof GetRequests>(path: Path, query: GetRequests[Path]): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query) as [string, unknown][]) {
    if (Array.isArray(value)) for (const item of value) parameters.append(name, String(item));
    else if (value !== null) parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

export function get<Path extends keyof GetRequests>(
  path: Path,
  query: GetRequests[Path],
  signal?: AbortSignal,
): Promise<Response> {
  return request(withQuery(path, query), signal ? { signal } : {});
}

function sendBody(
  method: "POST" | "PUT",
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  return request(path, {
    method,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

export function send<Path extends keyof PostRequests>(
  path: Path,
  body: PostRequests[Path],
  signal?: AbortSignal,
): Promise<Response> {
  return sendBody("POST", path, body, signal);
}

export async function getJson<Path extends keyof GetResponses & keyof GetRequests>(
  path: Path,
  query: GetRequests[Path],
  signal?: AbortSignal,
): Promise<GetResponses[Path]> {
  return (await get(path, query, signal)).json();
}

export async function sendJson<Path extends keyof PostResponses & keyof PostRequests>(
  path: Path,
  body: PostRequests[Path],
  signal?: AbortSignal,
): Promise<PostResponses[Path]> {
  return (await send(path, body, signal)).json();
}

export async function putJson<Path extends keyof PutResponses & keyof PutRequests>(
  path: Path,
  body: PutRequests[Path],
): Promise<PutResponses[Path]> {
  return (await sendBody("PUT", path, body)).json();
}

/** Entries of a tag, and the number of entries that the server left out. */
export interface Entries<T> {
  entries: T[];
  leftOut: number;
}

/** An entry with its step as a number, or as a bigint if a number cannot represent it. */
export type WithStep<T> = Omit<T, "step"> & { step: Step };

/** Return the entries of a response with exact steps. */
export function readEntries<T extends { step: number | string }>(
  listed: T[],
  leftOut: number,
): Entries<WithStep<T>> {
  return { entries: listed.map((entry) => ({ ...entry, step: readStep(entry.step) })), leftOut };
}

export async function readArrow(response: Response): Promise<Table> {
  return tableFromIPC(new Uint8Array(await response.arrayBuffer()));
}

const TWO_32 = 2 ** 32;

/** Return a column as doubles. Integers are exact up to 2^53. */
export function numbers(table: Table, name: string): Float64Array {
  const array: unknown = table.getChild(name)?.toArray() ?? [];
  if (array instanceof Float64Array) return array;
  if (array instanceof BigInt64Array) return readInt64(array);
  if (array instanceof Int32Array) return new Float64Array(array);
  return Float64Array.from(array as ArrayLike<number>, Number);
}

/** Convert without a bigint per number: a million bigints take a second. */
function readInt64(array: BigInt64Array): Float64Array {
  const low = new Uint32Array(array.buffer, array.byteOffset, 2 * array.length);
  const high = new Int32Array(array.buffer, array.byteOffset, 2 * array.length);
  const result = new Float64Array(array.length);
  for (let index = 0; index < result.length; index++) {
    result[index] = (high[2 * index + 1] as number) * TWO_32 + (low[2 * index] as number);
  }
  return result;
}

/** Return the exact steps of a table. */
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

/** Return the columns of any table for display. */
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

export async function loadTable(
  stats: readonly Statistic[],
  signal: AbortSignal,
): Promise<RunTable> {
  const table = await readArrow(await get("/api/table", { stat: stats }, signal));
  const columns = readColumns(table);
  const runs = columns.find((column) => column.key === "run")?.cells.map(String) ?? [];
  const leftOut = JSON.parse(table.schema.metadata.get("leftOut") ?? "{}") as Record<
    string,
    number
  >;
  return { runs, columns, leftOut };
}

/** Yield each series of a table with its range of rows. */
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

export async function loadCurves(
  curvesRequest: CurvesRequest,
  signal: AbortSignal,
): Promise<Curve[]> {
  const { runs } = curvesRequest;
  // A report stores the curves of all its runs in one response.
  const body = report ? { ...curvesRequest, runs: null } : curvesRequest;
  const selected = report && runs ? new Set(runs) : null;
  const table = await readArrow(await send("/api/curves", body, signal));
  const [x, y, smoothed] = [numbers(table, "x"), numbers(table, "y"), numbers(table, "smoothed")];
  const curves = Array.from(split<CurveInfo>(table), ([info, start, end]) => ({
    ...info,
    x: x.subarray(start, end),
    y: y.subarray(start, end),
    smoothed: smoothed.length ? smoothed.subarray(start, end) : null,
  }));
  return selected ? curves.filter((curve) => selected.has(curve.run)) : curves;
}

export async function loadFold(foldRequest: FoldRequest, signal: AbortSignal): Promise<Fold[]> {
  const table = await readArrow(await send("/api/fold", foldRequest, signal));
  const columns = ["x", "center", "low", "high", "count"].map((name) => numbers(table, name));
  return Array.from(split<FoldInfo>(table), ([info, start, end]) => {
    const [x, center, low, high, count] = columns.map((column) => column.subarray(start, end));
    return { ...info, x, center, low, high, count } as Fold;
  });
}

/** Return the URL of an image or audio clip. */
export function blobAddress(
  kind: BlobRequest["kind"],
  entry: { run: string; blob: string; index: number },
  tag: string,
): string {
  const { run, blob: row, index } = entry;
  const address = withQuery("/api/blob", { kind, run, tag, row, index });
  return report ? blobOf(report, address) : address;
}
