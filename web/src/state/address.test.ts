import { expect, test } from "vitest";
import { DEFAULTS, findOff, readView, switchOff, writeView } from "./address";

test("a view survives a round trip through the URL", () => {
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

test("a step keeps all its digits", () => {
  for (const step of [-3, 2 ** 53 - 1, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n]) {
    expect(writeView({ ...DEFAULTS, step })).toBe(`step=${step}`);
    expect(readView(`?step=${step}`).step).toBe(step);
  }
  expect(readView("?step=1.5").step).toBeNull();
});

test("invalid values in a URL are ignored", () => {
  expect(
    readView(
      `?tab=nowhere&painted={"a":"url(x)"}&range=[1]&off=7&smooth=x&x=weeks&turn={"up":1}&isLogX=true`,
    ),
  ).toEqual({
    ...DEFAULTS,
    isLogX: true,
  });
});

test("the URL stores the shorter list: the hidden or the selected runs", () => {
  const runs = ["a", "b", "c"];
  expect(switchOff(["a"], runs)).toEqual({ off: ["a"], on: null });
  expect(switchOff(["a", "b"], runs)).toEqual({ off: ["a", "b"], on: ["c"] });
  expect(switchOff(runs, runs)).toEqual({ off: runs, on: [] });
  // Deleted runs do not count: all existing runs are selected.
  expect(switchOff(["x", "y", "z", "w"], runs)).toMatchObject({ on: null });
});

test("a run that appears later is hidden if the URL lists the selected runs", () => {
  const few = { ...DEFAULTS, ...switchOff(["a", "b"], ["a", "b", "c"]) };
  expect(writeView(few)).toBe(new URLSearchParams({ on: '["c"]' }).toString());
  const opened = readView(writeView(few));
  expect(findOff(opened, ["a", "b", "c", "new"]).off).toEqual(["a", "b", "new"]);
  const old = readView('?off=["a","b"]');
  expect(findOff(old, ["a", "b", "c", "new"]).off).toEqual(["a", "b"]);
});
