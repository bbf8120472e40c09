/** An axis of a chart: its marks and its colours. */

import uPlot from "uplot";
import { type Measure, makeTicks, nameTicks } from "../scale/ticks";

let colours: { ink: string; line: string } | null = null;

/** The colours of the page, looked up once for all charts, because each look costs a layout. */
export function lookUp(host: HTMLElement): { ink: string; line: string } {
  if (!colours) {
    const { color, borderTopColor } = getComputedStyle(host);
    colours = { ink: color, line: borderTopColor };
  }
  return colours;
}

export function forgetColours(): void {
  colours = null;
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
