/** What is logged more seldom, what is wrong in the logs, and what TensorBoard itself shows. */

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
import { useHand } from "../state/hand";
import { useView } from "../state/view";
import "./media.css";
import "./more.css";

const MOST = 24;

const PARTS = [
  { part: "problems", title: "Problems", Body: ProblemsPart },
  { part: "pr_curves", title: "Precision and recall", Body: CurvesPart },
  { part: "meshes", title: "Meshes", Body: MeshesPart },
  { part: "others", title: "Graphs, embeddings, layouts", Body: OthersPart },
];

export function MoreView() {
  const [view, change] = useView();
  const { part, Body } = PARTS.find((one) => one.part === view.part) ?? (PARTS[0] as Part);
  return (
    <section className="media more">
      <nav aria-label="More">
        {PARTS.map((one) => (
          <button
            type="button"
            key={one.part}
            aria-current={one.part === part ? "page" : undefined}
            onClick={() => change({ part: one.part, step: null })}
          >
            {one.title}
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
  const { generation, shown, colourOf } = useChoice();
  const { tag, tags, moreTags, absent, pick } = useTag("pr_curve", "precision-recall curves");
  const found = useLoaded(tag || null, generation, (signal) => loadPrCurves(tag, signal));
  const runs = useMemo(() => byRun(found.value?.entries ?? []), [found.value]);
  const steps = useMemo(() => stepsOf(found.value?.entries ?? []), [found.value]);
  if (absent) return absent;
  const curves = shown.flatMap((run) => latest(runs.get(run) ?? [], view.step) ?? []);
  return (
    <>
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <Stepper steps={steps} />
      </div>
      <EntriesState
        found={found}
        what="curves"
        count={curves.length}
        leftOut={found.value?.leftOut ?? 0}
      />
      {curves.length > 0 && (
        <PrecisionRecall
          curves={curves}
          colourOf={colourOf}
          label={`Precision over recall of ${tag}, ${curves.length} runs`}
        />
      )}
    </>
  );
}

function MeshesPart() {
  const [view, change] = useView();
  const { generation, shown, colourOf } = useChoice();
  const keep = useCallback((turn: Turn) => change({ turn }), [change]);
  const [turn, setTurn] = useHand(view.turn, keep);
  const { tag, tags, moreTags, absent, pick } = useTag("mesh", "meshes");
  const key = tag ? `${view.step} ${tag}` : null;
  const found = useLoaded(key, generation, (signal) => loadMeshes(tag, view.step, signal));
  if (absent) return absent;
  const isShown = new Set(shown);
  const meshes = (found.value?.meshes ?? []).filter((mesh) => isShown.has(mesh.run));
  return (
    <>
      <div className="controls">
        <TagPicker tags={tags} moreTags={moreTags} tag={tag} pick={pick} />
        <Stepper steps={found.value?.steps ?? []} />
        <button type="button" onClick={() => setTurn(FRONT)}>
          As at first
        </button>
        <span className="hint">Drag or press the arrow keys to turn, + and − to zoom.</span>
      </div>
      <EntriesState found={found} what="meshes" count={meshes.length} leftOut={0} />
      <div className="drawings">
        {meshes.slice(0, MOST).map((mesh) => (
          <figure key={mesh.run}>
            <figcaption title={mesh.run}>
              <span className="swatch" style={{ background: colourOf(mesh.run) }} />
              {mesh.run}
              <small>
                step {formatStep(mesh.step)}
                {mesh.batch > 1 && `, the first of ${mesh.batch}`}
              </small>
            </figcaption>
            <MeshCanvas
              mesh={mesh}
              turn={turn}
              colour={colourOf(mesh.run)}
              label={`${tag} of ${mesh.run}`}
              onTurn={setTurn}
            />
          </figure>
        ))}
      </div>
      <TooManyRuns most={MOST} count={meshes.length} />
    </>
  );
}

function ProblemsPart() {
  const { generation } = useChoice();
  const found = useLoaded("problems", generation, loadProblems);
  const columns = useMemo(() => {
    const problems = found.value?.problems ?? [];
    const keys = ["run", "code", "message", "file", "offset"] as const;
    return keys.map(
      (key): Column => ({
        key,
        kind: "fixed",
        name: key,
        stat: "",
        isNumber: key === "offset",
        cells: problems.map((one) => one[key]),
      }),
    );
  }, [found.value]);
  if (!found.value) {
    return found.error ? <Failed error={found.error} /> : <Waiting what="the problems" />;
  }
  const { problems, leftOut } = found.value;
  if (problems.length === 0) return <Empty>Nothing is wrong in these logs.</Empty>;
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

const OTHERS: [kind: string, words: string, dashboard: string, place: string][] = [
  ["graph", "graphs", "graphs", "Graphs"],
  ["run_metadata", "profiles of a graph's run", "graphs", "Graphs"],
  ["layout", "layouts of custom scalars", "custom_scalars", "Custom Scalars"],
];

function OthersPart() {
  const { generation, shown } = useChoice();
  const [run, setRun] = useState("");
  const status = useLoaded("status", generation, (signal) => getJson("/api/status", {}, signal));
  const { kinds = {}, plugins = [], title = "LOGDIR" } = status.value ?? {};
  const found = OTHERS.filter(([kind]) => kinds[kind]);
  const make = () => ({ runs: shown.includes(run) ? [run] : shown, experiments: [], where: "" });
  const link = (dashboard: string, place: string) => (
    <StartBoard make={make} dashboard={dashboard} isDisabled={shown.length === 0}>
      Open “{place}”
    </StartBoard>
  );
  return (
    <div className="others">
      <p>
        Graphs, embeddings and layouts of custom scalars are shown by TensorBoard, which reads the
        same files{report ? ":" : "."}
      </p>
      {report ? (
        <>
          <pre>tensorboard --logdir {/\s|['"$`\\,]/.test(title) ? "LOGDIR" : title}</pre>
          <p className="hint">Start it in the folder from which the log was opened.</p>
        </>
      ) : (
        <label className="field">
          Of
          <select value={run} onChange={(event) => setRun(event.target.value)}>
            <option value="">
              the {shown.length.toLocaleString("en")} runs that are chosen at the left
            </option>
            {shown.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <ul>
        {found.map(([kind, words, dashboard, place]) => (
          <li key={kind}>
            This log has {words}; see “{place}” there. {link(dashboard, place)}
          </li>
        ))}
        {plugins.length > 0 && (
          <li>
            This log has values of plugins that Runfold does not know. TensorBoard shows them if it
            has the plugin.
            <ul aria-label="Values of unknown plugins">
              {plugins.map((one) => (
                <li key={`${one.kind} ${one.plugin}`}>
                  {spellPlugin(one)}, in {plural(one.tags, "tag")}
                </li>
              ))}
            </ul>
          </li>
        )}
        <li>
          Embeddings, if there are any, are in its “Projector”. {link("projector", "Projector")}
        </li>
      </ul>
    </div>
  );
}
