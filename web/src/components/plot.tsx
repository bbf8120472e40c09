/** uPlot chart of lines with a common x, for query results and system metrics. */

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./plot.css";
import { formatNumber } from "../format/number";
import { assignColors } from "../scale/colors";
import { useIsDark } from "../state/theme";

interface Props {
  /** Name of the x axis. */
  x: string;
  names: readonly string[];
  data: readonly [readonly number[], ...(readonly (number | null)[])[]];
  height: number;
  label: string;
}

function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}

export function Plot({ x, names, data, height, label }: Props) {
  const box = useRef<HTMLElement>(null);
  const dark = useIsDark();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new theme needs new colors
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const colors = assignColors(names);
    const axis = { stroke: ink("--faint"), grid: { stroke: ink("--line"), width: 1 } };
    const plot = new uPlot(
      {
        width: element.clientWidth || 600,
        height,
        scales: { x: { time: false } },
        axes: [
          axis,
          { ...axis, size: 64, values: (_, ticks) => ticks.map((v) => formatNumber(v)) },
        ],
        series: [
          { label: x, value: (_, value) => formatNumber(value) },
          ...names.map((name) => ({
            label: name,
            stroke: colors.get(name) ?? "#7a8290",
            width: 1.5,
            spanGaps: true,
            value: (_: uPlot, value: number | null) => formatNumber(value),
          })),
        ],
      },
      data as unknown as uPlot.AlignedData,
      element,
    );
    const observer = new ResizeObserver(() => {
      plot.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [x, names, data, height, dark]);
  return <figure className="drawn" aria-label={label} ref={box} />;
}
