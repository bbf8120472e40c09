/** The table beside the pointer: what each line says there. One for the whole page. */

import { cutRows, type Found } from "../data/hover";
import { nameCount } from "../data/lines";
import type { Flag } from "../data/marks";
import { formatNumber } from "../format/number";

const MOST = 16;

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

/** Made without React, because it changes with every move of the pointer. */
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

  /** The title has the x of the line that is meant, the others have theirs where it differs. */
  show(
    found: readonly Found[],
    nearest: number,
    nameX: (x: number) => string,
    at: { x: number; y: number },
    flags: readonly Flag[],
  ): void {
    const [start, end] = cutRows(found.length, nearest, MOST);
    const meant = found[nearest] ?? found[0];
    const x = meant ? (meant.line.x[meant.place] as number) : (flags[0]?.x ?? Number.NaN);
    this.title.textContent = nameX(x);
    this.marked.textContent = flags.map((flag) => `┆ ${flag.label}`).join("\n");
    this.above.textContent = start ? `${start} more above` : "";
    this.below.textContent = end < found.length ? `${found.length - end} more below` : "";
    for (let place = start; place < end; place++) {
      this.fill(this.row(place - start), found[place] as Found, place === nearest, x, nameX);
    }
    for (const [place, row] of this.rows.entries()) row.root.hidden = place >= end - start;
    this.root.hidden = false;
    this.place(at);
  }

  hide(): void {
    this.root.hidden = true;
  }

  private fill(
    row: Row,
    { line, place, y }: Found,
    isNearest: boolean,
    x: number,
    nameX: (x: number) => string,
  ) {
    row.root.className = isNearest ? "nearest" : "";
    row.swatch.style.background = line.colour;
    row.name.textContent = line.short;
    row.value.textContent = formatNumber(y, 5);
    row.more.textContent = this.more(line, place);
    const own = line.x[place] as number;
    row.x.textContent = own === x ? "" : nameX(own);
  }

  private more(line: Found["line"], place: number): string {
    const parts: string[] = [];
    if (line.raw) parts.push(`unsmoothed ${formatNumber(line.raw[place] ?? null, 5)}`);
    if (line.low && line.high) {
      const [low, high] = [line.low[place] ?? null, line.high[place] ?? null];
      parts.push(`${formatNumber(low)} … ${formatNumber(high)}`);
    }
    if (line.series.count) parts.push(nameCount(line, place));
    return parts.join(", ");
  }

  private row(place: number): Row {
    const before = this.rows[place];
    if (before) return before;
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

  /** Beside the pointer, towards the middle of the page, where there is room; without a layout. */
  private place({ x, y }: { x: number; y: number }): void {
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
