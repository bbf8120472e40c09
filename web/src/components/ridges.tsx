/** Histograms of a run over steps, as overlapping ridges or as quantile bands. */

import { type Histogram, spread } from "../data/histograms";
import type { Step } from "../data/types";
import { formatStep } from "../format/number";
import { fade } from "../scale/colors";
import { makeTicks, nameTicks } from "../scale/ticks";
import { Drawing } from "./drawing";

const [HEIGHT, BOTTOM, EDGE] = [240, 22, 8];
/** Height of the highest ridge and of a line of text, and width of a label, in pixels. */
const [RISE, LINE, LABEL] = [60, 13, 56];
const MOST_RIDGES = 40;

interface Props {
  entries: readonly Histogram[];
  color: string;
  label: string;
  /** Lowest and highest quantile of all runs, which share an axis for comparison. */
  limits: readonly [number, number];
}

function nameAll(low: number, high: number, count: number) {
  const ticks = makeTicks(low, high, count, "linear");
  const names = nameTicks(ticks, "linear");
  return ticks.map((tick, index) => ({ tick, name: names[index] ?? "" }));
}

interface Tick {
  tick: number;
  name: string;
  anchor?: "start" | "middle" | "end";
}

/** Grid line and label for each tick of the horizontal axis. */
function HorizontalAxis({ ticks, x }: { ticks: Tick[]; x: (value: number) => number }) {
  return ticks.map(({ tick, name, anchor = "middle" }) => (
    <g key={tick} transform={`translate(${x(tick)} 0)`}>
      <line y1={EDGE} y2={HEIGHT - BOTTOM} className="axis" />
      <text y={HEIGHT - 6} textAnchor={anchor}>
        {name}
      </text>
    </g>
  ));
}

export function Ridges({ entries, color, label }: Props) {
  const shown = spread(entries, MOST_RIDGES);
  const edges = shown[0]?.edges ?? [];
  const [low, high] = [edges[0] ?? 0, edges.at(-1) ?? 1];
  const density = (entry: Histogram) =>
    entry.counts.map((count, bin) => {
      const width = (entry.edges[bin + 1] ?? 0) - (entry.edges[bin] ?? 0);
      return width > 0 ? count / width : 0;
    });
  const peak = Math.max(1e-300, ...shown.flatMap(density));
  const fall = HEIGHT - RISE - BOTTOM - EDGE;
  const last = shown.length - 1;
  // Label as many steps as fit, counting back from the newest.
  const every = Math.max(1, Math.ceil((LINE * last) / fall));
  const draw = (width: number) => {
    const x = (value: number) =>
      EDGE + ((value - low) / (high - low || 1)) * (width - EDGE - LABEL);
    return (
      <>
        <HorizontalAxis ticks={nameAll(low, high, width / 60)} x={x} />
        {shown.map((entry, number) => {
          const share = last ? number / last : 1;
          const base = EDGE + RISE + share * fall;
          const points = density(entry).map((value, bin) => {
            const middle = ((entry.edges[bin] ?? 0) + (entry.edges[bin + 1] ?? 0)) / 2;
            return `${x(middle)},${base - (value / peak) * RISE}`;
          });
          return (
            <g key={`${entry.step} ${entry.wallTime}`}>
              <polygon
                points={`${x(low)},${base} ${points.join(" ")} ${x(high)},${base}`}
                fill={fade(color, 0.25 + 0.6 * share)}
                stroke="var(--paper)"
                strokeWidth={0.8}
              />
              {(last - number) % every === 0 && (
                <text x={x(high) + 4} y={base + 3}>
                  {formatStep(entry.step)}
                </text>
              )}
            </g>
          );
        })}
      </>
    );
  };
  return <Drawing height={HEIGHT} label={label} draw={draw} />;
}

export function Bands({ entries, color, label, limits: [low, high] }: Props) {
  const [first, last] = [entries[0]?.step ?? 0, entries.at(-1)?.step ?? 1];
  // Bigints, because numbers beyond 2^53 are not exact.
  const since = (step: Step) => Number(BigInt(step) - BigInt(first));
  const y = (value: number) =>
    EDGE + (1 - (value - low) / (high - low || 1)) * (HEIGHT - BOTTOM - EDGE);
  const count = entries[0]?.quantiles.length ?? 0;
  const draw = (width: number) => {
    const x = (passed: number) =>
      LABEL + (passed / (since(last) || 1)) * (width - LABEL - 2 * EDGE);
    const line = (level: number, isBack = false) => {
      const points = entries
        .filter((entry) => Number.isFinite(entry.quantiles[level]))
        .map((entry) => `${x(since(entry.step))},${y(entry.quantiles[level] ?? 0)}`);
      return (isBack ? points.reverse() : points).join(" ");
    };
    const ends: Tick[] = [
      { tick: 0, name: formatStep(first), anchor: "start" },
      { tick: since(last), name: formatStep(last), anchor: "end" },
    ];
    const steps = nameAll(Number(first), Number(last), width / 90).map(({ tick, name }) => ({
      tick: tick - Number(first),
      name,
    }));
    return (
      <>
        <HorizontalAxis ticks={typeof last === "bigint" ? ends : steps} x={x} />
        {nameAll(low, high, 5).map(({ tick, name }) => (
          <g key={tick} transform={`translate(0 ${y(tick)})`}>
            <line x1={LABEL} x2={width - EDGE} className="axis" />
            <text x={LABEL - 6} y={4} textAnchor="end">
              {name}
            </text>
          </g>
        ))}
        {Array.from({ length: Math.floor(count / 2) }, (_, level) => (
          <polygon
            // biome-ignore lint/suspicious/noArrayIndexKey: the order of levels is fixed
            key={level}
            points={`${line(level)} ${line(count - 1 - level, true)}`}
            fill={fade(color, 0.18)}
          />
        ))}
        {count % 2 === 1 && (
          <polyline points={line((count - 1) / 2)} fill="none" stroke={color} strokeWidth={1.6} />
        )}
      </>
    );
  };
  return <Drawing height={HEIGHT} label={label} draw={draw} />;
}
