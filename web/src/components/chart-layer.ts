/** Draws lines on a canvas, a few milliseconds per frame, so that no frame takes long. */

import { indicesIn, type Line, piecesOf } from "../data/lines";
import { fade } from "../scale/colors";
import type { Range } from "../scale/range";
import {
  type Marks,
  makeProject,
  type Pen,
  type Project,
  traceBand,
  traceLine,
} from "../scale/trace";

/** Plot area in canvas pixels, and the ranges shown in it. */
export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  ratio: number;
  x: Range;
  y: Range;
  isLogX: boolean;
  isLogY: boolean;
}

type Context = CanvasRenderingContext2D;

function project(frame: Frame): [Project, Project] {
  const { left, top, width, height } = frame;
  return [
    makeProject(frame.x, left, left + width, frame.isLogX),
    makeProject(frame.y, top + height, top, frame.isLogY),
  ];
}

function clip(context: Context, frame: Frame): void {
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.width, frame.height);
  context.clip();
  // Round and mitred corners are slow and invisible at this line width.
  context.lineJoin = "bevel";
}

// A noisy line of 1,600 points takes 10 ms as a single stroke, but 2 ms in strokes of 64.
const POINTS_PER_STROKE = 64;

/** Return a pen that strokes every few points. Dashed lines use one stroke to keep the pattern. */
function makePen(context: Context, isDashed: boolean): Pen {
  if (isDashed) return context;
  let count = 0;
  return {
    moveTo: (x, y) => context.moveTo(x, y),
    lineTo: (x, y) => {
      context.lineTo(x, y);
      count++;
      if (count % POINTS_PER_STROKE) return;
      context.stroke();
      context.beginPath();
      context.moveTo(x, y);
    },
  };
}

/** Draw bands, then the faint unsmoothed lines, then the lines; yield after each. */
export function* paintLines(
  context: Context,
  lines: readonly Line[],
  frame: Frame,
): Generator<void> {
  const [toX, toY] = project(frame);
  clip(context, frame);
  for (const line of lines) {
    if (!line.low || !line.high) continue;
    const path = new Path2D();
    traceBand(line.x, line.low, line.high, indicesIn(line, frame.x), toX, toY, path);
    context.fillStyle = fade(line.color, 0.18);
    context.fill(path);
    yield;
  }
  const width = lines.length > 40 ? 1 : 1.4;
  for (const line of lines) {
    if (!line.raw) continue;
    context.setLineDash([]);
    context.lineWidth = frame.ratio;
    context.strokeStyle = fade(line.color, lines.length > 10 ? 0.15 : 0.28);
    context.beginPath();
    // Use a single stroke: overlaps would be visible in a translucent color.
    traceLine(line.x, line.raw, indicesIn(line, frame.x), toX, toY, context, null);
    context.stroke();
    yield;
  }
  for (const line of lines) {
    strokeLine(context, line, frame, width, toX, toY);
    yield;
  }
  context.restore();
}

/** Draw the highlighted line over the others, and dots at the pointer. */
export function paintHighlight(
  context: Context,
  line: Line | null,
  points: readonly { x: number; y: number; color: string }[],
  frame: Frame,
): void {
  const [toX, toY] = project(frame);
  clip(context, frame);
  if (line) strokeLine(context, line, frame, 2.2, toX, toY);
  for (const { x, y, color } of points) {
    context.fillStyle = color;
    context.beginPath();
    context.arc(toX(x), toY(y), 3.5 * frame.ratio, 0, 7);
    context.fill();
  }
  context.restore();
}

function strokeLine(
  context: Context,
  line: Line,
  frame: Frame,
  width: number,
  toX: Project,
  toY: Project,
): void {
  const marks: Marks = { dots: [], infinities: [] };
  const { ratio } = frame;
  context.lineWidth = width * ratio;
  context.strokeStyle = context.fillStyle = line.color;
  for (const [y, dash] of piecesOf(line)) {
    context.setLineDash(dash.map((length) => length * ratio));
    context.beginPath();
    const pen = makePen(context, dash.length > 0);
    traceLine(line.x, y, indicesIn(line, frame.x), toX, toY, pen, marks);
    context.stroke();
  }
  context.setLineDash([]);
  for (const index of line.changes) {
    const [x, y] = [toX(line.x[index] as number), toY(line.y[index] as number)];
    context.beginPath();
    context.arc(x, y, 3.2 * ratio, 0, 7);
    context.stroke();
  }
  context.beginPath();
  for (const [x, y] of marks.dots) {
    context.moveTo(x, y);
    context.arc(x, y, 2.2 * ratio, 0, 7);
  }
  for (const [x, sign] of marks.infinities) {
    const edge = sign > 0 ? frame.top + ratio : frame.top + frame.height - ratio;
    const base = edge + sign * 7 * ratio;
    context.moveTo(x, edge);
    context.lineTo(x - 4 * ratio, base);
    context.lineTo(x + 4 * ratio, base);
  }
  context.fill();
}

const BUDGET_MILLISECONDS = 14;

interface Job {
  target: HTMLCanvasElement;
  lines: readonly Line[];
  frame: Frame;
}

/** Queue of charts to paint, one at a time, on a shared off-screen canvas. */
class PaintQueue {
  private readonly jobs = new Map<HTMLCanvasElement, Job>();
  private running: { job: Job; steps: Generator<void> } | null = null;
  private readonly scratch = document.createElement("canvas");
  // Keeps the canvas in CPU memory, where reading a pixel is cheap.
  private readonly context = this.scratch.getContext("2d", { willReadFrequently: true });
  private handle = 0;

  /** Queue a chart, or paint it before all others if it is urgent. */
  add(job: Job, isUrgent: boolean): void {
    if (this.running?.job.target === job.target || isUrgent) this.pause();
    const before = [...this.jobs];
    this.jobs.delete(job.target);
    if (isUrgent) {
      this.jobs.clear();
      this.jobs.set(job.target, job);
      for (const [target, other] of before) if (target !== job.target) this.jobs.set(target, other);
    } else {
      this.jobs.set(job.target, job);
    }
    if (isUrgent) this.work(BUDGET_MILLISECONDS * 2);
    else this.schedule();
  }

  remove(target: HTMLCanvasElement): void {
    this.jobs.delete(target);
    if (this.running?.job.target === target) this.running = null;
  }

  private pause(): void {
    if (this.running) this.jobs.set(this.running.job.target, this.running.job);
    this.running = null;
  }

  private schedule(): void {
    this.handle ||= requestAnimationFrame(() => {
      this.handle = 0;
      this.work(BUDGET_MILLISECONDS);
    });
  }

  private work(budget: number): void {
    const end = performance.now() + budget;
    do {
      if (!this.running && !this.start()) return;
      if (this.running?.steps.next().done) {
        this.show(this.running.job);
        this.running = null;
      } else {
        // Reading a pixel forces the canvas to draw the strokes that it has buffered.
        this.context?.getImageData(0, 0, 1, 1);
      }
    } while (performance.now() < end);
    this.schedule();
  }

  private start(): boolean {
    const [job] = this.jobs.values();
    if (!job || !this.context) return false;
    this.jobs.delete(job.target);
    // Setting the size clears the canvas and the state left by an unfinished job.
    this.scratch.width = job.target.width;
    this.scratch.height = job.target.height;
    this.running = { job, steps: paintLines(this.context, job.lines, job.frame) };
    return true;
  }

  private show({ target }: Job): void {
    const context = target.getContext("2d");
    if (!context || !target.width || !target.height) return;
    context.clearRect(0, 0, target.width, target.height);
    context.drawImage(this.scratch, 0, 0);
    target.dataset.painted = String(Number(target.dataset.painted ?? 0) + 1);
  }
}

export const paintQueue = new PaintQueue();
