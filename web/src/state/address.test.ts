import { expect, test } from "vitest";
import { DEFAULTS, findOff, readView, switchOff, writeView } from "./address";

test("an address shows the same view again", () => {
  const view = {
    ...DEFAULTS,
    tab: "runs" as const,
    where: "lr < 0.1 and status == 'finished'",
    off: ["a/b", "ünï"],
    x: { tag: "samples seen" },
    range: [1, 2.5] as [number, number],
    isLogY: true,
    painted: { "a/b": "#102030" },
    step: 0,
    turn: { around: 1, up: -0.5, zoom: 2 },
  };
  expect(readView(writeView(view))).toEqual(view);
  expect(writeView(DEFAULTS)).toBe("");
});

test("a step is kept with all its digits", () => {
  for (const step of [-3, 2 ** 53 - 1, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n]) {
    expect(writeView({ ...DEFAULTS, step })).toBe(`step=${step}`);
    expect(readView(`?step=${step}`).step).toBe(step);
  }
  expect(readView("?step=1.5").step).toBeNull();
});

test("what makes no sense in an address is left out", () => {
  expect(
    readView(
      `?tab=nowhere&painted={"a":"url(x)"}&range=[1]&off=7&smooth=x&x=weeks&turn={"up":1}&isLogX=true`,
    ),
  ).toEqual({
    ...DEFAULTS,
    isLogX: true,
  });
});

test("the shorter list of runs is kept: those that are off, or those that are on", () => {
  const runs = ["a", "b", "c"];
  expect(switchOff(["a"], runs)).toEqual({ off: ["a"], on: null });
  expect(switchOff(["a", "b"], runs)).toEqual({ off: ["a", "b"], on: ["c"] });
  expect(switchOff(runs, runs)).toEqual({ off: runs, on: [] });
  // Runs that are gone count for nothing: all that are there are on.
  expect(switchOff(["x", "y", "z", "w"], runs)).toMatchObject({ on: null });
});

test("a run that appears later is off where the address names those that are on", () => {
  const few = { ...DEFAULTS, ...switchOff(["a", "b"], ["a", "b", "c"]) };
  expect(writeView(few)).toBe(new URLSearchParams({ on: '["c"]' }).toString());
  const opened = readView(writeView(few));
  expect(findOff(opened, ["a", "b", "c", "new"]).off).toEqual(["a", "b", "new"]);
  const old = readView('?off=["a","b"]');
  expect(findOff(old, ["a", "b", "c", "new"]).off).toEqual(["a", "b"]);
});
