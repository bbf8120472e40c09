/** Which columns a table shows, and which of them stay at its left. */

import { useState } from "react";
import { nameFirst } from "../data/rows";
import type { Column } from "../data/types";
import { useView } from "../state/view";

interface Props {
  columns: readonly Column[];
  shown: readonly Column[];
}

const KINDS: [Column["kind"], string][] = [
  ["fixed", "The run"],
  ["hparam", "Hparams"],
  ["statistic", "Values"],
  ["text", "Text"],
];

/** The most columns of a kind that are listed; a search finds the others. */
const MOST = 500;

export function ColumnPicker({ columns, shown }: Props) {
  const [view, change] = useView();
  const [search, setSearch] = useState("");
  const keys = shown.map((column) => column.key);
  const isShown = new Set(keys);
  const isPinned = new Set(view.pinned);
  const toggle = (key: string) =>
    change({
      columns: isShown.has(key) ? keys.filter((one) => one !== key) : [...keys, key],
      pinned: isShown.has(key) ? view.pinned.filter((one) => one !== key) : view.pinned,
    });
  const pin = (key: string) =>
    change({
      pinned: isPinned.has(key) ? view.pinned.filter((one) => one !== key) : [...view.pinned, key],
    });
  const found = columns.filter(
    (column) => column.key !== "run" && column.key.toLowerCase().includes(search.toLowerCase()),
  );
  return (
    <details className="picker">
      <summary>Columns</summary>
      <div className="choices">
        <input
          type="search"
          aria-label="Find columns"
          placeholder="Find columns"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <div className="row">
          <button type="button" onClick={() => change({ columns: null, pinned: [] })}>
            As at first
          </button>
          <button type="button" onClick={() => change({ columns: [] })}>
            None
          </button>
        </div>
        {KINDS.map(([kind, title]) => {
          const all = found.filter((column) => column.kind === kind);
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
                    aria-label={`Keep ${key} at the left`}
                    onClick={() => pin(key)}
                  >
                    {isPinned.has(key) ? "first" : "⇤"}
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
