import { expect, test } from "vitest";
import { makeLines } from "../data/lines";
import { escapeXml, type Picture, writeSvg } from "./svg";

function picture(name: string, y: number[]): Picture {
  const series = {
    name,
    runs: [name],
    tag: "t",
    x: Float64Array.from(y.keys()),
    y: Float64Array.from(y),
    smoothed: null,
    weight: 0,
    low: null,
    high: null,
    count: null,
    points: y.length,
    shown: y.length,
    hidden: 0,
    lost: 0,
    note: "",
  };
  const style = { smooth: 0, colorOf: () => "#123456", colorOfTag: () => "" };
  return {
    title: "loss",
    lines: makeLines([series], style),
    flags: [],
    x: [0, 3],
    y: [0, 4],
    measureX: "linear",
    measureY: "linear",
    xLabel: "step",
    width: 400,
    height: 300,
    ink: "black",
    faint: "gray",
    paper: "white",
  };
}

test("names from a log are escaped", () => {
  const text = writeSvg(picture("<script>alert(1)</script>\u0000", [1, 2]));
  expect(text).not.toContain("<script");
  expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;\ufffd");
  expect(escapeXml('"&')).toBe("&quot;&amp;");
  expect(escapeXml("\u{1f600}\ud800")).toBe("\u{1f600}\ufffd");
});

test("a line, its gap and a mark for infinity are drawn", () => {
  const text = writeSvg(picture("a", [1, Number.POSITIVE_INFINITY, 3, 4]));
  expect(text).toContain('stroke="#123456"');
  expect(text.match(/h8L/g)).toHaveLength(1);
  expect(text).not.toContain("NaN");
});

test("marks are vertical lines with escaped labels", () => {
  const flags = [
    { x: 1.5, color: "#654321", label: "<b>halved</b> (a)" },
    { x: Number.NaN, color: "#654321", label: "nowhere" },
  ];
  const text = writeSvg({ ...picture("a", [1, 2, 3, 4]), flags });
  expect(text).toContain('<path d="M221.0 34V256" stroke="#654321" stroke-dasharray="4 3"/>');
  expect(text).toContain("&lt;b&gt;halved&lt;/b&gt; (a)</text>");
  expect(text).not.toContain("nowhere");
});
