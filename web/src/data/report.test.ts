import { expect, test } from "vitest";
import { findResponse, keyOf, readReport } from "./report";

const KEY = '["GET","/api/texts",[["tag","a b~*/ü"]]]';

function make(...answers: unknown[]) {
  const fields = { time: 1, view: "tab=text", smooth: 0, tabs: ["text"], notes: [] };
  return readReport(JSON.stringify({ ...fields, answers }));
}

test("a response is found by its request, whatever the URL encoding", async () => {
  const query = new URLSearchParams({ tag: "a b~*/ü" });
  expect(keyOf("GET", `/api/texts?${query}`)).toBe(KEY);
  const own = make([KEY, 200, "application/json", false, btoa('{"texts":[]}')]);
  const response = findResponse(own, `/api/texts?${query}`, {});
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ texts: [] });
});

test("requests for a chart have the same key at any width and range", () => {
  const request = { tags: ["loss"], runs: null, x: "step", log: false };
  const narrow = { width: 300, range: [1, 2], smooth: 0.5, ...request };
  expect(keyOf("POST", "/api/curves", JSON.stringify(narrow))).toBe(
    keyOf("POST", "/api/curves", JSON.stringify(request)),
  );
  expect(keyOf("POST", "/api/curves", JSON.stringify({ ...request, x: "relative" }))).not.toBe(
    keyOf("POST", "/api/curves", JSON.stringify(request)),
  );
});

test("a response can be compressed", async () => {
  const packed = new Blob(["steps"]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const key = keyOf("GET", "/api/table");
  const own = make([key, 200, "text/plain", true, btoa(String.fromCharCode(...bytes))]);
  expect(await findResponse(own, "/api/table", {}).text()).toBe("steps");
});

test("requests missing from a report get a 404, even if they name a built-in property", () => {
  const own = make();
  for (const path of ["/api/sql", "__proto__", "/constructor"]) {
    expect(findResponse(own, path, {}).status).toBe(404);
  }
});
