/** Parallel coordinates: a line a run through its hparams, shaded by the last axis. */

import { useMemo, useState } from "react";
import type { Cell } from "../data/types";
import { labelNames } from "../format/labels";
import { formatCell } from "../format/number";
import { makeAxis, shade } from "../scale/axis";
import { Drawing } from "./drawing";

const [HEIGHT, TOP, SIDE] = [340, 34, 60];
const SPAN = HEIGHT - TOP - 16;
/** How wide a letter of a title is, about. */
const LETTER = 8;

interface Props {
  runs: readonly string[];
  axes: { name: string; cells: Cell[] }[];
  onOpen: (run: string) => void;
}

export function Parallel({ runs, axes, onOpen }: Props) {
  const [near, setNear] = useState<number | null>(null);
  const scales = useMemo(() => axes.map((axis) => makeAxis(axis.cells)), [axes]);
  const colours = useMemo(() => {
    const [scale, axis] = [scales.at(-1), axes.at(-1)];
    return runs.map((_, row) => {
      const place = scale?.place(axis?.cells[row] ?? null) ?? null;
      return place === null ? "#7a8290" : shade(place);
    });
  }, [runs, axes, scales]);
  const told =
    near === null
      ? ""
      : `${runs[near]}: ${axes.map((axis) => `${axis.name} ${formatCell(axis.cells[near] ?? null)}`).join(", ")}`;
  const draw = (width: number) => {
    const step = (width - 2 * SIDE) / Math.max(axes.length - 1, 1);
    const names = axes.map((axis) => axis.name);
    const labels = labelNames(names, Math.max(2, Math.floor(step / LETTER)), false);
    // Titles that have no room next to each other take turns on two lines.
    const isCrowded = names.some((name) => labels.of(name).length * LETTER > step);
    const trace = (row: number) =>
      axes
        .flatMap((axis, number) => {
          const place = scales[number]?.place(axis.cells[row] ?? null) ?? null;
          return place === null ? [] : [`${SIDE + number * step},${TOP + (1 - place) * SPAN}`];
        })
        .join(" ");
    return (
      <>
        {runs.map((run, row) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table has all of it for keys
          <polyline
            key={run}
            points={trace(row)}
            stroke={colours[row]}
            className={near === row ? "near" : ""}
            onMouseEnter={() => setNear(row)}
            onMouseLeave={() => setNear(null)}
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
      <Drawing height={HEIGHT} label="Runs over their hparams" draw={draw} />
      <figcaption className="hint">
        {told ||
          `Point at a line to see its run; colour shows ${axes.at(-1)?.name}: higher is more yellow.`}
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

/** Above the middle of its axis, or up to the edge where the first or last one is long. */
function Title({ name, label, y, isFirst, isLast }: TitleProps) {
  const isLong = label.length * LETTER > 2 * SIDE;
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
