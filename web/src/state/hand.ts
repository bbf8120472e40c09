/** A value under somebody's hand: it moves at once, and is told when the hand pauses a moment. */

import { type Dispatch, type SetStateAction, useEffect, useState } from "react";

export function useHand<T extends number | object>(
  value: T,
  tell: (value: T) => void,
  milliseconds = 60,
): [T, Dispatch<SetStateAction<T>>] {
  const [own, setOwn] = useState(value);
  useEffect(() => setOwn(value), [value]);
  useEffect(() => {
    if (own === value) return;
    const timer = setTimeout(() => tell(own), milliseconds);
    return () => clearTimeout(timer);
  }, [own, value, tell, milliseconds]);
  return [own, setOwn];
}
