/** Parallel coordinates: one line per run through its hparams, colored by the last axis. */

import { useMemo, useState } from "react";
import type { Cell } from "../data/types";
import { labelNames } from "../format/labels";
import { formatCell } from "../format/number";
import { makeAxis, shade } from "../scale/axis";
import { Drawing } from "./drawing";

const [HEIGHT, TOP, SIDE] = [340, 34, 60];
const SPAN = HEIGHT - TOP - 16;
/** Approximate width of a character of a title, in pixels. */
const CHARACTER_WIDTH = 8;

interface Props {
  runs: readonly string[];
  axes: { name: string; cells: Cell[] }[];
  onOpen: (run: string) => void;
}

export function Parallel({ runs, axes, onOpen }: Props) {
  const [hovered, setHovered] = useState<number | null>(null);
  const scales = useMemo(() => axes.map((axis) => makeAxis(axis.cells)), [axes]);
  const colors = useMemo(() => {
    const [scale, axis] = [scales.at(-1), axes.at(-1)];
    return runs.map((_, row) => {
      const position = scale?.position(axis?.cells[row] ?? null) ?? null;
      return position === null ? "#7a8290" : shade(position);
    });
  }, [runs, axes, scales]);
  const caption =
    hovered === null
      ? ""
      : `${runs[hovered]}: ${axes.map((axis) => `${axis.name} ${formatCell(axis.cells[hovered] ?? null)}`).join(", ")}`;
  const draw = (width: number) => {
    const step = (width - 2 * SIDE) / Math.max(axes.length - 1, 1);
    const names = axes.map((axis) => axis.name);
    const labels = labelNames(names, Math.max(2, Math.floor(step / CHARACTER_WIDTH)), false);
    // Titles that do not fit next to each other alternate between two lines.
    const isCrowded = names.some((name) => labels.of(name).length * CHARACTER_WIDTH > step);
    const trace = (row: number) =>
      axes
        .flatMap((axis, number) => {
          const position = scales[number]?.position(axis.cells[row] ?? null) ?? null;
          return position === null
            ? []
            : [`${SIDE + number * step},${TOP + (1 - position) * SPAN}`];
        })
        .join(" ");
    return (
      <>
        {runs.map((run, row) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table offers the same interaction to keyboard users
          <polyline
            key={run}
            points={trace(row)}
            stroke={colors[row]}
            className={hovered === row ? "near" : ""}
            onMouseEnter={() => setHovered(row)}
            onMouseLeave={() => setHovered(null)}
            onClick={() => onOpen(run)}
          />
        ))}
        {axes.map((axis, number) => (
          <g key={axis.name} transform={`translate(${SIDE + number * step} 0)`}>
            <line y1={TOP} y2={TOP + SPAN} className="axis" />
            <Title
              name={axis.name}
              label={labels.of(axis.name)}
              y={isCrowded && number % 2 ? 27 : 12}
              isFirst={number === 0}
              isLast={!axes[number + 1]}
            />
            {scales[number]?.ticks.map((tick) => (
              <text key={tick.at} x={6} y={TOP + (1 - tick.at) * SPAN + 4}>
                {tick.label}
              </text>
            ))}
          </g>
        ))}
      </>
    );
  };
  return (
    <figure className="parallel">
      <Drawing height={HEIGHT} label="Parallel coordinates of hparams" draw={draw} />
      <figcaption className="hint">
        {caption ||
          `Hover over a line to see its run. Color shows ${axes.at(-1)?.name}: higher is more yellow.`}
      </figcaption>
    </figure>
  );
}

interface TitleProps {
  name: string;
  label: string;
  y: number;
  isFirst: boolean;
  isLast: boolean;
}

/** Title centered above its axis; a long first or last title is aligned with the edge instead. */
function Title({ name, label, y, isFirst, isLast }: TitleProps) {
  const isLong = label.length * CHARACTER_WIDTH > 2 * SIDE;
  const side = !isLong || isFirst === isLast ? 0 : isFirst ? -1 : 1;
  return (
    <text
      x={side * SIDE}
      y={y}
      textAnchor={side ? (isFirst ? "start" : "end") : "middle"}
      className="title"
    >
      {label}
      <title>{name}</title>
    </text>
  );
}
