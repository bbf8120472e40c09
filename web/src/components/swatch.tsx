/** Color swatch of a run; a click opens a color picker. */

import { useState } from "react";
import { useChoice } from "../state/choice";
import { useView } from "../state/view";

export function Swatch({ run }: { run: string }) {
  const [view, change] = useView();
  const { colorOf, coloredAs } = useChoice();
  const [isOpen, setOpen] = useState(false);
  const name = coloredAs(run);
  const shared = { className: "swatch", tabIndex: -1, title: `Color of ${name}` };
  // Hundreds of color inputs would make the list slow, so one is created on a click.
  if (!isOpen) {
    return (
      <button
        type="button"
        {...shared}
        aria-label={shared.title}
        style={{ background: colorOf(run) }}
        onClick={() => setOpen(true)}
      />
    );
  }
  return (
    <input
      type="color"
      {...shared}
      aria-label={shared.title}
      value={colorOf(run)}
      ref={(input) => {
        if (document.activeElement !== input) input?.focus();
      }}
      onFocus={(event) => event.target.showPicker()}
      onBlur={() => setOpen(false)}
      onChange={(event) => change({ painted: { ...view.painted, [name]: event.target.value } })}
    />
  );
}
