/** Parallel coordinates: a line a run through its hparams, shaded by the last axis. */

import { useMemo, useState } from "react";
import type { Cell } from "../data/types";
import { formatCell } from "../format/number";
import { makeAxis, shade } from "../scale/axis";

const [WIDTH, HEIGHT, TOP, SIDE] = [1000, 340, 34, 70];
const SPAN = HEIGHT - TOP - 16;

interface Props {
  runs: readonly string[];
  axes: { name: string; cells: Cell[] }[];
  onOpen: (run: string) => void;
}

export function Parallel({ runs, axes, onOpen }: Props) {
  const [near, setNear] = useState<number | null>(null);
  const drawn = useMemo(() => {
    const scales = axes.map((axis) => makeAxis(axis.cells));
    const step = (WIDTH - 2 * SIDE) / Math.max(axes.length - 1, 1);
    const lines = runs.map((_, row) => {
      const points = axes.flatMap((axis, number) => {
        const place = scales[number]?.place(axis.cells[row] ?? null) ?? null;
        return place === null ? [] : [`${SIDE + number * step},${TOP + (1 - place) * SPAN}`];
      });
      const last = scales.at(-1)?.place(axes.at(-1)?.cells[row] ?? null) ?? null;
      return { points: points.join(" "), colour: last === null ? "#7a8290" : shade(last) };
    });
    return { scales, step, lines };
  }, [runs, axes]);
  const told =
    near === null
      ? ""
      : `${runs[near]}: ${axes.map((axis) => `${axis.name} ${formatCell(axis.cells[near] ?? null)}`).join(", ")}`;
  return (
    <figure className="parallel">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="Runs over their hparams">
        {drawn.lines.map((line, row) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table has all of it for keys
          <polyline
            key={runs[row]}
            points={line.points}
            stroke={line.colour}
            className={near === row ? "near" : ""}
            onMouseEnter={() => setNear(row)}
            onMouseLeave={() => setNear(null)}
            onClick={() => onOpen(runs[row] ?? "")}
          />
        ))}
        {axes.map((axis, number) => (
          <g key={axis.name} transform={`translate(${SIDE + number * drawn.step} 0)`}>
            <line y1={TOP} y2={TOP + SPAN} className="axis" />
            <text y={14} textAnchor="middle" className="title">
              {axis.name}
            </text>
            {drawn.scales[number]?.ticks.map((tick) => (
              <text key={tick.at} x={6} y={TOP + (1 - tick.at) * SPAN + 4}>
                {tick.label}
              </text>
            ))}
          </g>
        ))}
      </svg>
      <figcaption className="hint">{told || "Point at a line to see its run."}</figcaption>
    </figure>
  );
}
