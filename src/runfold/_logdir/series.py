"""The points of one tag in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runfold._humanize import escape

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


class Series:
    """The scalar points of one tag in one run, in file order.

    The arrays are read-only because they are shared; use an array's `copy()` to get one
    that you can modify.

    Attributes:
        run, tag: the names of the run and the tag.
        steps: int64, as stored.
        values: float64; float32 values are converted exactly.
        wall_times: float64, seconds since 1970, as stored; NaN if the stored time is invalid.
        hidden: the number of points hidden by the restart policy.
    """

    # Set by `runfold._run`, because plots depend on folds, which depend on series.
    _draw: ClassVar[Callable[..., Figure]]

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

    def plot(
        self,
        *,
        x: str = "step",
        smooth: float = 0.0,
        log_x: bool = False,
        log_y: bool = False,
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Return a figure of the curve, in the style of `Reduced.plot`.

        A new figure is not registered with pyplot, so a notebook shows it only if it is the
        last expression of a cell.

        Args:
            x: "step" or "wall_time".
            smooth: TensorBoard's smoothing, 0 to 1.
            log_x: use a logarithmic x-axis.
            log_y: use a logarithmic y-axis.
            ax: the axes to draw on; by default, a new figure is created. Colors continue
                after the existing lines, and the legend also lists these lines.
            title: the title of the figure.
            legend: show a legend with the name of the run.
            size: the size of the figure, in inches.

        Examples:
            >>> run["val/loss"].plot(smooth=0.6).savefig("loss.pdf")

            Several runs on the same axes:

            >>> figure, axes = plt.subplots()
            >>> for run in runs.values():
            ...     run["val/loss"].plot(ax=axes)
        """
        return self._draw(
            x,
            smooth=smooth,
            log_x=log_x,
            log_y=log_y,
            ax=ax,
            title=title,
            legend=legend,
            size=size,
        )

    def __repr__(self) -> str:
        count = len(self.steps)
        names = f"'{escape(self.run)}', '{escape(self.tag)}'"
        hidden = f", {self.hidden} hidden by a restart" if self.hidden else ""
        if not count:
            return f"Series({names}, no points{hidden})"
        span = f"steps {self.steps[0]}..{self.steps[-1]}, last value {self.values[-1]:.6g}"
        return f"Series({names}, {count} points, {span}{hidden})"
