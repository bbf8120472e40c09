import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { isSafeLink, Markdown } from "./markdown";

const show = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

test("common Markdown is formatted", () => {
  const shown = show("# Title\n\n**bold** and `x`\n\n- one\n- two\n\n| a |\n|---|\n| 1 |");
  for (const part of ["<h3>Title</h3>", "<strong>bold</strong>", "<li>", "<td>1</td>"]) {
    expect(shown).toContain(part);
  }
});

test.each([
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "text <b onclick=alert(1)>b</b>",
  "![tracker](https://example.com/x.png)",
  "<svg/onload=alert(1)>",
])("%s is shown as text", (text) => {
  const shown = show(text);
  expect(shown).not.toMatch(/<(script|img|b|svg)[\s>/]/);
  expect(shown).toContain("&lt;".repeat(text.startsWith("!") ? 0 : 1));
});

test.each([
  ["https://example.com", true],
  ["mailto:a@b.c", true],
  ["javascript:alert(1)", false],
  [" JavaScript:alert(1)", false],
  ["data:text/html,x", false],
  ["//evil.example", false],
])("a link to %s is rendered: %s", (address, isLink) => {
  expect(isSafeLink(address)).toBe(isLink);
  expect(show(`[x](${address.trim()})`).includes("<a ")).toBe(isLink);
});
