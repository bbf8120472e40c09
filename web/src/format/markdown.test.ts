import type { Token } from "marked";
import { expect, test } from "vitest";
import { MOST, parseMarkdown, splitLines } from "./markdown";

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
  "&amp;",
  "<b>a</b>",
  "- [ ] a\n",
  "a  \n",
  "    a\n",
  "``\n",
  "> - > a\n",
  "1. a\n   1. b\n",
  "a\n=\n",
  "\n",
];

function walk(tokens: readonly Token[], depth = 1): { count: number; depth: number } {
  const inner = tokens.map((token) => {
    const below = [...((token as { tokens?: Token[] }).tokens ?? [])];
    below.push(...((token as { items?: Token[] }).items ?? []));
    return walk(below, depth + 1);
  });
  return {
    count: tokens.length + inner.reduce((sum, part) => sum + part.count, 0),
    depth: Math.max(depth, ...inner.map((part) => part.depth)),
  };
}

test("normal text is fully formatted", () => {
  const text = "# Title\n\nSome *words* and `code`, see [this](https://example.com).\n\n".repeat(
    100,
  );
  const parsed = parseMarkdown(text);
  expect([parsed.rest, parsed.isSimplified]).toEqual(["", false]);
  expect(parsed.tokens.filter((token) => token.type === "heading")).toHaveLength(100);
});

test.each(HOSTILE)("199,000 characters of %j take a bounded amount of work", (pattern) => {
  const text = pattern.repeat(Math.ceil(199_000 / pattern.length));
  const short = text.slice(0, 19_000);
  const nested = `${"- ".repeat(15)}${pattern}\n`.repeat(400);
  for (const whole of [text, `|a|\n|-|\n${text}`, short, `- ${short}`, `> ${short}`, nested]) {
    const parsed = parseMarkdown(whole);
    expect(parsed.work.markup).toBeLessThanOrEqual(MOST.markup);
    expect(parsed.work.lines).toBeLessThanOrEqual(MOST.lines);
    const size = walk(parsed.tokens);
    expect(size.count).toBeLessThanOrEqual(2.5 * MOST.elements);
    expect(size.depth).toBeLessThanOrEqual(60);
    const shown = parsed.tokens.map((token) => token.raw).join("") + parsed.rest;
    expect(shown.replace(/\s/g, "").length).toBe(whole.replace(/\s/g, "").length);
  }
});

test("a list item with too many lines stays plain text", () => {
  const text = `${"- ".repeat(15)}a\n${"  a\n".repeat(1900)}`;
  const parsed = parseMarkdown(text);
  expect([parsed.isSimplified, parsed.rest]).toEqual([true, ""]);
  expect(parsed.work.lines).toBeLessThanOrEqual(MOST.lines);
});

test("a table with few characters and too many cells stays plain text", () => {
  const table = `${"|a".repeat(500)}|\n${"|-".repeat(500)}|\n${"|a\n".repeat(1500)}`;
  const parsed = parseMarkdown(`before\n\n${table}\n*after*`);
  expect(parsed.isSimplified).toBe(true);
  expect(parsed.tokens.find((token) => token.type === "code")?.raw.trim()).toBe(table.trim());
  expect(parsed.tokens.at(-1)).toMatchObject({ tokens: [{ type: "em" }] });
});

test("a table of 200 rows and a README of 15,000 characters are fully formatted", () => {
  const row = "| `run-1` | 0.1234 | 1e-3 | **0.9** | adam | yes | 17 | a few words |\n";
  const table = `${row}${"|-".repeat(8)}|\n${row.repeat(200)}`;
  const part =
    "## Title\n\nSome *words* and `code`, see [this](https://example.com).\n\n- one **item**\n- two\n  - three\n\n```\nmake test\n```\n\n";
  const readme = part.repeat(Math.ceil(15_000 / part.length));
  for (const text of [table, readme]) {
    const parsed = parseMarkdown(text);
    expect([parsed.rest, parsed.isSimplified]).toEqual(["", false]);
  }
});

test("text with too many lines is cut", () => {
  const parsed = parseMarkdown("a\n\n".repeat(4000));
  expect(parsed.tokens.length).toBeLessThanOrEqual(MOST.elements / 2);
  expect(parsed.rest.length).toBeGreaterThan(0);
});

test("texts that are shown together share the limits", () => {
  const text = "_a".repeat(400);
  expect(parseMarkdown(text, 1).isSimplified).toBe(false);
  const parsed = parseMarkdown(text, 1000);
  expect([parsed.tokens.length, parsed.rest]).toEqual([0, text]);
});

test("long text is cut at the end of a paragraph", () => {
  const text = `${"word ".repeat(3000)}\n\n${"more ".repeat(3000)}`;
  expect(parseMarkdown(text).rest).toBe(`\n\n${"more ".repeat(3000)}`);
});

test("plain text with many lines is split into pieces without loss", () => {
  for (const text of ["", "a", "a\n", "\n".repeat(10), "a\n\nb\nc\n".repeat(7)]) {
    const pieces = splitLines(text, 3);
    expect(pieces.join("\n")).toBe(text);
    expect(pieces.every((piece) => piece.split("\n").length <= 3)).toBe(true);
  }
});
