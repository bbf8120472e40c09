/** Menu of saved views. */

import { useState } from "react";
import { addView, change as keep, remove, useSaved } from "../data/saved";
import { readView, useView, writeView } from "../state/view";
import { Menu } from "./menu";

export function SavedViews() {
  const [view, change] = useView();
  const saved = useSaved();
  const [name, setName] = useState("");
  const address = writeView(view);
  return (
    <Menu title="Views">
      {(close) => (
        <>
          <form
            className="row"
            onSubmit={(event) => {
              event.preventDefault();
              if (!name.trim()) return;
              keep(addView(name.trim(), address));
              setName("");
            }}
          >
            <input
              aria-label="View name"
              placeholder="View name"
              maxLength={200}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <button type="submit" disabled={!name.trim()}>
              Save
            </button>
          </form>
          {saved.error && (
            <p className="hint failed" role="alert">
              {saved.error.message}
            </p>
          )}
          {saved.views.length === 0 && (
            <p className="hint">Save the current view to return to it later.</p>
          )}
          <ul className="entries">
            {saved.views.map((entry) => (
              <li key={entry.name} className="row">
                <button
                  type="button"
                  className="plain"
                  title={entry.name}
                  aria-current={entry.view === address || undefined}
                  onClick={() => {
                    change(readView(entry.view));
                    close();
                  }}
                >
                  {entry.name}
                </button>
                <button
                  type="button"
                  className="plain"
                  aria-label={`Delete view ${entry.name}`}
                  title="Delete"
                  onClick={() => keep(remove("views", entry.name))}
                >
                  ×
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Menu>
  );
}
