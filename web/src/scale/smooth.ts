/** A smoother line: an exponential average that does not lean on where it starts. */

/**
 * The running average of the values, each weighing `weight` times as much as the next.
 *
 * The first values are not pulled towards zero: the sum is divided by the weights that
 * are in it. NaN and infinity stay where they are and count for nothing. A line that
 * never changes is handed back as it is, without the noise of rounding.
 */
export function smooth(values: Float64Array, weight: number): Float64Array {
  const kept = Math.min(Math.max(weight, 0), 0.9999);
  if (kept === 0 || isFlat(values)) return values;
  const result = new Float64Array(values.length);
  let sum = 0;
  let share = 0;
  for (let place = 0; place < values.length; place++) {
    const value = values[place] as number;
    if (Number.isFinite(value)) {
      sum = sum * kept + value * (1 - kept);
      share = share * kept + (1 - kept);
      result[place] = sum / share;
    } else {
      result[place] = value;
    }
  }
  return result;
}

function isFlat(values: Float64Array): boolean {
  const first = values[0];
  return values.every((value) => value === first);
}
