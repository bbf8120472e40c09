/** Exponential smoothing without bias towards the start. */

/**
 * Return the running average, in which each value has `weight` times the weight of the next.
 *
 * Dividing by the sum of the weights keeps the first values from being pulled towards zero.
 * NaN and infinity remain in place and are not averaged. A constant series is returned
 * unchanged, without rounding noise.
 */
export function smooth(values: Float64Array, weight: number): Float64Array {
  const kept = Math.min(Math.max(weight, 0), 0.9999);
  if (kept === 0 || isFlat(values)) return values;
  const result = new Float64Array(values.length);
  let sum = 0;
  let share = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as number;
    if (Number.isFinite(value)) {
      sum = sum * kept + value * (1 - kept);
      share = share * kept + (1 - kept);
      result[index] = sum / share;
    } else {
      result[index] = value;
    }
  }
  return result;
}

function isFlat(values: Float64Array): boolean {
  const first = values[0];
  return values.every((value) => value === first);
}
