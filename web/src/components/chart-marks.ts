/** The events that runs marked, as thin lines across a chart. */

import type { Flag } from "../data/marks";
import { makeProject } from "../scale/trace";
import type { Frame } from "./chart-layer";

/** Draw them dashed; of those on one column of pixels in one colour, the first. */
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
  for (const { x, colour } of flags) {
    const at = Math.round(toX(x)) + (ratio % 2) / 2;
    const place = `${at} ${colour}`;
    if (!(at >= left && at <= left + width) || drawn.has(place)) continue;
    drawn.add(place);
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(at, top);
    context.lineTo(at, top + height);
    context.stroke();
  }
  context.restore();
}

const MOST = 5;

/** Those that the pointer is at, the nearest first. */
export function findFlags(flags: readonly Flag[], x: number, reach: number): Flag[] {
  return flags
    .filter((flag) => Math.abs(flag.x - x) <= reach)
    .sort((one, other) => Math.abs(one.x - x) - Math.abs(other.x - x))
    .slice(0, MOST);
}
