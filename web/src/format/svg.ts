/** Writes a chart as SVG, with axes, title and legend. */

import { indicesIn, type Line, piecesOf } from "../data/lines";
import type { Flag } from "../data/marks";
import type { Range } from "../scale/range";
import { type Measure, makeTicks, nameTicks } from "../scale/ticks";
import {
  type Marks,
  makeProject,
  type Pen,
  type Project,
  traceBand,
  traceLine,
} from "../scale/trace";

export interface Picture {
  title: string;
  lines: readonly Line[];
  flags: readonly Flag[];
  x: Range;
  y: Range;
  measureX: Measure;
  measureY: Measure;
  xLabel: string;
  width: number;
  height: number;
  ink: string;
  faint: string;
  paper: string;
}

const MOST_NAMES = 15;
const [LEFT, RIGHT, TOP, BOTTOM] = [56, 14, 34, 44];

/** Escape text for XML and replace characters that XML does not allow. */
export function escapeXml(text: string): string {
  const marks: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return (
    text
      .replace(/[&<>"]/g, (mark) => marks[mark] ?? "")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: tags can contain characters that XML does not allow
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/gu, "\ufffd")
  );
}

class PathPen implements Pen {
  private readonly parts: string[] = [];
  moveTo(x: number, y: number): void {
    this.parts.push(`M${x.toFixed(1)} ${y.toFixed(1)}`);
  }
  lineTo(x: number, y: number): void {
    this.parts.push(`L${x.toFixed(1)} ${y.toFixed(1)}`);
  }
  get path(): string {
    return this.parts.join("");
  }
}

export function writeSvg(picture: Picture): string {
  const { width, height, lines, flags, ink, paper } = picture;
  const names = lines.slice(0, MOST_NAMES);
  const legend = (names.length + (lines.length > names.length ? 1 : 0)) * 16 + 8;
  const toX = makeProject(picture.x, LEFT, width - RIGHT, picture.measureX === "log");
  const toY = makeProject(picture.y, height - BOTTOM, TOP, picture.measureY === "log");
  const box = `x="${LEFT}" y="${TOP}" width="${width - LEFT - RIGHT}" height="${height - TOP - BOTTOM}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + legend}" viewBox="0 0 ${width} ${height + legend}" font-family="system-ui, sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="${paper}"/>`,
    `<text x="${LEFT}" y="20" font-size="14" font-weight="600" fill="${ink}">${escapeXml(picture.title)}</text>`,
    axes(picture, toX, toY),
    `<clipPath id="plot"><rect ${box}/></clipPath><g clip-path="url(#plot)" fill="none" stroke-linejoin="bevel">`,
    ...flags.map((mark) => flag(mark, height, toX)),
    ...lines.map((line) => band(line, picture.x, toX, toY)),
    ...lines.map((line) => stroke(line, picture, toX, toY)),
    "</g>",
    ...names.map((line, row) => name(nameOf(line), line, height + row * 16 + 6, ink)),
    lines.length > names.length
      ? `<text x="${LEFT + 26}" y="${height + names.length * 16 + 6}" fill="${ink}">and ${lines.length - names.length} more</text>`
      : "",
    "</svg>",
  ].join("\n");
}

function axes(
  { x, y, measureX, measureY, width, height, faint, xLabel }: Picture,
  toX: Project,
  toY: Project,
): string {
  const parts: string[] = [];
  const [bottom, right] = [height - BOTTOM, width - RIGHT];
  const across = makeTicks(x[0], x[1], Math.max(2, width / 110), measureX);
  for (const [index, text] of nameTicks(across, measureX).entries()) {
    const at = toX(across[index] as number).toFixed(1);
    parts.push(`<path d="M${at} ${TOP}V${bottom}" stroke="${faint}" stroke-opacity=".25"/>`);
    parts.push(
      `<text x="${at}" y="${bottom + 15}" text-anchor="middle" fill="${faint}">${escapeXml(text)}</text>`,
    );
  }
  const up = makeTicks(y[0], y[1], Math.max(2, height / 50), measureY);
  for (const [index, text] of nameTicks(up, measureY).entries()) {
    const at = toY(up[index] as number);
    parts.push(
      `<path d="M${LEFT} ${at.toFixed(1)}H${right}" stroke="${faint}" stroke-opacity=".25"/>`,
    );
    parts.push(
      `<text x="${LEFT - 6}" y="${(at + 4).toFixed(1)}" text-anchor="end" fill="${faint}">${escapeXml(text)}</text>`,
    );
  }
  parts.push(
    `<text x="${right}" y="${bottom + 30}" text-anchor="end" fill="${faint}">${escapeXml(xLabel)}</text>`,
  );
  return parts.join("");
}

function flag({ x, color, label }: Flag, height: number, toX: Project): string {
  const at = toX(x);
  if (!Number.isFinite(at)) return "";
  const turned = `translate(${(at - 4).toFixed(1)} ${height - BOTTOM - 6}) rotate(-90)`;
  return `<path d="M${at.toFixed(1)} ${TOP}V${height - BOTTOM}" stroke="${color}" stroke-dasharray="4 3"/><text transform="${turned}" font-size="9" fill="${color}">${escapeXml(label)}</text>`;
}

function band(line: Line, x: Range, toX: Project, toY: Project): string {
  if (!line.low || !line.high) return "";
  const pen = new PathPen();
  traceBand(line.x, line.low, line.high, indicesIn(line, x), toX, toY, pen);
  return `<path d="${pen.path}" fill="${line.color}" fill-opacity=".18"/>`;
}

function stroke(line: Line, picture: Picture, toX: Project, toY: Project): string {
  const parts: string[] = [];
  const marks: Marks = { dots: [], infinities: [] };
  const raw: [Float64Array, readonly number[]][] = line.raw ? [[line.raw, line.dash]] : [];
  for (const [values, dashes] of [...raw, ...piecesOf(line)]) {
    const pen = new PathPen();
    traceLine(
      line.x,
      values,
      indicesIn(line, picture.x),
      toX,
      toY,
      pen,
      values === line.raw ? null : marks,
    );
    const faint = values === line.raw ? ' stroke-opacity=".25"' : "";
    const dash = dashes.length ? ` stroke-dasharray="${dashes.join(" ")}"` : "";
    parts.push(`<path d="${pen.path}" stroke="${line.color}" stroke-width="1.4"${faint}${dash}/>`);
  }
  for (const index of line.changes) {
    const [x, y] = [toX(line.x[index] as number), toY(line.y[index] as number)];
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    parts.push(
      `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" stroke="${line.color}" stroke-width="1.4"/>`,
    );
  }
  for (const [x, y] of marks.dots)
    parts.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2" fill="${line.color}"/>`);
  for (const [x, sign] of marks.infinities) {
    const [tip, base] =
      sign > 0 ? [TOP + 1, TOP + 8] : [picture.height - BOTTOM - 1, picture.height - BOTTOM - 8];
    parts.push(
      `<path d="M${(x - 4).toFixed(1)} ${base}h8L${x.toFixed(1)} ${tip}Z" fill="${line.color}"/>`,
    );
  }
  return parts.join("");
}

const nameOf = ({ short, count }: Line) => (count ? `${short} (${count})` : short);

function name(label: string, line: Line, y: number, ink: string): string {
  const dash = line.dash.length ? ` stroke-dasharray="${line.dash.join(" ")}"` : "";
  return `<path d="M${LEFT} ${y - 4}h20" stroke="${line.color}" stroke-width="2"${dash}/><text x="${LEFT + 26}" y="${y}" fill="${ink}">${escapeXml(label)}</text>`;
}
