import { expect, test } from "vitest";
import { answer, keyOf, readReport } from "./report";

const KEY = '["GET","/api/texts",[["tag","a b~*/ü"]]]';

function make(...answers: unknown[]) {
  const told = { time: 1, view: "tab=text", smooth: 0, tabs: ["text"], notes: [] };
  return readReport(JSON.stringify({ ...told, answers }));
}

test("an answer is found by what was asked, however the address spells it", async () => {
  const query = new URLSearchParams({ tag: "a b~*/ü" });
  expect(keyOf("GET", `/api/texts?${query}`)).toBe(KEY);
  const own = make([KEY, 200, "application/json", false, btoa('{"texts":[]}')]);
  const found = answer(own, `/api/texts?${query}`, {});
  expect(found.status).toBe(200);
  expect(await found.json()).toEqual({ texts: [] });
});

test("a chart of any width and range has the same name", () => {
  const asked = { tags: ["loss"], runs: null, x: "step", log: false };
  const narrow = { width: 300, range: [1, 2], smooth: 0.5, ...asked };
  expect(keyOf("POST", "/api/curves", JSON.stringify(narrow))).toBe(
    keyOf("POST", "/api/curves", JSON.stringify(asked)),
  );
  expect(keyOf("POST", "/api/curves", JSON.stringify({ ...asked, x: "relative" }))).not.toBe(
    keyOf("POST", "/api/curves", JSON.stringify(asked)),
  );
});

test("an answer may be compressed", async () => {
  const packed = new Blob(["steps"]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const key = keyOf("GET", "/api/table");
  const own = make([key, 200, "text/plain", true, btoa(String.fromCharCode(...bytes))]);
  expect(await answer(own, "/api/table", {}).text()).toBe("steps");
});

test("what is not in a report is refused, names from a prototype too", () => {
  const own = make();
  for (const path of ["/api/sql", "__proto__", "/constructor"]) {
    expect(answer(own, path, {}).status).toBe(404);
  }
});
