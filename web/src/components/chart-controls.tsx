/** Controls for all charts: tag filter, folding, axes, smoothing. */

import type { Axis } from "../data/types";
import {
  AXIS_NAMES,
  type AxisName,
  BANDS,
  BANDS_AROUND,
  type Band,
  CENTERS,
  type Center,
} from "../generated/vocabulary";
import { useDraft } from "../state/draft";
import type { ChangeView, View } from "../state/view";

interface ControlsProps {
  view: View;
  change: ChangeView;
  tags: readonly string[];
  /** Number of tags that match the filter. */
  count: number;
  hasAnyMarks: boolean;
}

export function ChartControls({ view, change, tags, count, hasAnyMarks }: ControlsProps) {
  return (
    <form
      className="curves-controls"
      aria-label="Charts"
      onSubmit={(event) => event.preventDefault()}
    >
      <label>
        <input
          type="search"
          aria-label="Filter tags by text or regular expression"
          placeholder="Filter tags (regex)"
          spellCheck={false}
          value={view.tags}
          onChange={(event) => change({ tags: event.target.value })}
        />
        <span className="hint">
          {count} of {tags.length} tags
        </span>
      </label>
      <FoldControls view={view} change={change} />
      <AxisControl x={view.x} tags={tags} onChange={(x) => change({ x, range: null })} />
      <SmoothControl value={view.smooth} onChange={(smooth) => change({ smooth })} />
      <Check label="log x" isOn={view.isLogX} onChange={(isLogX) => change({ isLogX })} />
      <Check label="log y" isOn={view.isLogY} onChange={(isLogY) => change({ isLogY })} />
      <Check
        label="ignore outliers"
        isOn={view.isRobust}
        onChange={(isRobust) => change({ isRobust })}
      />
      {hasAnyMarks && (
        <Check label="marks" isOn={view.hasMarks} onChange={(hasMarks) => change({ hasMarks })} />
      )}
      <button type="button" disabled={!view.range} onClick={() => change({ range: null })}>
        Reset zoom
      </button>
    </form>
  );
}

function FoldControls({ view, change }: Pick<ControlsProps, "view" | "change">) {
  const bandsAround = (center: Center): readonly Band[] => BANDS_AROUND[center];
  const bands: Partial<Record<Band, string>> = Object.fromEntries(
    bandsAround(view.center).map((band) => [band, BANDS[band]]),
  );
  return (
    <>
      <fieldset>
        <legend className="unseen">Lines</legend>
        <label title="One line per run">
          <input
            type="radio"
            name="lines"
            checked={!view.isFolded}
            onChange={() => change({ isFolded: false })}
          />
          runs
        </label>
        <label title="One line and band per group. Set “Group by” in the list of runs.">
          <input
            type="radio"
            name="lines"
            checked={view.isFolded}
            onChange={() => change({ isFolded: true })}
          />
          folded
        </label>
      </fieldset>
      {view.isFolded && (
        <>
          <Choice
            label="Center"
            value={view.center}
            choices={CENTERS}
            onChange={(center) =>
              change(
                bandsAround(center).includes(view.band) ? { center } : { center, band: "ci95" },
              )
            }
          />
          <Choice
            label="Band"
            value={view.band}
            choices={bands}
            onChange={(band) => change({ band })}
          />
        </>
      )}
    </>
  );
}

interface ChoiceProps<Name extends string> {
  label: string;
  value: Name;
  choices: Partial<Record<Name, string>>;
  onChange: (value: Name) => void;
}

function Choice<Name extends string>({ label, value, choices, onChange }: ChoiceProps<Name>) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.target.value as Name)}>
        {(Object.keys(choices) as Name[]).map((name) => (
          <option key={name} value={name}>
            {choices[name]}
          </option>
        ))}
      </select>
    </label>
  );
}

const AXES = Object.keys(AXIS_NAMES) as AxisName[];

function AxisControl({
  x,
  tags,
  onChange,
}: {
  x: Axis;
  tags: readonly string[];
  onChange: (x: Axis) => void;
}) {
  // The prefix distinguishes a tag named "step" from the axis.
  const value = typeof x === "object" ? `tag:${x.tag}` : x;
  const read = (text: string): Axis =>
    AXES.find((axis) => axis === text) ?? { tag: text.slice("tag:".length) };
  return (
    <label>
      x
      <select value={value} onChange={(event) => onChange(read(event.target.value))}>
        {AXES.map((axis) => (
          <option key={axis} value={axis}>
            {AXIS_NAMES[axis]}
          </option>
        ))}
        <optgroup label="another tag">
          {tags.map((tag) => (
            <option key={tag} value={`tag:${tag}`}>
              {tag}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}

/** Smoothing slider. The URL and the charts follow after a short pause. */
function SmoothControl({ value, onChange }: { value: number; onChange: (value: number) => void }) {
  const [draft, setDraft] = useDraft(value, onChange);
  return (
    <label>
      smoothing
      <input
        type="range"
        min={0}
        max={0.999}
        step={0.001}
        value={draft}
        aria-valuetext={draft.toFixed(3)}
        onChange={(event) => setDraft(Number(event.target.value))}
      />
      <output>{draft.toFixed(2)}</output>
    </label>
  );
}

function Check({
  label,
  isOn,
  onChange,
}: {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}) {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  );
}
