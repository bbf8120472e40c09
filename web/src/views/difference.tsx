/** In what two runs differ: settings, packages, code, final values. */

import { CodeDiff } from "../components/facts";
import { Failed, Waiting } from "../components/states";
import { getJson } from "../data/api";
import { useLoaded } from "../data/loading";
import { type Difference, type DiffRow, spell } from "../data/story";
import { formatNumber } from "../format/number";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";

export function DifferenceView({ a, b }: { a: string; b: string }) {
  const { generation } = useChoice();
  const [{ isAll }, change] = useView();
  const found = useLoaded(`${a}\n${b}`, generation, (signal) =>
    getJson<Difference>("/api/diff", { a, b }, signal),
  );
  if (!found.value) {
    return found.error ? <Failed error={found.error} /> : <Waiting what="the difference" />;
  }
  const { sections, finals, code } = found.value;
  const values: DiffRow[] = finals.map((one) => ({
    name: one.tag,
    a: typeof one.a === "number" ? formatNumber(one.a) : (one.a ?? ""),
    b: typeof one.b === "number" ? formatNumber(one.b) : (one.b ?? ""),
    isSame: one.isSame,
  }));
  return (
    <>
      <label className="toggle">
        <input
          type="checkbox"
          checked={isAll}
          onChange={(event) => change({ isAll: event.target.checked })}
        />
        Also what is the same
      </label>
      {[...sections, { title: "Final values", rows: values }].map(({ title, rows }) => {
        const shown = rows.filter((row) => isAll || !row.isSame);
        if (shown.length === 0) return null;
        return (
          <table className="sides" key={title}>
            <caption>{title}</caption>
            <thead>
              <tr>
                <th scope="col" aria-label="what" />
                <th scope="col">{a}</th>
                <th scope="col">{b}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row.name} className={row.isSame ? "same" : "differs"}>
                  <th scope="row">{row.name}</th>
                  <td>{spell(row.a)}</td>
                  <td>{spell(row.b)}</td>
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
