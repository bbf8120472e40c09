/** System metrics recorded during a run, one small chart per metric. */

import { useMemo } from "react";
import { get, numbers, readArrow } from "../data/api";
import { useLoaded } from "../data/loading";
import { useChoice } from "../state/choice";
import { Plot } from "./plot";
import { Empty, Failed, Waiting } from "./states";

interface Metric {
  tag: string;
  x: number[];
  y: number[];
}

async function loadSystem(run: string, signal: AbortSignal): Promise<Metric[]> {
  const table = await readArrow(await get("/api/system", { run }, signal));
  const tags = Array.from(table.getChild("tag") ?? [], String);
  const [x, y] = [numbers(table, "x"), numbers(table, "y")];
  const metrics = new Map<string, Metric>();
  for (const [row, tag] of tags.entries()) {
    const metric = metrics.get(tag) ?? { tag, x: [], y: [] };
    metric.x.push(x[row] ?? 0);
    metric.y.push(y[row] ?? Number.NaN);
    metrics.set(tag, metric);
  }
  return [...metrics.values()];
}

export function Load({ run }: { run: string }) {
  const { generation } = useChoice();
  const system = useLoaded(run, generation, (signal) => loadSystem(run, signal));
  if (!system.value) {
    return system.error ? <Failed error={system.error} /> : <Waiting what="system metrics" />;
  }
  if (system.value.length === 0) return <Empty>No system metrics were logged.</Empty>;
  return (
    <div className="measures">
      {system.value.map((metric) => (
        <MetricPlot key={metric.tag} metric={metric} />
      ))}
    </div>
  );
}

function MetricPlot({ metric }: { metric: Metric }) {
  const names = useMemo(() => [metric.tag.replace(/^system\//, "")], [metric.tag]);
  const data = useMemo<[number[], number[]]>(() => [metric.x, metric.y], [metric]);
  return <Plot x="seconds" names={names} data={data} height={140} label={names[0] ?? ""} />;
}
