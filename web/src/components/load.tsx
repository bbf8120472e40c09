/** The load of the machine while a run ran: one small chart for each measure. */

import { useMemo } from "react";
import { get, numbers, readArrow } from "../data/api";
import { useLoaded } from "../data/loading";
import { useChoice } from "../state/choice";
import { Plot } from "./plot";
import { Empty, Failed, Waiting } from "./states";

interface Measure {
  tag: string;
  x: number[];
  y: number[];
}

async function loadSystem(run: string, signal: AbortSignal): Promise<Measure[]> {
  const table = await readArrow(await get("/api/system", { run }, signal));
  const tags = Array.from(table.getChild("tag") ?? [], String);
  const [x, y] = [numbers(table, "x"), numbers(table, "y")];
  const found = new Map<string, Measure>();
  for (const [row, tag] of tags.entries()) {
    const measure = found.get(tag) ?? { tag, x: [], y: [] };
    measure.x.push(x[row] ?? 0);
    measure.y.push(y[row] ?? Number.NaN);
    found.set(tag, measure);
  }
  return [...found.values()];
}

export function Load({ run }: { run: string }) {
  const { generation } = useChoice();
  const system = useLoaded(run, generation, (signal) => loadSystem(run, signal));
  if (!system.value) {
    return system.error ? <Failed error={system.error} /> : <Waiting what="the system metrics" />;
  }
  if (system.value.length === 0) return <Empty>No system metrics were logged.</Empty>;
  return (
    <div className="measures">
      {system.value.map((measure) => (
        <One key={measure.tag} measure={measure} />
      ))}
    </div>
  );
}

function One({ measure }: { measure: Measure }) {
  const names = useMemo(() => [measure.tag.replace(/^system\//, "")], [measure.tag]);
  const data = useMemo<[number[], number[]]>(() => [measure.x, measure.y], [measure]);
  return <Plot x="seconds" names={names} data={data} height={140} label={names[0] ?? ""} />;
}
