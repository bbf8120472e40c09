/** An axis of a chart: its marks and its colours. */

import uPlot from "uplot";
import { type Measure, makeTicks, nameTicks } from "../scale/ticks";
import { isDark } from "../state/theme";

const colours = new Map<boolean, { ink: string; line: string }>();

/** The colours of the page, looked up once for all charts, because each look costs a layout. */
export function lookUp(host: HTMLElement): { ink: string; line: string } {
  const dark = isDark();
  const known = colours.get(dark);
  if (known) return known;
  const { color, borderTopColor } = getComputedStyle(host);
  const found = { ink: color, line: borderTopColor };
  colours.set(dark, found);
  return found;
}

/** An axis with a mark every `space` pixels or a little more. */
export function makeAxis(host: HTMLElement, measure: Measure, space: number): uPlot.Axis {
  const ink = () => lookUp(host).ink;
  const line = () => lookUp(host).line;
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
    // uPlot would leave out all but powers of ten.
    filter: (_, splits) => splits,
  };
}
