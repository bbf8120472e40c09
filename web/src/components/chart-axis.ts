/** Axes of a chart: ticks and colors. */

import uPlot from "uplot";
import { type Measure, makeTicks, nameTicks } from "../scale/ticks";
import { isDark } from "../state/theme";

const colors = new Map<boolean, { ink: string; line: string }>();

/** Return the axis colors, cached for all charts because each lookup causes a layout. */
export function axisColors(host: HTMLElement): { ink: string; line: string } {
  const dark = isDark();
  const cached = colors.get(dark);
  if (cached) return cached;
  const { color, borderTopColor } = getComputedStyle(host);
  const current = { ink: color, line: borderTopColor };
  colors.set(dark, current);
  return current;
}

/** Return an axis with a tick every `space` pixels or slightly more. */
export function makeAxis(host: HTMLElement, measure: Measure, space: number): uPlot.Axis {
  const ink = () => axisColors(host).ink;
  const line = () => axisColors(host).line;
  return {
    stroke: ink,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
    font: "11px system-ui, sans-serif",
    gap: 3,
    splits: (plot, number, low, high) => {
      const { width, height } = plot.bbox;
      const length = (number === 0 ? width : height) / uPlot.pxRatio;
      return makeTicks(low, high, Math.max(2, length / space), measure);
    },
    values: (_, splits) => nameTicks(splits, measure),
    // By default, uPlot labels only powers of ten on a log axis.
    filter: (_, splits) => splits,
  };
}
