import type { Token } from "marked";
import { expect, test } from "vitest";
import { parseMarkdown, WORK } from "./markdown";

const HOSTILE = [
  "_a",
  "*a",
  "**a",
  "***a ",
  "_*a",
  "__a",
  "~~a ",
  "a**b**c* ",
  "`",
  "``a` ",
  "[",
  "[a](",
  "[a][",
  "[[]",
  "![",
  "![[",
  "![a](b",
  "[a]: b\n",
  "(http://a",
  "www.a",
  "a@",
  "<",
  "<a ",
  "<!--",
  "</a",
  ">",
  "> > ",
  ">a\n",
  "- ",
  "- a\n",
  "1. ",
  "|",
  "|a|\n|-|\n",
  "a|b\n",
  "#",
  "```\n",
  "\\",
  "&",
  "\n",
];

function walk(tokens: readonly Token[], depth = 1): { count: number; depth: number } {
  const inner = tokens.map((token) => {
    const below = [...((token as { tokens?: Token[] }).tokens ?? [])];
    below.push(...((token as { items?: Token[] }).items ?? []));
    return walk(below, depth + 1);
  });
  return {
    count: tokens.length + inner.reduce((sum, one) => sum + one.count, 0),
    depth: Math.max(depth, ...inner.map((one) => one.depth)),
  };
}

test("a usual text is formatted in full", () => {
  const text = "# Title\n\nSome *words* and `code`, see [this](https://example.com).\n\n".repeat(
    100,
  );
  const parsed = parseMarkdown(text);
  expect([parsed.rest, parsed.isSimplified]).toEqual(["", false]);
  expect(parsed.tokens.filter((token) => token.type === "heading")).toHaveLength(100);
});

test.each(HOSTILE)("199,000 characters of %j cost a bounded amount of work", (pattern) => {
  const text = pattern.repeat(Math.ceil(199_000 / pattern.length));
  for (const whole of [text, `|a|\n|-|\n${text}`, text.slice(0, 19_000)]) {
    const parsed = parseMarkdown(whole);
    expect(parsed.work).toBeLessThanOrEqual(WORK);
    const size = walk(parsed.tokens);
    expect(size.count).toBeLessThanOrEqual(25_000);
    expect(size.depth).toBeLessThanOrEqual(60);
    const shown = parsed.tokens.map((token) => token.raw).join("") + parsed.rest;
    expect(shown.replace(/\s/g, "").length).toBe(whole.replace(/\s/g, "").length);
  }
});

test("texts that are shown together share the work", () => {
  const text = "_a".repeat(400);
  expect(parseMarkdown(text, 1).isSimplified).toBe(false);
  const parsed = parseMarkdown(text, 1000);
  expect([parsed.tokens.length, parsed.rest]).toEqual([0, text]);
});

test("a long text is cut at the end of a paragraph", () => {
  const text = `${"word ".repeat(3000)}\n\n${"more ".repeat(3000)}`;
  expect(parseMarkdown(text).rest).toBe(`\n\n${"more ".repeat(3000)}`);
});
