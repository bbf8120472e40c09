/** Everything recorded about a run, or the differences between two runs. */

import { type ReactNode, useEffect, useRef, useState } from "react";
import { StartBoard } from "../components/board-start";
import { CodeDiff, Facts } from "../components/facts";
import { Load } from "../components/load";
import { Empty, Failed, Waiting } from "../components/states";
import { StopRun } from "../components/stop";
import { getJson } from "../data/api";
import { useLoaded } from "../data/loading";
import { flatten, spell, spellCommand, spellHost, spellPlugin } from "../data/story";
import { formatBytes, formatNumber, formatStep, formatTime } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";
import { DifferenceView } from "./difference";
import "./run.css";

export function RunView() {
  const [view, change] = useView();
  const { table, listed } = useChoice();
  const run = view.run || listed[0] || "";
  const pick = (label: string, value: string, set: (run: string) => void, none = "") => (
    <label className="field">
      {label}
      <select value={value} onChange={(event) => set(event.target.value)}>
        {none && <option value="">{none}</option>}
        {table.runs.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
  return (
    <section className="run">
      <div className="controls">
        {pick("Run", run, (name) => change({ run: name }))}
        {pick("Compare with", view.other, (name) => change({ other: name }), "none")}
        <StartBoard
          make={() => ({
            runs: view.other ? [run, view.other] : [run],
            experiments: [],
            where: "",
          })}
          title={view.other ? "Open both runs in TensorBoard" : "Open this run in TensorBoard"}
        >
          TensorBoard
        </StartBoard>
      </div>
      {view.other ? <DifferenceView a={run} b={view.other} /> : <SingleRun key={run} run={run} />}
    </section>
  );
}

function SingleRun({ run }: { run: string }) {
  const { generation } = useChoice();
  const story = useLoaded(run, generation, (signal) => getJson("/api/run", { run }, signal));
  if (!story.value) {
    return story.error ? <Failed error={story.error} /> : <Waiting what="run" />;
  }
  const { status, config, code, diff, files, problems, artifacts, host, packages } = story.value;
  const { marks, plugins = [] } = story.value;
  const command = spellCommand(story.value.command);
  const isTracked = status.state !== "unknown" || code !== null;
  return (
    <>
      {!isTracked && (
        <p className="hint">
          This run was not tracked. `rf.track` and `runfold run` record a run's code, configuration,
          packages and exit status.
        </p>
      )}
      <Part title="Status">
        <StopRun run={run} state={status.state} />
        <Facts
          facts={[
            ["state", status.state],
            ["started", formatTime(status.started)],
            ["ended", formatTime(status.ended)],
            ["exit status", spell(status.exit ?? undefined)],
            ["points", formatNumber(story.value.points)],
            ["hidden by restarts", formatNumber(story.value.hidden)],
          ]}
        />
        {status.traceback && <pre>{status.traceback}</pre>}
      </Part>
      <Part title="Values from unknown plugins" isEmpty={plugins.length === 0}>
        <ul>
          {plugins.map((entry) => (
            <li key={`${entry.kind} ${entry.plugin} ${entry.tag}`}>
              {entry.tag} from {spellPlugin(entry)}
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Problems" isEmpty={problems.length === 0}>
        <ul>
          {problems.map((problem) => (
            <li key={`${problem.file} ${problem.offset} ${problem.code}`}>
              {problem.file}: {problem.message}
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Marks" isEmpty={marks.length === 0}>
        <ul>
          {marks.map((mark) => (
            <li key={`${mark.step} ${mark.wall_time} ${mark.text}`}>
              step {formatStep(mark.step)}: {mark.text}
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Configuration" isEmpty={Object.keys(config).length === 0}>
        <Facts facts={flatten(config).map(([name, value]) => [name, spell(value)])} />
      </Part>
      <Part title="Code" isEmpty={code === null}>
        {code && (
          <Facts
            facts={[
              ["commit", code.commit],
              ["branch", code.branch],
              ["remote", code.remote],
              ["script", code.script],
              ["omitted files", Object.keys(code.left_out).join(", ")],
              ["notes", code.notes.join(" ")],
            ]}
          />
        )}
        {diff && <CodeDiff text={diff} />}
        {Object.entries(files).map(([path, text]) => (
          <details key={path}>
            <summary>{path}</summary>
            <pre>{text}</pre>
          </details>
        ))}
      </Part>
      <Part title="Output">
        <LiveOutput run={run} />
      </Part>
      <Part title="System">
        <Load run={run} />
      </Part>
      <Part title="Artifacts" isEmpty={artifacts.length === 0}>
        <Facts
          facts={artifacts.map((artifact) => [
            artifact.name,
            `${formatBytes(artifact.size)}, sha256 ${artifact.sha256}`,
          ])}
        />
      </Part>
      <Part title="Command and host" isEmpty={!command && Object.keys(host).length === 0}>
        <Facts facts={[["command", command], ...spellHost(host)]} />
      </Part>
      <Part title="Packages" isEmpty={Object.keys(packages).length === 0} isClosed>
        <Facts facts={flatten(packages).map(([name, value]) => [name, spell(value)])} />
      </Part>
      <Part
        title="Environment"
        isEmpty={Object.keys(story.value.environment).length === 0}
        isClosed
      >
        <Facts
          facts={flatten(story.value.environment).map(([name, value]) => [name, spell(value)])}
        />
      </Part>
    </>
  );
}

interface PartProps {
  title: string;
  children: ReactNode;
  isEmpty?: boolean;
  isClosed?: boolean;
}

export function Part({ title, children, isEmpty = false, isClosed = false }: PartProps) {
  if (isEmpty) return null;
  return (
    <details className="part" open={!isClosed}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

/** Live output of a run, scrolled to the end unless the user has scrolled up. */
function LiveOutput({ run }: { run: string }) {
  const { generation } = useChoice();
  const [text, setText] = useState("");
  const [isRead, setRead] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const next = useRef(0);
  const box = useRef<HTMLPreElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change can add output
  useEffect(() => {
    const controller = new AbortController();
    const load = async () => {
      for (;;) {
        const request = { run, after: next.current };
        const more = await getJson("/api/output", request, controller.signal);
        if (more.next < next.current) setText("");
        if (more.text) setText((before) => before + more.text);
        next.current = more.next;
        if (more.next >= more.total) break;
      }
      setRead(true);
      setError(null);
    };
    load().catch((reason: Error) => !controller.signal.aborted && setError(reason));
    return () => controller.abort();
  }, [run, generation]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls after new text
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 80;
    if (isAtEnd || element.scrollTop === 0) element.scrollTop = element.scrollHeight;
  }, [text]);
  return (
    <>
      {text && <pre ref={box}>{text}</pre>}
      {error && <Failed error={error} />}
      {!text && !error && !isRead && <Waiting what="output" />}
      {!text && !error && isRead && <Empty>No output was recorded.</Empty>}
    </>
  );
}
