"""Merged runs: their order, and the steps that later runs hide."""

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

_OVERLAPS = {"marker": "are hidden", "cut": "are removed", "keep": "are kept as well"}


@dataclass(slots=True)
class RunEdit:
    """A run and the rewrite of its files.

    `marker` is the step of a restart marker to write before the run's values. `counts`
    covers the values that stay in the run; `whole` also covers those that move to other
    runs.
    """

    rewrite: RunRewrite
    counts: NDArray[Any]
    whole: NDArray[Any]
    marker: int | None = None
    # The position of this run's first file among the files of a merged run.
    number: int | None = None
    first_start: float = 0.0

    @property
    def name(self) -> str:
        """The old name of the run."""
        return self.rewrite.survey.run.name

    @property
    def start(self) -> float:
        """The wall time of the run's first event."""
        start = self.rewrite.survey.start
        return start if math.isfinite(start) else 0.0

    @property
    def file_names(self) -> list[str]:
        """The new names of the run's files."""
        names = [os.path.basename(path) for path in self.rewrite.survey.run.files]
        if self.number is None:
            return names
        return [
            number_name(name, self.first_start, number)
            for number, name in enumerate(names, start=self.number)
        ]


def put_in_order(group: list[RunEdit], rules: Rules) -> list[str]:
    """Sort the runs to be merged by start time, and return notes on overlaps."""
    notes = []
    group.sort(key=lambda run: (run.start, run.name))
    steps = [run.rewrite.first_step(run.whole) for run in group]
    ends = [run.rewrite.last_step(run.whole) for run in group]
    number = 0
    for index, run in enumerate(group):
        step = steps[index]
        if step is not None and any(end >= step for end in ends[:index]):
            notes.append(
                f"Run '{escape(run.name)}' continues at step {step}: values of earlier runs"
                f" at or after that step {_OVERLAPS[rules.overlap]}."
            )
        run.number, run.first_start = number, group[0].start
        number += len(run.rewrite.survey.run.files)
        if rules.overlap == "marker":
            # The first run gets one too, because TensorBoard ignores the first marker it reads.
            run.marker = step
        later = [after for after in steps[index + 1 :] if after is not None]
        if rules.overlap == "cut" and later:
            run.rewrite.limit = min(later) - rules.shift_steps
            run.counts = run.rewrite.prepare(needs_counts=True)
    return notes


def list_limits(group: Sequence[RunEdit], rules: Rules) -> Iterator[NDArray[np.int64]]:
    """Yield, for each run, the steps from which its values are hidden by later runs.

    The k-th number applies after k of the run's restart markers.
    """
    lowest, limits = HIGHEST, []
    for run in reversed(group):
        steps = [*run.rewrite.survey.restarts, lowest]
        limits.append(np.minimum.accumulate(np.array(steps[::-1], np.int64))[::-1].copy())
        lowest = int(limits[-1][0])
        if run.marker is not None:
            lowest = min(lowest, run.marker - rules.shift_steps)
    return reversed(limits)


def number_name(name: str, start: float, number: int) -> str:
    """Return a name that makes all readers put the files of merged runs in order."""
    seconds = int(min(max(start, 0.0), HIGHEST))
    rest = name.partition(f"{EVENT_FILE_MARK}.")[2] or name
    return f"{EVENT_FILE_PREFIX}.{seconds}.{number:04d}.{rest}"
