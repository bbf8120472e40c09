/** Tooltip with the value of each line at the pointer. There is one for the whole page. */

import { cutRows, type HoverPoint } from "../data/hover";
import { nameCount } from "../data/lines";
import type { Flag } from "../data/marks";
import { formatNumber } from "../format/number";

const MOST_ROWS = 16;

function make(tag: string, className: string, parent: HTMLElement): HTMLElement {
  const element = document.createElement(tag);
  element.className = className;
  parent.append(element);
  return element;
}

interface Row {
  root: HTMLElement;
  swatch: HTMLElement;
  name: HTMLElement;
  value: HTMLElement;
  more: HTMLElement;
  x: HTMLElement;
}

/** Tooltip built without React, because it changes with every pointer move. */
class HoverTable {
  private readonly root = make("div", "hover-table", document.body);
  private readonly title = make("p", "hover-title", this.root);
  private readonly marked = make("p", "hover-marks", this.root);
  private readonly above = make("p", "hover-cut", this.root);
  private readonly body = make("tbody", "", make("table", "", this.root));
  private readonly below = make("p", "hover-cut", this.root);
  private readonly rows: Row[] = [];

  constructor() {
    this.root.role = "tooltip";
    this.root.hidden = true;
  }

  /** Show the x of the nearest line as the title. A line with a different x shows it in its row. */
  show(
    points: readonly HoverPoint[],
    nearest: number,
    nameX: (x: number) => string,
    at: { x: number; y: number },
    flags: readonly Flag[],
  ): void {
    const [start, end] = cutRows(points.length, nearest, MOST_ROWS);
    const main = points[nearest] ?? points[0];
    const x = main ? (main.line.x[main.index] as number) : (flags[0]?.x ?? Number.NaN);
    this.title.textContent = nameX(x);
    this.marked.textContent = flags.map((flag) => `┆ ${flag.label}`).join("\n");
    this.above.textContent = start ? `${start} more above` : "";
    this.below.textContent = end < points.length ? `${points.length - end} more below` : "";
    for (let index = start; index < end; index++) {
      this.fill(this.row(index - start), points[index] as HoverPoint, index === nearest, x, nameX);
    }
    for (const [index, row] of this.rows.entries()) row.root.hidden = index >= end - start;
    this.root.hidden = false;
    this.moveTo(at);
  }

  hide(): void {
    this.root.hidden = true;
  }

  private fill(
    row: Row,
    { line, index, y }: HoverPoint,
    isNearest: boolean,
    x: number,
    nameX: (x: number) => string,
  ) {
    row.root.className = isNearest ? "nearest" : "";
    row.swatch.style.background = line.color;
    row.name.textContent = line.short;
    row.value.textContent = formatNumber(y, 5);
    row.more.textContent = this.more(line, index);
    const own = line.x[index] as number;
    row.x.textContent = own === x ? "" : nameX(own);
  }

  private more(line: HoverPoint["line"], index: number): string {
    const parts: string[] = [];
    if (line.raw) parts.push(`unsmoothed ${formatNumber(line.raw[index] ?? null, 5)}`);
    if (line.low && line.high) {
      const [low, high] = [line.low[index] ?? null, line.high[index] ?? null];
      parts.push(`${formatNumber(low)} … ${formatNumber(high)}`);
    }
    if (line.series.count) parts.push(nameCount(line, index));
    return parts.join(", ");
  }

  private row(index: number): Row {
    const existing = this.rows[index];
    if (existing) return existing;
    const root = make("tr", "", this.body);
    const row = {
      root,
      swatch: make("span", "swatch", make("td", "", root)),
      name: make("td", "hover-name", root),
      value: make("td", "number", root),
      more: make("td", "faint", root),
      x: make("td", "number faint", root),
    };
    this.rows.push(row);
    return row;
  }

  /** Move next to the pointer, on the side towards the middle of the page. Needs no layout. */
  private moveTo({ x, y }: { x: number; y: number }): void {
    const isRight = x > innerWidth / 2;
    const isLow = y > innerHeight / 2;
    const [left, top] = [x + (isRight ? -18 : 18), y + (isLow ? -14 : 14)].map(Math.round);
    const own = `translate(${isRight ? "-100%" : "0"}, ${isLow ? "-100%" : "0"})`;
    this.root.style.transform = `translate(${left}px, ${top}px) ${own}`;
  }
}

let table: HoverTable | null = null;

export function hoverTable(): HoverTable {
  table ??= new HoverTable();
  return table;
}
