/** Differences between two runs: settings, packages, code and final values. */

import { CodeDiff } from "../components/facts";
import { Failed, Waiting } from "../components/states";
import { getJson } from "../data/api";
import { useLoaded } from "../data/loading";
import { spell, spellFinal } from "../data/story";
import { isSystem } from "../data/tags";
import type { DiffRow } from "../generated/endpoints";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";

export function DifferenceView({ a, b }: { a: string; b: string }) {
  const { generation } = useChoice();
  const [{ isAll }, change] = useView();
  const loaded = useLoaded(`${a}\n${b}`, generation, (signal) =>
    getJson("/api/diff", { a, b }, signal),
  );
  if (!loaded.value) {
    return loaded.error ? <Failed error={loaded.error} /> : <Waiting what="differences" />;
  }
  const { sections, finals, code } = loaded.value;
  // System metrics always differ.
  const relevant = finals.filter((final) => isAll || !isSystem(final.tag));
  const values: DiffRow[] = relevant.map((final) => ({
    name: final.tag,
    a: spellFinal(final.a),
    b: spellFinal(final.b),
    isSame: final.isSame,
  }));
  return (
    <>
      <label className="toggle">
        <input
          type="checkbox"
          checked={isAll}
          onChange={(event) => change({ isAll: event.target.checked })}
        />
        Include identical values
      </label>
      {[...sections, { title: "Final values", rows: values }].map(({ title, rows }) => {
        const shown = rows.filter((row) => isAll || !row.isSame);
        if (shown.length === 0) return null;
        return (
          <table className="sides" key={title}>
            <caption>{title}</caption>
            <thead>
              <tr>
                <th scope="col" aria-label="name" />
                <th scope="col">{a}</th>
                <th scope="col">{b}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row.name} className={row.isSame ? "same" : "differs"}>
                  <th scope="row">{row.name}</th>
                  <td>{spell(row.a ?? undefined)}</td>
                  <td>{spell(row.b ?? undefined)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        );
      })}
      {code && <CodeDiff text={code} />}
    </>
  );
}
