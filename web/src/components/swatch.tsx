/** The colour of a run; a click chooses another one. */

import { useChoice } from "../state/choice";
import { useView } from "../state/view";

export function Swatch({ run }: { run: string }) {
  const [view, change] = useView();
  const { colourOf, colouredAs } = useChoice();
  const name = colouredAs(run);
  return (
    <input
      type="color"
      className="swatch"
      tabIndex={-1}
      aria-label={`Colour of ${name}`}
      title={`Colour of ${name}`}
      value={colourOf(run)}
      onChange={(event) => change({ painted: { ...view.painted, [name]: event.target.value } })}
    />
  );
}
