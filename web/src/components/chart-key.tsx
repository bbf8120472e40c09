/** Legend of a folded chart: each group's color, name and number of runs. */

import type { Line } from "../data/lines";

// Charts in the grid are small. At full size there is room for more groups.
const MOST = 4;
const MOST_FULL = 40;

export function ChartKey({ lines, isFull }: { lines: readonly Line[]; isFull: boolean }) {
  const groups = lines.filter((line) => line.count);
  if (!groups.length) return null;
  const shown = groups.slice(0, isFull ? MOST_FULL : MOST);
  const others = groups.slice(shown.length);
  return (
    <ul className="chart-key" aria-label="Runs per group">
      {shown.map((line) => (
        <li key={line.label} title={`${line.label}: ${line.count}`}>
          <span className="swatch" style={{ background: line.color }} />
          <span className="name">{line.short}</span> <span className="count">{line.count}</span>
        </li>
      ))}
      {others.length > 0 && (
        <li title={others.map((line) => `${line.label}: ${line.count}`).join("\n")}>
          and {others.length.toLocaleString("en")} more
        </li>
      )}
    </ul>
  );
}
