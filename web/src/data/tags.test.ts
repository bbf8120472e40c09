import { expect, test } from "vitest";
import { makeFilter, makeSections } from "./tags";

test("tags match by substring, pattern or incomplete pattern", () => {
  const tags = ["train/loss", "val/loss", "val/f(x)"];
  expect(tags.filter(makeFilter("LOSS"))).toEqual(["train/loss", "val/loss"]);
  expect(tags.filter(makeFilter("^val/l"))).toEqual(["val/loss"]);
  expect(tags.filter(makeFilter("f(x"))).toEqual(["val/f(x)"]);
  expect(tags.filter(makeFilter("f(x)"))).toEqual(["val/f(x)"]);
  expect(tags.filter(makeFilter(""))).toEqual(tags);
});

test("sections are named after the part before the first slash, with system metrics last", () => {
  expect(makeSections(["b/10", "system/cpu", "lr", "t/2", "b/9", "a/x/y", "/odd"])).toEqual([
    { prefix: "", tags: ["/odd", "lr"] },
    { prefix: "a", tags: ["a/x/y"] },
    { prefix: "b", tags: ["b/9", "b/10"] },
    { prefix: "t", tags: ["t/2"] },
    { prefix: "system", tags: ["system/cpu"] },
  ]);
});

test("a tag can have the name of a built-in property", () => {
  expect(makeSections(["__proto__/constructor", "toString"]).map(({ prefix }) => prefix)).toEqual([
    "",
    "__proto__",
  ]);
});
