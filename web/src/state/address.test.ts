import { expect, test } from "vitest";
import { DEFAULTS, readView, writeView } from "./address";

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
  };
  expect(readView(writeView(view))).toEqual(view);
  expect(writeView(DEFAULTS)).toBe("");
});

test("what makes no sense in an address is left out", () => {
  expect(
    readView(`?tab=nowhere&painted={"a":"url(x)"}&range=[1]&off=7&smooth=x&x=weeks&isLogX=true`),
  ).toEqual({
    ...DEFAULTS,
    isLogX: true,
  });
});
