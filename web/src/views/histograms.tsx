/** Histograms of a tag, run by run, over steps. */

import { useMemo } from "react";
import { Bands, Ridges } from "../components/ridges";
import { TooManyRuns } from "../components/states";
import { EntriesState, TagPicker, useTag } from "../components/tags";
import { findLimits, loadHistograms } from "../data/histograms";
import { useLoaded } from "../data/loading";
import { byRun } from "../data/media";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import "./media.css";

const BINS = 60;
const MOST = 60;

export function HistogramsView() {
  const { generation, shown, colourOf } = useChoice();
  const [{ isBands }, change] = useView();
  const { tag, tags, moreTags, absent, pick } = useTag("histogram", "histograms");
  const found = useLoaded(tag || null, generation, (signal) => loadHistograms(tag, BINS, signal));
  const runs = useMemo(() => byRun(found.value?.entries ?? []), [found.value]);
  if (absent) return absent;
  const drawn = shown.filter((run) => runs.has(run));
  const Shape = isBands ? Bands : Ridges;
  const some = drawn.slice(0, MOST);
  const limits = findLimits(some.flatMap((run) => runs.get(run) ?? []));
  return (
    <section className="media">
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <label className="field">
          As
          <select
            value={isBands ? "bands" : "ridges"}
            onChange={(event) => change({ isBands: event.target.value === "bands" })}
          >
            <option value="ridges">ridges, the newest in front</option>
            <option value="bands">quantiles over steps</option>
          </select>
        </label>
      </div>
      <EntriesState
        found={found}
        what="histograms"
        count={drawn.length}
        leftOut={found.value?.leftOut ?? 0}
      />
      <div className="drawings">
        {some.map((run) => (
          <figure key={run}>
            <figcaption title={run}>
              <span className="swatch" style={{ background: colourOf(run) }} />
              {run}
            </figcaption>
            <Shape
              entries={runs.get(run) ?? []}
              colour={colourOf(run)}
              label={`${tag} of ${run}`}
              limits={limits}
            />
          </figure>
        ))}
      </div>
      <TooManyRuns most={MOST} count={drawn.length} />
    </section>
  );
}
