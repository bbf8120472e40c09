/** How much of the numbers an axis shows. */

export type Range = [number, number];

/** The least and the greatest of what is finite (and positive for a log axis), or null. */
export function spread(
  values: Float64Array,
  start: number,
  end: number,
  isLog: boolean,
  before: Range | null = null,
): Range | null {
  let low = before ? before[0] : Number.POSITIVE_INFINITY;
  let high = before ? before[1] : Number.NEGATIVE_INFINITY;
  for (let place = start; place < end; place++) {
    const value = values[place] as number;
    if (value - value !== 0 || (isLog && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

// More than so many are looked at every second, third ... one: quantiles hardly move.
const MOST = 20_000;

/**
 * The range that holds nine tenths of the values and half as much beside them.
 *
 * So a spike at the start does not press the rest flat. Never wider than all values.
 */
export function robustSpread(parts: readonly Float64Array[], isLog: boolean): Range | null {
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  const every = Math.max(1, Math.ceil(total / MOST));
  const kept: number[] = [];
  let all: Range | null = null;
  for (const part of parts) {
    all = spread(part, 0, part.length, isLog, all);
    for (let place = 0; place < part.length; place += every) {
      const value = part[place] as number;
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

/** A range with a margin, so that no line lies on the edge; one value gets room around it. */
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
  // Halves, because the distance of two floats may not be a finite float.
  const room = (high / 2 - low / 2) * 2 * share;
  return Number.isFinite(room) ? [low - room, high + room] : [low, high];
}

/** The first place in a sorted array whose value is not less than `value`. */
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

/** The place in a sorted array whose value is closest, or -1 when it is empty. */
export function closest(values: Float64Array, value: number): number {
  const behind = lowerBound(values, value);
  if (behind === 0) return values.length ? 0 : -1;
  if (behind === values.length) return behind - 1;
  const isNearer = (values[behind] as number) - value < value - (values[behind - 1] as number);
  return isNearer ? behind : behind - 1;
}
