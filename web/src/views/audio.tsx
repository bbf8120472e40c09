/** Audio clips of a tag, by run. */

import { Markdown } from "../components/markdown";
import { EntriesState, Stepper, TagPicker, useTag } from "../components/tags";
import { blobAddress, getJson, readEntries } from "../data/api";
import { useLoaded } from "../data/loading";
import { byRun, latest, stepsOf } from "../data/media";
import { formatStep } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import "./media.css";

export function AudioView() {
  const [view] = useView();
  const { generation, shown, colorOf } = useChoice();
  const { tag, tags, moreTags, absent, pick } = useTag("audio", "audio");
  const loaded = useLoaded(tag || null, generation, async (signal) => {
    const { clips, leftOut } = await getJson("/api/audio", { tag }, signal);
    return readEntries(clips, leftOut);
  });
  if (absent) return absent;
  const { entries: clips = [], leftOut = 0 } = loaded.value ?? {};
  const runs = byRun(clips);
  const count = shown.filter((run) => latest(runs.get(run) ?? [], view.step)).length;
  return (
    <section className="media">
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <Stepper steps={stepsOf(clips)} />
      </div>
      <EntriesState loaded={loaded} what="audio clips" count={count} leftOut={leftOut} />
      {shown.map((run) => {
        const own = runs.get(run) ?? [];
        const chosen = latest(own, view.step);
        if (!chosen) return null;
        return (
          <article key={run} className="entry">
            <h2>
              <span className="swatch" style={{ background: colorOf(run) }} />
              {run} <small>step {formatStep(chosen.step)}</small>
            </h2>
            {own
              .filter((clip) => clip.step === chosen.step)
              .map((clip) => (
                <div key={`${clip.blob} ${clip.index}`}>
                  {/* biome-ignore lint/a11y/useMediaCaption: a log has no captions */}
                  <audio controls preload="none" src={blobAddress("audio", clip, tag)} />
                  <p className="hint">
                    {clip.sampleRate !== null && `${clip.sampleRate.toLocaleString("en")} Hz`}
                    {clip.sampleRate !== null &&
                      clip.sampleRate > 0 &&
                      clip.lengthFrames !== null &&
                      `, ${(clip.lengthFrames / clip.sampleRate).toFixed(2)} s`}
                  </p>
                  {clip.label && <Markdown text={clip.label} among={clips.length} />}
                </div>
              ))}
          </article>
        );
      })}
    </section>
  );
}
