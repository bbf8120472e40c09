/** The colour of a run; a click chooses another one. */

import { useState } from "react";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";

export function Swatch({ run }: { run: string }) {
  const [view, change] = useView();
  const { colourOf, colouredAs } = useChoice();
  const [isOpen, setOpen] = useState(false);
  const name = colouredAs(run);
  const shared = { className: "swatch", tabIndex: -1, title: `Colour of ${name}` };
  // A colour input in each of hundreds of lines would make the list slow.
  if (!isOpen) {
    return (
      <button
        type="button"
        {...shared}
        aria-label={shared.title}
        style={{ background: colourOf(run) }}
        onClick={() => setOpen(true)}
      />
    );
  }
  return (
    <input
      type="color"
      {...shared}
      aria-label={shared.title}
      value={colourOf(run)}
      ref={(input) => {
        if (document.activeElement !== input) input?.focus();
      }}
      onFocus={(event) => event.target.showPicker()}
      onBlur={() => setOpen(false)}
      onChange={(event) => change({ painted: { ...view.painted, [name]: event.target.value } })}
    />
  );
}
