import { expect, test } from "vitest";
import { makeFilter, makeSections } from "./tags";

test("tags are found by a part, by a pattern, and by half a pattern", () => {
  const tags = ["train/loss", "val/loss", "val/f(x)"];
  expect(tags.filter(makeFilter("LOSS"))).toEqual(["train/loss", "val/loss"]);
  expect(tags.filter(makeFilter("^val/l"))).toEqual(["val/loss"]);
  expect(tags.filter(makeFilter("f(x"))).toEqual(["val/f(x)"]);
  expect(tags.filter(makeFilter("f(x)"))).toEqual(["val/f(x)"]);
  expect(tags.filter(makeFilter(""))).toEqual(tags);
});

test("sections are the parts before the first slash, numbers in order, the machine last", () => {
  expect(makeSections(["b/10", "system/cpu", "lr", "t/2", "b/9", "a/x/y", "/odd"])).toEqual([
    { prefix: "", tags: ["/odd", "lr"] },
    { prefix: "a", tags: ["a/x/y"] },
    { prefix: "b", tags: ["b/9", "b/10"] },
    { prefix: "t", tags: ["t/2"] },
    { prefix: "system", tags: ["system/cpu"] },
  ]);
});

test("a tag may have the name of something in the language", () => {
  expect(makeSections(["__proto__/constructor", "toString"]).map((one) => one.prefix)).toEqual([
    "",
    "__proto__",
  ]);
});
