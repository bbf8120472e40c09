import { afterEach, expect, test, vi } from "vitest";
import {
  type Board,
  chooseSources,
  describeExit,
  describeUse,
  experimentOf,
  readBoards,
  startBoard,
  subscribe,
  summarize,
} from "./boards";

const NOTHING = { runs: null, experiments: [], where: "" };

afterEach(() => vi.unstubAllGlobals());

test("a line describes the runs shown", () => {
  expect(summarize(NOTHING)).toBe("all runs");
  expect(summarize({ ...NOTHING, where: "lr < 0.1" })).toBe("all runs where lr < 0.1");
  expect(summarize({ ...NOTHING, experiments: ["a"] })).toBe("experiment a");
  expect(summarize({ ...NOTHING, experiments: ["a", "b"] })).toBe("experiments a, b");
  expect(summarize({ ...NOTHING, runs: ["a/1"] })).toBe("run a/1");
  expect(summarize({ ...NOTHING, runs: [] })).toBe("no runs");
  const runs = Array.from({ length: 1203 }, (_, number) => `a/${number}`);
  expect(summarize({ ...NOTHING, runs })).toBe("1,203 runs: a/0, a/1, a/2 and 1,200 more");
  expect(summarize({ runs: ["b/1"], experiments: ["a"], where: "x > 1" })).toBe(
    "experiment a; run b/1 where x > 1",
  );
});

test("a condition alone is passed on; otherwise, runs are passed by name", () => {
  const view = { search: "", where: "lr < 0.1", off: [] as string[], on: null };
  expect(chooseSources(view, ["a", "b"])).toEqual({ ...NOTHING, where: "lr < 0.1" });
  for (const narrowed of [
    { ...view, search: "a" },
    { ...view, off: ["b"] },
    { ...view, on: ["a"] },
  ]) {
    expect(chooseSources(narrowed, ["a"])).toEqual({ ...NOTHING, runs: ["a"] });
  }
});

test("the experiment of a run is its first folder", () => {
  expect(["a/b/c", "a", "."].map(experimentOf)).toEqual(["a", "a", "."]);
});

test("an exit is described by its status or signal", () => {
  expect([null, 0, 3, -9].map(describeExit)).toEqual([
    "",
    "exit status 0",
    "exit status 3",
    "killed by signal 9",
  ]);
});

test("a TensorBoard that is open in a browser is not idle", () => {
  expect([null, 0, 754].map(describeUse)).toEqual(["", "in use", "idle for 12 min 34 s"]);
});

test("a TensorBoard that starts while the list is loading is still shown", async () => {
  const pending: ((boards: Partial<Board>[]) => void)[] = [];
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
    if (init.method === "POST") return Promise.resolve(Response.json({ id: "new", created: 2 }));
    return new Promise((answer) => {
      pending.push((tensorboards) => answer(Response.json({ tensorboards })));
    });
  });
  const seen: string[][] = [];
  const stop = subscribe(() => seen.push(readBoards().all.map((board) => board.id)));
  await startBoard(NOTHING);
  pending[0]?.([{ id: "old", created: 1 }]);
  await vi.waitFor(() => expect(pending).toHaveLength(2));
  pending[1]?.([
    { id: "old", created: 1 },
    { id: "new", created: 2 },
  ]);
  await vi.waitFor(() => expect(seen).toEqual([["new"], ["new", "old"]]));
  stop();
});
