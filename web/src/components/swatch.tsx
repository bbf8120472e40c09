/** Colour swatch of a run; a click opens a colour picker. */

import { useState } from "react";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";

export function Swatch({ run }: { run: string }) {
  const [view, change] = useView();
  const { colourOf, colouredAs } = useChoice();
  const [isOpen, setOpen] = useState(false);
  const name = colouredAs(run);
  const shared = { className: "swatch", tabIndex: -1, title: `Colour of ${name}` };
  // Hundreds of colour inputs would make the list slow, so one is created on a click.
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
