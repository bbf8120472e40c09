import { afterEach, expect, test, vi } from "vitest";
import { addQuery, addView, change, forget, type Kept, put } from "./saved";

const NOTHING: Kept = { views: [], queries: [], revision: null };

afterEach(() => vi.unstubAllGlobals());

test("what is saved under a name that is there takes its place", () => {
  const all = [
    { name: "a", view: "1" },
    { name: "b", view: "2" },
  ];
  expect(put(all, { name: "a", view: "3" })).toEqual([all[1], { name: "a", view: "3" }]);
});

test("views and queries are added and forgotten apart", () => {
  const kept = addQuery("x", "select 1")(addView("x", "tab=runs")(NOTHING));
  expect(forget("views", "x")(kept)).toEqual({ ...kept, views: [] });
  expect(forget("queries", "x")(kept)).toEqual({ ...kept, queries: [] });
});

test("an edit is made again upon what another window saved", async () => {
  let held: Kept = { ...NOTHING, revision: "1" };
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    if (!init.method) return Response.json(held);
    const given = JSON.parse(String(init.body)) as Kept;
    if (given.revision !== held.revision) return Response.json({ error: "old" }, { status: 400 });
    held = { ...given, revision: String(Number(held.revision) + 1) };
    return Response.json(held);
  });
  change(addView("mine", "tab=runs"));
  await vi.waitFor(() => expect(held.views).toHaveLength(1));
  held = { ...held, views: [{ name: "theirs", view: "tab=sql" }], revision: "9" };
  change(addView("mine", "tab=runs"));
  await vi.waitFor(() => expect(held.revision).toBe("10"));
  expect(held.views.map((one) => one.name)).toEqual(["theirs", "mine"]);
});
