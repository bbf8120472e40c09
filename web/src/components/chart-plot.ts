/** Chart on the screen: uPlot draws the axes and tracks the pointer; a canvas shows the lines. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { findNearest, findPoints } from "../data/hover";
import { type Line, rangeOfX, rangeOfY } from "../data/lines";
import type { Flag } from "../data/marks";
import type { Picture } from "../format/svg";
import type { Range } from "../scale/range";
import type { Measure } from "../scale/ticks";
import { axisColors, makeAxis } from "./chart-axis";
import { hoverTable } from "./chart-hover";
import { type Frame, paintHighlight, paintQueue } from "./chart-layer";
import { findFlags, paintFlags } from "./chart-marks";

export interface PlotStyle {
  measureX: Measure;
  measureY: Measure;
  isRobust: boolean;
  nameX: (x: number) => string;
}

const SYNC = "curves";
// In a chart with at most this many lines, each gets a dot at the pointer and none fades.
const FEW_LINES = 6;

export class Plot {
  private readonly plot: uPlot;
  private readonly base = document.createElement("canvas");
  /** Canvas over the lines; exists only while the pointer is over the chart, to save memory. */
  private top: HTMLCanvasElement | null = null;
  private lines: readonly Line[] = [];
  private flags: readonly Flag[] = [];
  private range: Range | null = null;
  private x: Range = [0, 1];
  private y: Range = [0, 1];
  private isPointed = false;
  private isUrgent = false;
  private isDragged = false;
  /** An update that arrived during a drag, postponed because it would end the drag. */
  private postponed: (() => void) | null = null;
  private handle = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly size: readonly [number, number],
    private readonly style: PlotStyle,
    private readonly onZoom: (range: Range | null) => void,
  ) {
    this.plot = new uPlot(this.options(), this.data(), host);
    const { over } = this.plot;
    this.base.className = "lines";
    over.before(this.base);
    over.addEventListener("mouseenter", this.enter);
    over.addEventListener("mouseleave", this.leave);
    over.addEventListener("mousedown", this.grab);
    // Added after uPlot's own listener, which may turn the drag into a zoom.
    addEventListener("mouseup", this.release);
    this.fit();
  }

  /** Show lines in a range of x, or in their full range. */
  show(lines: readonly Line[], range: Range | null): void {
    const isSame = lines === this.lines && String(range) === String(this.range);
    if (isSame && lines.length) return;
    if (this.isDragged) {
      this.postponed = () => this.show(lines, range);
      return;
    }
    this.lines = lines;
    this.range = range;
    this.measure();
    this.plot.setData(this.data());
    if (this.isPointed) this.point();
  }

  /** Draw a vertical line for each marked event, below the series. */
  mark(flags: readonly Flag[]): void {
    if (flags.length || this.flags.length) this.plot.redraw(false);
    this.flags = flags;
  }

  resize(width: number, height: number): void {
    if (width === this.plot.width && height === this.plot.height) return;
    this.plot.setSize({ width, height });
  }

  destroy(): void {
    this.leave();
    removeEventListener("mouseup", this.release);
    paintQueue.remove(this.base);
    this.plot.destroy();
  }

  /** Move the pointer by a share of the width; the tooltip follows as it does for a mouse. */
  step(share: number): void {
    const { width, height } = this.plot.over.getBoundingClientRect();
    const before = this.plot.cursor.left ?? -1;
    const left = before < 0 ? width / 2 : Math.min(width, Math.max(0, before + share * width));
    this.isPointed = true;
    this.plot.setCursor({ left, top: this.plot.cursor.top ?? height / 2 });
  }

  /** Return the x range, moved by a share of its width and scaled by a factor. */
  shifted(move: number, factor: number): Range {
    const isLog = this.style.measureX === "log";
    const [low, high] = isLog ? [Math.log(this.x[0]), Math.log(this.x[1])] : this.x;
    const middle = (low + high) / 2 + move * (high - low);
    const half = ((high - low) / 2) * factor;
    const ends: Range = [middle - half, middle + half];
    return isLog ? [Math.exp(ends[0]), Math.exp(ends[1])] : ends;
  }

  leave = (): void => {
    if (!this.isPointed) return;
    this.isPointed = false;
    hoverTable().hide();
    this.base.style.opacity = "";
    this.top?.remove();
    this.top = null;
  };

  /** Return the current chart for export. */
  picture(title: string, xLabel: string): Picture {
    const { backgroundColor } = getComputedStyle(this.host);
    const { color: ink } = getComputedStyle(document.body);
    return {
      title,
      xLabel,
      lines: this.lines,
      flags: this.flags,
      x: this.x,
      y: this.y,
      measureX: this.style.measureX,
      measureY: this.style.measureY,
      width: 800,
      height: 480,
      ink,
      faint: axisColors(this.host).ink,
      paper: backgroundColor,
    };
  }

  private enter = (): void => {
    this.isPointed = true;
  };

  private grab = (): void => {
    this.isDragged = true;
  };

  private release = (): void => {
    this.isDragged = false;
    this.postponed?.();
    this.postponed = null;
  };

  private measure(): void {
    const { measureX, measureY, isRobust } = this.style;
    this.x = this.range ?? rangeOfX(this.lines, measureX === "log") ?? [1, 2];
    if (measureX === "log" && this.x[0] <= 0) {
      const all = rangeOfX(this.lines, true) ?? [1, 2];
      this.x = [Math.min(all[0], this.x[1] / 2), this.x[1]];
    }
    this.y = rangeOfY(this.lines, this.x, measureY === "log", isRobust);
  }

  /** Return only the corners, for uPlot to measure. The lines have their own x values. */
  private data(): uPlot.AlignedData {
    return [this.x, this.y];
  }

  private options(): uPlot.Options {
    const { measureX, measureY } = this.style;
    return {
      width: Math.max(this.size[0], 50),
      height: Math.max(this.size[1], 50),
      padding: [8, 18, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, distr: measureX === "log" ? 3 : 1, range: () => this.x },
        y: { distr: measureY === "log" ? 3 : 1, range: () => this.y },
      },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: [
        { ...makeAxis(this.host, measureX, 80), size: 26 },
        { ...makeAxis(this.host, measureY, 38), size: 50 },
      ],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 4 },
        bind: { dblclick: () => () => this.zoom(null) },
        sync: {
          key: SYNC,
          setSeries: false,
          scales: ["x", null],
          // Do not share drags: the other charts get the new range through the URL.
          filters: { pub: (type) => type === "mousemove" || type === "mouseleave" },
        },
      },
      hooks: {
        setSelect: [(plot) => this.select(plot)],
        setCursor: [() => this.isPointed && this.pointSoon()],
        draw: [() => this.paint()],
      },
    };
  }

  private zoom(range: Range | null): null {
    this.isUrgent = true;
    this.isDragged = false;
    this.postponed = null;
    this.show(this.lines, range);
    // Paint this chart before the others update.
    setTimeout(() => this.onZoom(range));
    return null;
  }

  private select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    const ends = [left, left + width].map((at) => Number(plot.posToVal(at, "x").toPrecision(12)));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoom(ends as Range);
  }

  /** Resize the canvases to match uPlot's. */
  private fit(): void {
    const { width, height } = this.plot.ctx.canvas;
    for (const canvas of this.top ? [this.base, this.top] : [this.base]) {
      if (canvas.width === width && canvas.height === height) continue;
      canvas.width = width;
      canvas.height = height;
      canvas.style.width = `${this.plot.width}px`;
      canvas.style.height = `${this.plot.height}px`;
    }
  }

  private frame(): Frame {
    const isLogX = this.style.measureX === "log";
    const isLogY = this.style.measureY === "log";
    const { x, y } = this;
    return { ...this.plot.bbox, ratio: uPlot.pxRatio, x, y, isLogX, isLogY };
  }

  private paint(): void {
    if (!this.base.isConnected) return;
    this.fit();
    paintFlags(this.plot.ctx, this.flags, this.frame());
    paintQueue.add({ target: this.base, lines: this.lines, frame: this.frame() }, this.isUrgent);
    this.isUrgent = false;
  }

  /** Return a cleared context of the canvas over the lines. */
  private clearTop(): CanvasRenderingContext2D | null {
    if (!this.top) {
      this.top = document.createElement("canvas");
      this.top.className = "lines";
      this.base.after(this.top);
      this.fit();
    }
    const context = this.top.getContext("2d");
    context?.clearRect(0, 0, this.top.width, this.top.height);
    return context;
  }

  private pointSoon(): void {
    this.handle ||= requestAnimationFrame(() => {
      this.handle = 0;
      if (this.isPointed) this.point();
    });
  }

  /** Show the values at the pointer and highlight the nearest line. */
  private point(): void {
    const { left = -1, top = -1 } = this.plot.cursor;
    if (left < 0) return;
    const x = this.plot.posToVal(left, "x");
    const reach = Math.abs(this.plot.posToVal(left + 12, "x") - x);
    const hovered = findPoints(this.lines, x, reach);
    const toPixel = (y: number) => this.plot.valToPos(y, "y");
    const nearest = findNearest(hovered, x, top, toPixel);
    const main = hovered[nearest];
    const dots = this.lines.length > FEW_LINES ? (main ? [main] : []) : hovered;
    const context = this.clearTop();
    if (context) {
      const points = dots.map(({ line, index, y }) => ({
        x: line.x[index] as number,
        y,
        color: line.color,
      }));
      paintHighlight(context, main?.line ?? null, points, this.frame());
    }
    this.base.style.opacity = main && this.lines.length > FEW_LINES ? "0.45" : "";
    const { x: fromLeft, y: fromTop } = this.plot.rect;
    const at = { x: fromLeft + left, y: fromTop + top };
    const flags = findFlags(this.flags, x, reach / 2);
    if (hovered.length || flags.length)
      hoverTable().show(hovered, nearest, this.style.nameX, at, flags);
    else hoverTable().hide();
  }
}
