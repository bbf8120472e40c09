/** Which tag, and which step of it, is looked at. */

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
 * The tags of a kind, what runs say of themselves last, and the one that was chosen.
 *
 * The filter of the charts is not seen here, so it takes nothing away. Where there is
 * no tag, `absent` is shown in its place: not yet, not at all, or why not.
 */
export function useTag(kind: string, what: string) {
  const [view, change] = useView();
  const { generation } = useChoice();
  const found = useLoaded("tags", generation, (signal) => getJson("/api/tags", {}, signal));
  const tags = useMemo(() => {
    const isOwn = (tag: string) => Number(isStory(tag));
    const all = (found.value?.kinds[kind] ?? []).map((one) => one.tag);
    return all.toSorted((one, other) => isOwn(one) - isOwn(other));
  }, [found.value, kind]);
  const tag = tags.includes(view.full) ? view.full : (tags[0] ?? "");
  let absent: ReactNode = null;
  if (found.error && !found.value) absent = <Failed error={found.error} />;
  else if (!found.value) absent = <Waiting what="the tags" />;
  else if (!tag) absent = <Empty>No run has logged {what}.</Empty>;
  const moreTags = found.value?.leftOut?.[kind] ?? 0;
  return { tag, tags, moreTags, absent, pick: (full: string) => change({ full, step: null }) };
}

interface PickerProps {
  tags: readonly string[];
  /** How many further tags are not listed. */
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

/** Says that the page lists the first tags only, and where the others are. */
export function MoreTags({ leftOut }: { leftOut: number }) {
  if (leftOut === 0) return null;
  return (
    <p className="hint">
      {leftOut.toLocaleString("en")} more tags are not shown here. <code>runfold ls --json</code>{" "}
      lists all, and <code>runfold show</code> draws any.
    </p>
  );
}

interface StateProps {
  found: Loaded<unknown>;
  what: string;
  /** How many of the runs that are on have one, and how many entries were not sent. */
  count: number;
  leftOut: number;
}

/** What stands beside the entries of a tag, or in their place. */
export function EntriesState({ found, what, count, leftOut }: StateProps) {
  return (
    <>
      {found.error && <Failed error={found.error} />}
      {!found.value && !found.error && <Waiting what={`the ${what}`} />}
      {found.value !== null && count === 0 && <Empty>No run that is on has any by then.</Empty>}
      {leftOut > 0 && (
        <p className="hint">
          {leftOut.toLocaleString("en")} more {what} are too many to be listed.
        </p>
      )}
    </>
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
