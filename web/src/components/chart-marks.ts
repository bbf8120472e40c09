/** Vertical lines for the events that runs marked. */

import type { Flag } from "../data/marks";
import { makeProject } from "../scale/trace";
import type { Frame } from "./chart-layer";

/** Draw dashed lines, one per pixel column and color. */
export function paintFlags(
  context: CanvasRenderingContext2D,
  flags: readonly Flag[],
  frame: Frame,
): void {
  const { left, top, width, height, ratio } = frame;
  const toX = makeProject(frame.x, left, left + width, frame.isLogX);
  const drawn = new Set<string>();
  context.save();
  context.lineWidth = ratio;
  context.setLineDash([4 * ratio, 3 * ratio]);
  for (const { x, color } of flags) {
    const at = Math.round(toX(x)) + (ratio % 2) / 2;
    const key = `${at} ${color}`;
    if (!(at >= left && at <= left + width) || drawn.has(key)) continue;
    drawn.add(key);
    context.strokeStyle = color;
    context.beginPath();
    context.moveTo(at, top);
    context.lineTo(at, top + height);
    context.stroke();
  }
  context.restore();
}

const MOST = 5;

/** Return the marks within `reach` of the pointer, nearest first. */
export function findFlags(flags: readonly Flag[], x: number, reach: number): Flag[] {
  return flags
    .filter((flag) => Math.abs(flag.x - x) <= reach)
    .sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))
    .slice(0, MOST);
}
