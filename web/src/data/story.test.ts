import { expect, test } from "vitest";
import { flatten, readDiff, spell, spellCommand, spellHost } from "./story";

test("nested settings get dotted names", () => {
  expect(flatten({ model: { width: 64, act: { name: "relu" } }, tags: ["a"], none: {} })).toEqual([
    ["model.width", 64],
    ["model.act.name", "relu"],
    ["tags", ["a"]],
    ["none", {}],
  ]);
});

test("the lines of a diff are classified", () => {
  const text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same";
  expect(readDiff(text).map((line) => line.kind)).toEqual([
    "file",
    "file",
    "file",
    "hunk",
    "removed",
    "added",
    "same",
  ]);
});

test("text is shown unchanged, everything else as JSON", () => {
  expect([spell("a b"), spell([1, "x"]), spell(null), spell(undefined)]).toEqual([
    "a b",
    '[1,"x"]',
    "null",
    "",
  ]);
});

test("a command is quoted for the shell", () => {
  const orig_argv = ["python", "train.py", "--name", "it's a test", "--lr=0.1"];
  const typed = `python train.py --name 'it'\\''s a test' --lr=0.1`;
  expect(spellCommand({ argv: ["train.py"], orig_argv })).toBe(typed);
  expect(spellCommand({ argv: ["train.py"] })).toBe("train.py");
  expect([spellCommand(null), spellCommand("make"), spellCommand({})]).toEqual(["", "make", ""]);
});

test("memory is shown with a unit", () => {
  expect(spellHost({ memory: 25_276_518_400, cpu_count: 2 })).toEqual([
    ["memory", "25.3 GB"],
    ["cpu_count", "2"],
  ]);
});
