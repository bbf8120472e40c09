/** Menu to choose and pin the columns of the runs table. */

import { useState } from "react";
import { nameFirst } from "../data/rows";
import type { Column } from "../data/types";
import { useView } from "../state/view";

interface Props {
  columns: readonly Column[];
  shown: readonly Column[];
}

const KINDS: [Column["kind"], string][] = [
  ["fixed", "Run"],
  ["hparam", "Hparams"],
  ["statistic", "Scalars"],
  ["text", "Text"],
];

/** Columns listed per kind; the filter finds the others. */
const MOST = 500;

export function ColumnPicker({ columns, shown }: Props) {
  const [view, change] = useView();
  const [search, setSearch] = useState("");
  const keys = shown.map((column) => column.key);
  const isShown = new Set(keys);
  const isPinned = new Set(view.pinned);
  const toggle = (key: string) =>
    change({
      columns: isShown.has(key) ? keys.filter((other) => other !== key) : [...keys, key],
      pinned: isShown.has(key) ? view.pinned.filter((other) => other !== key) : view.pinned,
    });
  const pin = (key: string) =>
    change({
      pinned: isPinned.has(key)
        ? view.pinned.filter((other) => other !== key)
        : [...view.pinned, key],
    });
  const matching = columns.filter(
    (column) => column.key !== "run" && column.key.toLowerCase().includes(search.toLowerCase()),
  );
  return (
    <details className="picker">
      <summary>Columns</summary>
      <div className="choices">
        <input
          type="search"
          aria-label="Filter columns"
          placeholder="Filter columns"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <div className="row">
          <button type="button" onClick={() => change({ columns: null, pinned: [] })}>
            Reset
          </button>
          <button type="button" onClick={() => change({ columns: [] })}>
            None
          </button>
        </div>
        {KINDS.map(([kind, title]) => {
          const all = matching.filter((column) => column.kind === kind);
          const these = all.slice(0, MOST);
          const cut = nameFirst(these.length, all.length);
          return these.length === 0 ? null : (
            <fieldset key={kind}>
              <legend>{cut ? `${title}, ${cut}` : title}</legend>
              {these.map(({ key }) => (
                <div key={key} className="choice">
                  <label>
                    <input
                      type="checkbox"
                      checked={isShown.has(key)}
                      onChange={() => toggle(key)}
                    />
                    {key}
                  </label>
                  <button
                    type="button"
                    aria-pressed={isPinned.has(key)}
                    aria-label={`Pin ${key}`}
                    onClick={() => pin(key)}
                  >
                    {isPinned.has(key) ? "pinned" : "⇤"}
                  </button>
                </div>
              ))}
            </fieldset>
          );
        })}
      </div>
    </details>
  );
}
