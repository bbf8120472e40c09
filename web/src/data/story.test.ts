import { expect, test } from "vitest";
import { flatten, readDiff, spell, spellCommand, spellHost } from "./story";

test("nested settings are named by dots", () => {
  expect(flatten({ model: { width: 64, act: { name: "relu" } }, tags: ["a"], none: {} })).toEqual([
    ["model.width", 64],
    ["model.act.name", "relu"],
    ["tags", ["a"]],
    ["none", {}],
  ]);
});

test("lines of a diff are told apart", () => {
  const text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same";
  expect(readDiff(text).map((line) => line.kind)).toEqual([
    "file",
    "file",
    "file",
    "place",
    "removed",
    "added",
    "same",
  ]);
});

test("a text is shown as it is, all else as JSON", () => {
  expect([spell("a b"), spell([1, "x"]), spell(null), spell(undefined)]).toEqual([
    "a b",
    '[1,"x"]',
    "null",
    "",
  ]);
});

test("a command can be typed as it stands", () => {
  const orig_argv = ["python", "train.py", "--name", "it's a test", "--lr=0.1"];
  const typed = `python train.py --name 'it'\\''s a test' --lr=0.1`;
  expect(spellCommand({ argv: ["train.py"], orig_argv })).toBe(typed);
  expect(spellCommand({ argv: ["train.py"] })).toBe("train.py");
  expect([spellCommand(null), spellCommand("make"), spellCommand({})]).toEqual(["", "make", ""]);
});

test("memory is told in units", () => {
  expect(spellHost({ memory: 25_276_518_400, cpu_count: 2 })).toEqual([
    ["memory", "25.3 GB"],
    ["cpu_count", "2"],
  ]);
});
