/** Histograms of a tag over steps, by run. */

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
const MOST_RUNS = 60;

export function HistogramsView() {
  const { generation, shown, colorOf } = useChoice();
  const [{ isBands }, change] = useView();
  const { tag, tags, moreTags, absent, pick } = useTag("histogram", "histograms");
  const loaded = useLoaded(tag || null, generation, (signal) => loadHistograms(tag, BINS, signal));
  const runs = useMemo(() => byRun(loaded.value?.entries ?? []), [loaded.value]);
  if (absent) return absent;
  const drawn = shown.filter((run) => runs.has(run));
  const Shape = isBands ? Bands : Ridges;
  const some = drawn.slice(0, MOST_RUNS);
  const limits = findLimits(some.flatMap((run) => runs.get(run) ?? []));
  return (
    <section className="media">
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <label className="field">
          Show as
          <select
            value={isBands ? "bands" : "ridges"}
            onChange={(event) => change({ isBands: event.target.value === "bands" })}
          >
            <option value="ridges">ridges, newest in front</option>
            <option value="bands">quantiles over steps</option>
          </select>
        </label>
      </div>
      <EntriesState
        loaded={loaded}
        what="histograms"
        count={drawn.length}
        leftOut={loaded.value?.leftOut ?? 0}
      />
      <div className="drawings">
        {some.map((run) => (
          <figure key={run}>
            <figcaption title={run}>
              <span className="swatch" style={{ background: colorOf(run) }} />
              {run}
            </figcaption>
            <Shape
              entries={runs.get(run) ?? []}
              color={colorOf(run)}
              label={`${tag} of ${run}`}
              limits={limits}
            />
          </figure>
        ))}
      </div>
      <TooManyRuns most={MOST_RUNS} count={drawn.length} />
    </section>
  );
}
