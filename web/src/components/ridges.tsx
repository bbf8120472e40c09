/** Histograms of one run over steps: as ridges one behind the other, or as bands of quantiles. */

import { type Histogram, spread } from "../data/histograms";
import type { Step } from "../data/types";
import { formatNumber, formatStep } from "../format/number";
import { fade } from "../scale/colours";

const [WIDTH, HEIGHT, TOP, BOTTOM, SIDE] = [420, 260, 70, 24, 8];
const MOST = 40;

interface Props {
  entries: readonly Histogram[];
  colour: string;
  label: string;
}

function placeX(value: number, low: number, high: number): number {
  return SIDE + ((value - low) / (high - low || 1)) * (WIDTH - 2 * SIDE - 46);
}

export function Ridges({ entries, colour, label }: Props) {
  const shown = spread(entries, MOST);
  const edges = shown[0]?.edges ?? [];
  const [low, high] = [edges[0] ?? 0, edges.at(-1) ?? 1];
  const density = (entry: Histogram) =>
    entry.counts.map((count, bin) => {
      const width = (entry.edges[bin + 1] ?? 0) - (entry.edges[bin] ?? 0);
      return width > 0 ? count / width : 0;
    });
  const peak = Math.max(1e-300, ...shown.flatMap(density));
  const rise = HEIGHT - TOP - BOTTOM;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {shown.map((entry, number) => {
        const base = TOP + (shown.length === 1 ? rise : (number / (shown.length - 1)) * rise);
        const points = density(entry).map((value, bin) => {
          const middle = ((entry.edges[bin] ?? 0) + (entry.edges[bin + 1] ?? 0)) / 2;
          return `${placeX(middle, low, high)},${base - (value / peak) * TOP * 0.9}`;
        });
        const share = shown.length === 1 ? 1 : number / (shown.length - 1);
        const start = placeX(low, low, high);
        const end = placeX(high, low, high);
        return (
          <g key={`${entry.step} ${entry.wallTime}`}>
            <polygon
              points={`${start},${base} ${points.join(" ")} ${end},${base}`}
              fill={fade(colour, 0.25 + 0.6 * share)}
              stroke="var(--paper)"
              strokeWidth={0.8}
            />
            {(number === 0 || number === shown.length - 1) && (
              <text x={WIDTH - 4} y={base} textAnchor="end">
                {formatStep(entry.step)}
              </text>
            )}
          </g>
        );
      })}
      <text x={SIDE} y={HEIGHT - 6}>
        {formatNumber(low, 3)}
      </text>
      <text x={placeX(high, low, high)} y={HEIGHT - 6} textAnchor="end">
        {formatNumber(high, 3)}
      </text>
    </svg>
  );
}

export function Bands({ entries, colour, label }: Props) {
  const all = entries.flatMap((entry) => entry.quantiles.filter(Number.isFinite));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const [first, last] = [entries[0]?.step ?? 0, entries.at(-1)?.step ?? 1];
  // Bigints, because two numbers beyond 2^53 may be the same one.
  const since = (step: Step) => Number(BigInt(step) - BigInt(first));
  const x = (step: Step) => 56 + (since(step) / (since(last) || 1)) * (WIDTH - 64);
  const y = (value: number) =>
    12 + (1 - (value - low) / (high - low || 1)) * (HEIGHT - BOTTOM - 16);
  const count = entries[0]?.quantiles.length ?? 0;
  const line = (level: number, isBack = false) => {
    const points = entries
      .filter((entry) => Number.isFinite(entry.quantiles[level]))
      .map((entry) => `${x(entry.step)},${y(entry.quantiles[level] ?? 0)}`);
    return (isBack ? points.reverse() : points).join(" ");
  };
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {Array.from({ length: Math.floor(count / 2) }, (_, level) => (
        <polygon
          // biome-ignore lint/suspicious/noArrayIndexKey: levels do not move
          key={level}
          points={`${line(level)} ${line(count - 1 - level, true)}`}
          fill={fade(colour, 0.18)}
        />
      ))}
      {count % 2 === 1 && (
        <polyline points={line((count - 1) / 2)} fill="none" stroke={colour} strokeWidth={1.6} />
      )}
      <text x={50} y={y(high) + 8} textAnchor="end">
        {formatNumber(high, 3)}
      </text>
      <text x={50} y={y(low)} textAnchor="end">
        {formatNumber(low, 3)}
      </text>
      <text x={56} y={HEIGHT - 6}>
        {formatStep(first)}
      </text>
      <text x={WIDTH - 6} y={HEIGHT - 6} textAnchor="end">
        {formatStep(last)}
      </text>
    </svg>
  );
}
