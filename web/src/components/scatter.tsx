/** Scatter plot with one dot per run. */

import { useMemo, useState } from "react";
import type { Cell } from "../data/types";
import { formatCell } from "../format/number";
import { makeAxis } from "../scale/axis";
import { Drawing } from "./drawing";

const [HEIGHT, LEFT, BOTTOM, EDGE, DOT] = [320, 64, 26, 10, 5];

interface Props {
  runs: readonly string[];
  x: { name: string; cells: Cell[] };
  y: { name: string; cells: Cell[] };
  colorOf: (run: string) => string;
  onOpen: (run: string) => void;
}

export function Scatter({ runs, x, y, colorOf, onOpen }: Props) {
  const [hovered, setHovered] = useState<number | null>(null);
  const { across, up } = useMemo(
    () => ({ across: makeAxis(x.cells), up: makeAxis(y.cells) }),
    [x, y],
  );
  const caption =
    hovered === null
      ? ""
      : `${runs[hovered]}: ${x.name} ${formatCell(x.cells[hovered] ?? null)}, ${y.name} ${formatCell(y.cells[hovered] ?? null)}`;
  const draw = (width: number) => {
    // The margin keeps dots at the ends of an axis from being clipped.
    const placeX = (at: number) => LEFT + 2 * DOT + at * (width - LEFT - EDGE - 4 * DOT);
    const placeY = (at: number) => EDGE + DOT + (1 - at) * (HEIGHT - BOTTOM - EDGE - 3 * DOT);
    return (
      <>
        {across.ticks.map((tick) => (
          <g key={tick.at} transform={`translate(${placeX(tick.at)} 0)`}>
            <line y1={EDGE} y2={HEIGHT - BOTTOM} className="axis" />
            <text y={HEIGHT - BOTTOM + 16} textAnchor="middle">
              {tick.label}
            </text>
          </g>
        ))}
        {up.ticks.map((tick) => (
          <g key={tick.at} transform={`translate(0 ${placeY(tick.at)})`}>
            <line x1={LEFT} x2={width - EDGE} className="axis" />
            <text x={LEFT - 6} y={4} textAnchor="end">
              {tick.label}
            </text>
          </g>
        ))}
        {runs.map((run, row) => {
          const [left, top] = [
            across.position(x.cells[row] ?? null),
            up.position(y.cells[row] ?? null),
          ];
          if (left === null || top === null) return null;
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the table offers the same interaction to keyboard users
            <circle
              key={run}
              cx={placeX(left)}
              cy={placeY(top)}
              r={hovered === row ? DOT + 2 : DOT}
              fill={colorOf(run)}
              onMouseEnter={() => setHovered(row)}
              onMouseLeave={() => setHovered(null)}
              onClick={() => onOpen(run)}
            />
          );
        })}
      </>
    );
  };
  return (
    <figure className="scatter">
      <Drawing height={HEIGHT} label={`${y.name} by ${x.name}`} draw={draw} />
      <figcaption className="hint">{caption || "Hover over a dot to see its run."}</figcaption>
    </figure>
  );
}
