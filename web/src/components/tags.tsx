/** Controls to choose a tag and a step, and the states of a tag's entries. */

import { type ReactNode, useMemo } from "react";
import { getJson } from "../data/api";
import { type Loaded, useLoaded } from "../data/loading";
import { isStory } from "../data/tags";
import type { Step } from "../data/types";
import { formatStep } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import { Empty, Failed, Waiting } from "./states";

/**
 * Return the tags of a kind and the selected tag. Tags recorded by Runfold itself come last.
 *
 * The charts' tag filter does not apply here. Without a tag, `absent` is the state
 * to show instead: loading, empty or failed.
 */
export function useTag(kind: string, what: string) {
  const [view, change] = useView();
  const { generation } = useChoice();
  const loaded = useLoaded("tags", generation, (signal) => getJson("/api/tags", {}, signal));
  const tags = useMemo(() => {
    const isOwn = (tag: string) => Number(isStory(tag));
    const all = (loaded.value?.kinds[kind] ?? []).map((info) => info.tag);
    return all.toSorted((a, b) => isOwn(a) - isOwn(b));
  }, [loaded.value, kind]);
  const tag = tags.includes(view.full) ? view.full : (tags[0] ?? "");
  let absent: ReactNode = null;
  if (loaded.error && !loaded.value) absent = <Failed error={loaded.error} />;
  else if (!loaded.value) absent = <Waiting what="tags" />;
  else if (!tag) absent = <Empty>No run has logged {what} yet.</Empty>;
  const moreTags = loaded.value?.leftOut?.[kind] ?? 0;
  return { tag, tags, moreTags, absent, pick: (full: string) => change({ full, step: null }) };
}

interface PickerProps {
  tags: readonly string[];
  /** Number of tags that are not listed. */
  moreTags: number;
  tag: string;
  pick: (tag: string) => void;
}

export function TagPicker({ tags, moreTags, tag, pick }: PickerProps) {
  return (
    <>
      <label className="field">
        Tag
        <select value={tag} onChange={(event) => pick(event.target.value)}>
          {tags.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <MoreTags leftOut={moreTags} />
    </>
  );
}

/** Note on the tags that are not listed, and how to see them. */
export function MoreTags({ leftOut }: { leftOut: number }) {
  if (leftOut === 0) return null;
  return (
    <p className="hint">
      {leftOut.toLocaleString("en")} more tags are not shown. <code>runfold ls --json</code> lists
      all tags, and <code>runfold show</code> plots any of them.
    </p>
  );
}

interface StateProps {
  loaded: Loaded<unknown>;
  what: string;
  /** Number of selected runs with an entry. */
  count: number;
  /** Number of entries that the server did not send. */
  leftOut: number;
}

/** Loading, empty and error states above the entries of a tag. */
export function EntriesState({ loaded, what, count, leftOut }: StateProps) {
  const [{ step }] = useView();
  return (
    <>
      {loaded.error && <Failed error={loaded.error} />}
      {!loaded.value && !loaded.error && <Waiting what={what} />}
      {loaded.value !== null && count === 0 && (
        <Empty>
          No selected run has {what}
          {step === null ? "." : " at or before this step."}
        </Empty>
      )}
      {leftOut > 0 && (
        <p className="hint">
          {leftOut.toLocaleString("en")} more {what} are not listed.
        </p>
      )}
    </>
  );
}

/** Step slider for all runs. At its right end it follows the newest step. */
export function Stepper({ steps }: { steps: readonly Step[] }) {
  const [view, change] = useView();
  if (steps.length < 2) return null;
  const last = steps.length - 1;
  const chosen = view.step;
  const found = chosen === null ? last : steps.findLastIndex((step) => step <= chosen);
  const index = Math.max(0, found);
  return (
    <label className="field stepper">
      Step
      <input
        type="range"
        min={0}
        max={last}
        value={index}
        aria-valuetext={String(steps[index])}
        onChange={(event) => {
          const next = Number(event.target.value);
          change({ step: next === last ? null : (steps[next] ?? null) });
        }}
      />
      <output>{formatStep(steps[index] ?? 0)}</output>
    </label>
  );
}
