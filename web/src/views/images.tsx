/** Images of a tag, runs side by side, with one step slider for all. */

import { useMemo } from "react";
import { Name } from "../components/name";
import { PictureBox } from "../components/picture";
import { EntriesState, Stepper, TagPicker, useTag } from "../components/tags";
import { getJson, readEntries } from "../data/api";
import { useLoaded } from "../data/loading";
import { byRun, latest, stepsOf } from "../data/media";
import { formatStep } from "../format/number";
import { useChoice } from "../state/choice";
import { useView, type View } from "../state/view";
import "./media.css";

const LAYERS: [View["layers"], string][] = [
  ["both", "boxes and masks"],
  ["boxes", "boxes"],
  ["masks", "masks"],
  ["none", "none"],
];

const [SMALLEST, LARGEST] = [80, 900];

export function ImagesView() {
  const [view, change] = useView();
  const { generation, shown, colorOf, labels: runLabels } = useChoice();
  const labelsOff = new Set(view.labelsOff);
  // A URL cannot set a size that the slider does not allow.
  const size = Math.min(LARGEST, Math.max(SMALLEST, view.size));
  const { tag, tags, moreTags, absent, pick } = useTag("image", "images");
  const loaded = useLoaded(tag || null, generation, async (signal) => {
    const { images, leftOut } = await getJson("/api/images", { tag }, signal);
    return readEntries(images, leftOut);
  });
  const pictures = useMemo(() => loaded.value?.entries ?? [], [loaded.value]);
  const runs = useMemo(() => byRun(pictures), [pictures]);
  const labels = useMemo(
    () => [...new Set(pictures.flatMap((picture) => picture.boxes?.labels ?? []))].sort(),
    [pictures],
  );
  const hasBoxes = pictures.some((picture) => picture.boxes);
  if (absent) return absent;
  const count = shown.filter((run) => latest(runs.get(run) ?? [], view.step)).length;
  const toggle = (label: string) => {
    const next = new Set(labelsOff);
    if (!next.delete(label)) next.add(label);
    change({ labelsOff: [...next] });
  };
  return (
    <section className="media">
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <Stepper steps={stepsOf(pictures)} />
        <label className="field">
          Size
          <input
            type="range"
            min={SMALLEST}
            max={LARGEST}
            value={size}
            onChange={(event) => change({ size: Number(event.target.value) })}
          />
        </label>
        {hasBoxes && (
          <>
            <label className="field">
              Overlay
              <select
                value={view.layers}
                onChange={(event) => change({ layers: event.target.value as View["layers"] })}
              >
                {LAYERS.map(([value, title]) => (
                  <option key={value} value={value}>
                    {title}
                  </option>
                ))}
              </select>
            </label>
            <label className="field">
              Minimum score
              <input
                type="range"
                min={0}
                max={1}
                step={0.01}
                value={view.threshold}
                onChange={(event) => change({ threshold: Number(event.target.value) })}
              />
              <output>{view.threshold.toFixed(2)}</output>
            </label>
            {labels.map((label) => (
              <label key={label} className="toggle">
                <input
                  type="checkbox"
                  checked={!labelsOff.has(label)}
                  onChange={() => toggle(label)}
                />
                {label}
              </label>
            ))}
          </>
        )}
      </div>
      <EntriesState
        loaded={loaded}
        what="images"
        count={count}
        leftOut={loaded.value?.leftOut ?? 0}
      />
      <div className="pictures">
        {shown.map((run) => {
          const own = runs.get(run) ?? [];
          const chosen = latest(own, view.step);
          if (!chosen) return null;
          return own
            .filter((picture) => picture.step === chosen.step)
            .map((picture) => (
              <figure key={`${picture.blob} ${picture.index}`}>
                <figcaption title={run} style={{ width: size }}>
                  <span className="swatch" style={{ background: colorOf(run) }} />
                  <Name name={run} label={runLabels.of(run)} />
                  <small>step {formatStep(picture.step)}</small>
                </figcaption>
                <PictureBox
                  picture={picture}
                  tag={tag}
                  layers={view.layers}
                  threshold={view.threshold}
                  isLabelOff={(label) => labelsOff.has(label)}
                  size={size}
                />
              </figure>
            ));
        })}
      </div>
    </section>
  );
}
