"""Runs that become one: in which order they follow each other, and what that hides."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import EVENT_FILE_MARK, EVENT_FILE_PREFIX
from runfold._edit.edit_rules import HIGHEST, Rules
from runfold._edit.tag_rules import RunRewrite
from runfold._humanize import escape

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OVERLAPS = {"marker": "is hidden", "cut": "is removed", "keep": "is kept beside it"}


@dataclass(slots=True)
class RunEdit:
    """One run and what its files become; `marker` is the step of a restart that goes before.

    `counts` are of what stays in it, `whole` of what moves into other runs, too.
    """

    rewrite: RunRewrite
    counts: NDArray[Any]
    whole: NDArray[Any]
    marker: int | None = None
    # Where it stands among the files of a merged run.
    number: int | None = None
    first_start: float = 0.0

    @property
    def name(self) -> str:
        """The name of the run as it was."""
        return self.rewrite.survey.run.name

    @property
    def start(self) -> float:
        """The wall time of its first event."""
        start = self.rewrite.survey.start
        return start if math.isfinite(start) else 0.0

    @property
    def file_names(self) -> list[str]:
        """The names of its files as they become."""
        names = [os.path.basename(path) for path in self.rewrite.survey.run.files]
        if self.number is None:
            return names
        return [
            number_name(name, self.first_start, number)
            for number, name in enumerate(names, start=self.number)
        ]


def put_in_order(group: list[RunEdit], rules: Rules) -> list[str]:
    """Put the runs that become one in the order in which they began; says what overlaps."""
    notes = []
    group.sort(key=lambda run: (run.start, run.name))
    steps = [run.rewrite.first_step(run.whole) for run in group]
    ends = [run.rewrite.last_step(run.whole) for run in group]
    number = 0
    for place, run in enumerate(group):
        step = steps[place]
        if step is not None and any(end >= step for end in ends[:place]):
            notes.append(
                f"Run '{escape(run.name)}' goes on at step {step}: what the runs before it have"
                f" from there on {_OVERLAPS[rules.overlap]}."
            )
        run.number, run.first_start = number, group[0].start
        number += len(run.rewrite.survey.run.files)
        if rules.overlap == "marker":
            # The first run, too: TensorBoard does not act on the first marker it meets.
            run.marker = step
        later = [after for after in steps[place + 1 :] if after is not None]
        if rules.overlap == "cut" and later:
            run.rewrite.limit = min(later) - rules.shift_steps
            run.counts = run.rewrite.prepare(needs_counts=True)
    return notes


def list_limits(group: Sequence[RunEdit], rules: Rules) -> Iterator[NDArray[np.int64]]:
    """Yield for each run from which step on its values are hidden by what follows.

    The k-th number of a run holds behind k of its own restart markers.
    """
    lowest, found = HIGHEST, []
    for run in reversed(group):
        steps = [*run.rewrite.survey.restarts, lowest]
        found.append(np.minimum.accumulate(np.array(steps[::-1], np.int64))[::-1].copy())
        lowest = int(found[-1][0])
        if run.marker is not None:
            lowest = min(lowest, run.marker - rules.shift_steps)
    return reversed(found)


def number_name(name: str, start: float, number: int) -> str:
    """A name by which all readers put the files of merged runs in their order."""
    seconds = int(min(max(start, 0.0), HIGHEST))
    rest = name.partition(f"{EVENT_FILE_MARK}.")[2] or name
    return f"{EVENT_FILE_PREFIX}.{seconds}.{number:04d}.{rest}"
