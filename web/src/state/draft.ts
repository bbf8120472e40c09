/** Local copy of a value that changes at once and is committed after a short pause. */

import { type Dispatch, type SetStateAction, useEffect, useState } from "react";

export function useDraft<T extends number | object>(
  value: T,
  commit: (value: T) => void,
  milliseconds = 60,
): [T, Dispatch<SetStateAction<T>>] {
  const [draft, setDraft] = useState(value);
  useEffect(() => setDraft(value), [value]);
  useEffect(() => {
    if (draft === value) return;
    const timer = setTimeout(() => commit(draft), milliseconds);
    return () => clearTimeout(timer);
  }, [draft, value, commit, milliseconds]);
  return [draft, setDraft];
}
