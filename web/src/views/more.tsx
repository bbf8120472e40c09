/** The "more" view: problems, rarer kinds of data, and data that only TensorBoard shows. */

import { useCallback, useMemo, useState } from "react";
import { StartBoard } from "../components/board-start";
import { Grid } from "../components/grid";
import { MeshCanvas } from "../components/mesh";
import { PrecisionRecall } from "../components/precision";
import { Empty, Failed, TooManyRuns, Waiting } from "../components/states";
import { EntriesState, Stepper, TagPicker, useTag } from "../components/tags";
import { getJson } from "../data/api";
import { countCodes, loadMeshes, loadPrCurves, loadProblems } from "../data/extras";
import { useLoaded } from "../data/loading";
import { byRun, latest, stepsOf } from "../data/media";
import { report } from "../data/report";
import { spellPlugin } from "../data/story";
import type { Column } from "../data/types";
import { formatStep, plural } from "../format/number";
import { FRONT, type Turn } from "../scale/turn";
import { useChoice } from "../state/choice";
import { useDraft } from "../state/draft";
import { useView } from "../state/view";
import "./media.css";
import "./more.css";

const MOST_RUNS = 24;

const PARTS = [
  { part: "problems", title: "Problems", Body: ProblemsPart },
  { part: "pr_curves", title: "Precision-recall", Body: CurvesPart },
  { part: "meshes", title: "Meshes", Body: MeshesPart },
  { part: "others", title: "Graphs, embeddings, layouts", Body: OthersPart },
];

export function MoreView() {
  const [view, change] = useView();
  const { part, Body } = PARTS.find((entry) => entry.part === view.part) ?? (PARTS[0] as Part);
  return (
    <section className="media more">
      <nav aria-label="More">
        {PARTS.map((entry) => (
          <button
            type="button"
            key={entry.part}
            aria-current={entry.part === part ? "page" : undefined}
            onClick={() => change({ part: entry.part, step: null })}
          >
            {entry.title}
          </button>
        ))}
      </nav>
      <Body />
    </section>
  );
}

type Part = (typeof PARTS)[number];

function CurvesPart() {
  const [view] = useView();
  const { generation, shown, colorOf } = useChoice();
  const { tag, tags, moreTags, absent, pick } = useTag("pr_curve", "precision-recall curves");
  const loaded = useLoaded(tag || null, generation, (signal) => loadPrCurves(tag, signal));
  const runs = useMemo(() => byRun(loaded.value?.entries ?? []), [loaded.value]);
  const steps = useMemo(() => stepsOf(loaded.value?.entries ?? []), [loaded.value]);
  if (absent) return absent;
  const curves = shown.flatMap((run) => latest(runs.get(run) ?? [], view.step) ?? []);
  return (
    <>
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <Stepper steps={steps} />
      </div>
      <EntriesState
        loaded={loaded}
        what="curves"
        count={curves.length}
        leftOut={loaded.value?.leftOut ?? 0}
      />
      {curves.length > 0 && (
        <PrecisionRecall
          curves={curves}
          colorOf={colorOf}
          label={`Precision-recall curves of ${tag}, ${plural(curves.length, "run")}`}
        />
      )}
    </>
  );
}

function MeshesPart() {
  const [view, change] = useView();
  const { generation, shown, colorOf } = useChoice();
  const keep = useCallback((turn: Turn) => change({ turn }), [change]);
  const [turn, setTurn] = useDraft(view.turn, keep);
  const { tag, tags, moreTags, absent, pick } = useTag("mesh", "meshes");
  const key = tag ? `${view.step} ${tag}` : null;
  const loaded = useLoaded(key, generation, (signal) => loadMeshes(tag, view.step, signal));
  if (absent) return absent;
  const isShown = new Set(shown);
  const meshes = (loaded.value?.meshes ?? []).filter((mesh) => isShown.has(mesh.run));
  return (
    <>
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <Stepper steps={loaded.value?.steps ?? []} />
        <button type="button" onClick={() => setTurn(FRONT)}>
          Reset view
        </button>
        <span className="hint">Drag or use the arrow keys to rotate; use + and − to zoom.</span>
      </div>
      <EntriesState loaded={loaded} what="meshes" count={meshes.length} leftOut={0} />
      <div className="drawings">
        {meshes.slice(0, MOST_RUNS).map((mesh) => (
          <figure key={mesh.run}>
            <figcaption title={mesh.run}>
              <span className="swatch" style={{ background: colorOf(mesh.run) }} />
              {mesh.run}
              <small>
                step {formatStep(mesh.step)}
                {mesh.batch > 1 && `, first of ${mesh.batch}`}
              </small>
            </figcaption>
            <MeshCanvas
              mesh={mesh}
              turn={turn}
              color={colorOf(mesh.run)}
              label={`${tag} of ${mesh.run}`}
              onTurn={setTurn}
            />
          </figure>
        ))}
      </div>
      <TooManyRuns most={MOST_RUNS} count={meshes.length} />
    </>
  );
}

function ProblemsPart() {
  const { generation } = useChoice();
  const loaded = useLoaded("problems", generation, loadProblems);
  const columns = useMemo(() => {
    const problems = loaded.value?.problems ?? [];
    const keys = ["run", "code", "message", "file", "offset"] as const;
    return keys.map(
      (key): Column => ({
        key,
        kind: "fixed",
        name: key,
        stat: "",
        isNumber: key === "offset",
        cells: problems.map((problem) => problem[key]),
      }),
    );
  }, [loaded.value]);
  if (!loaded.value) {
    return loaded.error ? <Failed error={loaded.error} /> : <Waiting what="problems" />;
  }
  const { problems, leftOut } = loaded.value;
  if (problems.length === 0) return <Empty>No problems found.</Empty>;
  const counts = countCodes(problems).map(([code, count]) => `${code}: ${count}`);
  return (
    <>
      <p>{counts.join(", ")}</p>
      <Grid
        columns={columns}
        caption={`${plural(problems.length, "problem")}${
          leftOut ? `; ${leftOut.toLocaleString("en")} more are not listed` : ""
        }`}
      />
    </>
  );
}

const OTHERS: [kind: string, noun: string, dashboard: string, title: string][] = [
  ["graph", "graphs", "graphs", "Graphs"],
  ["run_metadata", "run metadata of graphs", "graphs", "Graphs"],
  ["layout", "custom scalar layouts", "custom_scalars", "Custom Scalars"],
];

function OthersPart() {
  const { generation, shown } = useChoice();
  const [run, setRun] = useState("");
  const status = useLoaded("status", generation, (signal) => getJson("/api/status", {}, signal));
  const { kinds = {}, plugins = [], title: logdir = "LOGDIR" } = status.value ?? {};
  const others = OTHERS.filter(([kind]) => kinds[kind]);
  const make = () => ({ runs: shown.includes(run) ? [run] : shown, experiments: [], where: "" });
  const link = (dashboard: string, title: string) => (
    <StartBoard make={make} dashboard={dashboard} isDisabled={shown.length === 0}>
      Open “{title}”
    </StartBoard>
  );
  return (
    <div className="others">
      <p>
        TensorBoard shows graphs, embeddings and custom scalar layouts from the same files
        {report ? ":" : "."}
      </p>
      {report ? (
        <>
          <pre>tensorboard --logdir {/\s|['"$`\\,]/.test(logdir) ? "LOGDIR" : logdir}</pre>
          <p className="hint">Run this command in the folder from which the logdir was opened.</p>
        </>
      ) : (
        <label className="field">
          Runs
          <select value={run} onChange={(event) => setRun(event.target.value)}>
            <option value="">all selected ({shown.length.toLocaleString("en")})</option>
            {shown.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <ul>
        {others.map(([kind, noun, dashboard, title]) => (
          <li key={kind}>
            This logdir has {noun}: see “{title}” in TensorBoard. {link(dashboard, title)}
          </li>
        ))}
        {plugins.length > 0 && (
          <li>
            This logdir has values from plugins that Runfold does not support. TensorBoard shows
            them if their plugins are installed.
            <ul aria-label="Values from unknown plugins">
              {plugins.map((entry) => (
                <li key={`${entry.kind} ${entry.plugin}`}>
                  {spellPlugin(entry)}, in {plural(entry.tags, "tag")}
                </li>
              ))}
            </ul>
          </li>
        )}
        <li>
          Embeddings, if any, are in TensorBoard's “Projector”. {link("projector", "Projector")}
        </li>
      </ul>
    </div>
  );
}
