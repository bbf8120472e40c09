/** Ranges of axes, and searches in sorted values. */

export type Range = [number, number];

/** Return the range of the finite values (positive ones for a log axis), or null. */
export function spread(
  values: Float64Array,
  start: number,
  end: number,
  isLog: boolean,
  before: Range | null = null,
): Range | null {
  let low = before ? before[0] : Number.POSITIVE_INFINITY;
  let high = before ? before[1] : Number.NEGATIVE_INFINITY;
  for (let index = start; index < end; index++) {
    const value = values[index] as number;
    if (value - value !== 0 || (isLog && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

// Longer series are sampled, which hardly changes the quantiles.
const MOST_VALUES = 20_000;

/**
 * Return the range of the middle nine tenths of the values, widened by half.
 *
 * A spike at the start then does not flatten the rest. Never wider than the full range.
 */
export function robustSpread(parts: readonly Float64Array[], isLog: boolean): Range | null {
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  const every = Math.max(1, Math.ceil(total / MOST_VALUES));
  const kept: number[] = [];
  let all: Range | null = null;
  for (const part of parts) {
    all = spread(part, 0, part.length, isLog, all);
    for (let index = 0; index < part.length; index += every) {
      const value = part[index] as number;
      if (Number.isFinite(value) && !(isLog && value <= 0))
        kept.push(isLog ? Math.log(value) : value);
    }
  }
  if (!all || kept.length < 3) return all;
  const sorted = Float64Array.from(kept).sort();
  const low = sorted[Math.floor(0.05 * (sorted.length - 1))] as number;
  const high = sorted[Math.ceil(0.95 * (sorted.length - 1))] as number;
  const room = (high - low) / 4;
  const back = (value: number) => (isLog ? Math.exp(value) : value);
  return [Math.max(all[0], back(low - room)), Math.min(all[1], back(high + room))];
}

/** Add a margin to a range, to keep lines away from the edge. */
export function widen([low, high]: Range, isLog: boolean, share = 0.05): Range {
  if (isLog) {
    if (low === high) return [low / 2, high * 2];
    const factor = (high / low) ** share;
    return [low / factor, high * factor];
  }
  if (low === high) {
    const room = Math.abs(low) / 10 || 1;
    return [low - room, high + room];
  }
  // Subtract halves, because the difference of two floats can overflow.
  const room = (high / 2 - low / 2) * 2 * share;
  return Number.isFinite(room) ? [low - room, high + room] : [low, high];
}

/** Return the first index in a sorted array with a value of at least `value`. */
export function lowerBound(values: Float64Array, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return the index of the closest value in a sorted array, or -1 if it is empty. */
export function closest(values: Float64Array, value: number): number {
  const next = lowerBound(values, value);
  if (next === 0) return values.length ? 0 : -1;
  if (next === values.length) return next - 1;
  const isNearer = (values[next] as number) - value < value - (values[next - 1] as number);
  return isNearer ? next : next - 1;
}
