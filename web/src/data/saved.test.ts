import { afterEach, expect, test, vi } from "vitest";
import { addQuery, addView, change, put, remove, type SavedData } from "./saved";

const NOTHING: SavedData = { views: [], queries: [], revision: null };

afterEach(() => vi.unstubAllGlobals());

test("saving under an existing name overwrites the entry", () => {
  const all = [
    { name: "a", view: "1" },
    { name: "b", view: "2" },
  ];
  expect(put(all, { name: "a", view: "3" })).toEqual([all[1], { name: "a", view: "3" }]);
});

test("views and queries are added and deleted independently", () => {
  const kept = addQuery("x", "select 1")(addView("x", "tab=runs")(NOTHING));
  expect(remove("views", "x")(kept)).toEqual({ ...kept, views: [] });
  expect(remove("queries", "x")(kept)).toEqual({ ...kept, queries: [] });
});

test("an edit is applied again to changes saved by another window", async () => {
  let stored: SavedData = { ...NOTHING, revision: "1" };
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    if (!init.method) return Response.json(stored);
    const sent = JSON.parse(String(init.body)) as SavedData;
    if (sent.revision !== stored.revision) return Response.json({ error: "old" }, { status: 400 });
    stored = { ...sent, revision: String(Number(stored.revision) + 1) };
    return Response.json(stored);
  });
  change(addView("mine", "tab=runs"));
  await vi.waitFor(() => expect(stored.views).toHaveLength(1));
  stored = { ...stored, views: [{ name: "theirs", view: "tab=sql" }], revision: "9" };
  change(addView("mine", "tab=runs"));
  await vi.waitFor(() => expect(stored.revision).toBe("10"));
  expect(stored.views.map(({ name }) => name)).toEqual(["theirs", "mine"]);
});
