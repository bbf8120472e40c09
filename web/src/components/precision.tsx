/** Precision-recall chart: one line per run, all at about the same step. */

import { averagePrecision, type PrCurve } from "../data/extras";
import { formatNumber, formatStep } from "../format/number";

const [WIDTH, HEIGHT, LEFT, BOTTOM, EDGE] = [560, 420, 56, 44, 10];
const TICKS = [0, 0.25, 0.5, 0.75, 1];

function placeX(recall: number): number {
  return LEFT + recall * (WIDTH - LEFT - EDGE);
}

function placeY(precision: number): number {
  return EDGE + (1 - precision) * (HEIGHT - EDGE - BOTTOM);
}

interface Props {
  curves: readonly PrCurve[];
  colorOf: (run: string) => string;
  label: string;
}

export function PrecisionRecall({ curves, colorOf, label }: Props) {
  return (
    <div className="precision">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        {TICKS.map((tick) => (
          <g key={tick}>
            <line x1={placeX(tick)} x2={placeX(tick)} y1={placeY(0)} y2={placeY(1)} />
            <line x1={placeX(0)} x2={placeX(1)} y1={placeY(tick)} y2={placeY(tick)} />
            <text x={placeX(tick)} y={HEIGHT - BOTTOM + 16} textAnchor="middle">
              {tick}
            </text>
            <text x={LEFT - 6} y={placeY(tick) + 4} textAnchor="end">
              {tick}
            </text>
          </g>
        ))}
        <text x={placeX(0.5)} y={HEIGHT - 6} textAnchor="middle">
          recall
        </text>
        <text
          x={14}
          y={placeY(0.5)}
          transform={`rotate(-90 14 ${placeY(0.5)})`}
          textAnchor="middle"
        >
          precision
        </text>
        {curves.map((curve) => (
          <polyline
            key={curve.run}
            points={curve.recall
              .map((recall, index) => `${placeX(recall)},${placeY(curve.precision[index] ?? 0)}`)
              .join(" ")}
            stroke={colorOf(curve.run)}
          >
            <title>{curve.run}</title>
          </polyline>
        ))}
      </svg>
      <div className="legend">
        <table>
          <thead>
            <tr>
              <th scope="col">run</th>
              <th scope="col">step</th>
              <th scope="col">average precision</th>
            </tr>
          </thead>
          <tbody>
            {curves.map((curve) => (
              <tr key={curve.run}>
                <th scope="row">
                  <span className="swatch" style={{ background: colorOf(curve.run) }} />
                  {curve.run}
                </th>
                <td>{formatStep(curve.step)}</td>
                <td>{formatNumber(averagePrecision(curve))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
