/** A menu of the views that were saved. */

import { useState } from "react";
import { addView, forget, change as keep, useSaved } from "../data/saved";
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
              aria-label="Name of this view"
              placeholder="Name of this view"
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
            <p className="hint">What you look at now can be saved here under a name.</p>
          )}
          <ul className="entries">
            {saved.views.map((one) => (
              <li key={one.name} className="row">
                <button
                  type="button"
                  className="plain"
                  title={one.name}
                  aria-current={one.view === address || undefined}
                  onClick={() => {
                    change(readView(one.view));
                    close();
                  }}
                >
                  {one.name}
                </button>
                <button
                  type="button"
                  className="plain"
                  aria-label={`Delete the view ${one.name}`}
                  title="Delete"
                  onClick={() => keep(forget("views", one.name))}
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
