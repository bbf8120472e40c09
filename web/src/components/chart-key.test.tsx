import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { makeLines } from "../data/lines";
import type { Series } from "../data/series";
import { ChartKey } from "./chart-key";

function group(name: string, ...count: number[]): Series {
  const x = Float64Array.from(count.keys());
  return {
    ...{ name, runs: [name], tag: "loss", x, y: x, low: x, high: x, smoothed: null, weight: 0 },
    ...{ count: count.length ? Float64Array.from(count) : null, points: 1, shown: 1 },
    ...{ hidden: 0, lost: 0, note: "" },
  };
}

function show(series: Series[], isFull = false): string {
  const style = { smooth: 0, colorOf: () => "red", colorOfTag: () => "red" };
  const html = renderToStaticMarkup(<ChartKey lines={makeLines(series, style)} isFull={isFull} />);
  return html
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

test("each group shows its range of n", () => {
  expect(show([group("lr=0.1", 6, 6, 4), group("lr=0.2", 6, 6)])).toBe("lr=0.1 n=4-6 lr=0.2 n=6");
});

test("single runs have no key", () => {
  expect(show([group("a"), group("b")])).toBe("");
});

test("a small chart lists the first groups, a full-size chart lists more", () => {
  const many = [..."abcdefg"].map((name) => group(name, 2));
  expect(show(many)).toBe("a n=2 b n=2 c n=2 d n=2 and 3 more");
  expect(show(many, true)).toContain("g n=2");
});
