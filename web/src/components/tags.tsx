/** Which tag, and which step of it, is looked at. */

import { useMemo } from "react";
import { getJson } from "../data/api";
import { useLoaded } from "../data/loading";
import type { Step, Tags } from "../data/types";
import { formatStep } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";

export function useTags(kind: string): string[] {
  const { generation } = useChoice();
  const found = useLoaded("tags", generation, (signal) => getJson<Tags>("/api/tags", {}, signal));
  return useMemo(() => (found.value?.kinds[kind] ?? []).map((one) => one.tag), [found.value, kind]);
}

/**
 * The tags of a kind, what runs say of themselves last, and the one that was chosen.
 *
 * The filter of the charts is not seen here, so it takes nothing away.
 */
export function useTag(kind: string) {
  const [view, change] = useView();
  const all = useTags(kind);
  const tags = useMemo(() => {
    const isOwn = (tag: string) => Number(tag.startsWith("runfold/"));
    return all.toSorted((one, other) => isOwn(one) - isOwn(other));
  }, [all]);
  const tag = tags.includes(view.full) ? view.full : (tags[0] ?? "");
  return { tag, tags, pick: (full: string) => change({ full, step: null }) };
}

interface PickerProps {
  tags: readonly string[];
  tag: string;
  pick: (tag: string) => void;
}

export function TagPicker({ tags, tag, pick }: PickerProps) {
  return (
    <label className="field">
      Tag
      <select value={tag} onChange={(event) => pick(event.target.value)}>
        {tags.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

/** One slider for all runs; at its right end it stays with the newest step. */
export function Stepper({ steps }: { steps: readonly Step[] }) {
  const [view, change] = useView();
  if (steps.length < 2) return null;
  const last = steps.length - 1;
  const wanted = view.step;
  const found = wanted === null ? last : steps.findLastIndex((step) => step <= wanted);
  const place = Math.max(0, found);
  return (
    <label className="field stepper">
      Step
      <input
        type="range"
        min={0}
        max={last}
        value={place}
        aria-valuetext={String(steps[place])}
        onChange={(event) => {
          const next = Number(event.target.value);
          change({ step: next === last ? null : (steps[next] ?? null) });
        }}
      />
      <output>{formatStep(steps[place] ?? 0)}</output>
    </label>
  );
}
