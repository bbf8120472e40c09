"""The points of one tag in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold.text import escape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Series:
    """The scalar points of one tag in one run, in the order of the files.

    The arrays are read-only, because every question about the run is answered
    from the same ones; `.copy()` gives one to change.

    Attributes:
        run, tag: the names.
        steps: int64, as stored.
        values: float64; float32 values are converted exactly.
        wall_times: float64, seconds since 1970, as stored; NaN where that is no time.
        hidden: how many points the restart policy left out.
    """

    __slots__ = ("hidden", "run", "steps", "tag", "values", "wall_times")

    def __init__(
        self,
        run: str,
        tag: str,
        steps: NDArray[np.int64],
        wall_times: NDArray[np.float64],
        values: NDArray[np.float64],
        hidden: int = 0,
    ) -> None:
        self.run = run
        self.tag = tag
        self.steps = steps
        self.wall_times = wall_times
        self.values = values
        self.hidden = hidden

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        count = len(self.steps)
        names = f"'{escape(self.run)}', '{escape(self.tag)}'"
        hidden = f", {self.hidden} hidden by a restart" if self.hidden else ""
        if not count:
            return f"Series({names}, no points{hidden})"
        span = f"steps {self.steps[0]}..{self.steps[-1]}, last value {self.values[-1]:.6g}"
        return f"Series({names}, {count} points, {span}{hidden})"
