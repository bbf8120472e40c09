"""What a request for a chart says: which series, along which axis, and how much is seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from runfold.serve.errors import BadRequest, TooLarge
from runfold.serve.request import Limit
from runfold.text import human_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold.logdir.log import RunLog
    from runfold.serve.source import Source
    from runfold.serve.thin import Stack

# 100 MB of curves.
MOST_POINTS = 5_000_000


@dataclass(frozen=True)
class TagAxis:
    """Another tag as the x-axis, such as the samples that were seen."""

    tag: str


@dataclass(frozen=True)
class Chart:
    """Series along an axis, in so many columns of pixels.

    Attributes:
        width: how many columns; None for every point.
        range: the part of the x-axis that is seen; None for all.
        log: whether the x-axis is logarithmic.
        smooth: the weight of TensorBoard's smoothing.
    """

    tags: Annotated[tuple[str, ...], Limit(1, 1000)]
    runs: tuple[str, ...] | None = None
    x: Literal["step", "wall_time", "relative"] | TagAxis = "step"
    width: Annotated[int, Limit(1, 4000)] | None = None
    range: tuple[float, float] | None = None
    log: bool = False
    smooth: Annotated[float, Limit(0, 0.9999)] = 0.0

    def __post_init__(self) -> None:
        if self.range is not None and self.range[0] > self.range[1]:
            raise BadRequest("'range' is the lower end, then the upper one.")

    @property
    def axis(self) -> str:
        """The x-axis as the library calls it."""
        return self.x.tag if isinstance(self.x, TagAxis) else self.x

    def show(self, stack: Stack, looks: int | None = None) -> Stack:
        """What is seen of series, x in order: those in range, thinned. See `Stack.thin`."""
        if self.range is not None:
            stack = stack.within(self.range)
        if self.width is not None:
            stack = stack.thin(self.width, self.range, is_log=self.log, looks=looks)
        return stack


def find_tags(source: Source, chart: Chart) -> dict[str, list[RunLog]]:
    """The runs asked for that have each tag. Raises UnknownTag for one that no run at all has."""
    logs = source.logs(chart.runs)
    found = {}
    for tag in dict.fromkeys(chart.tags):
        found[tag] = [log for log in logs if tag in log.scalars]
        # Runs that were chosen may well lack what others have.
        if not found[tag]:
            source.logs_with(tag)
    if isinstance(chart.x, TagAxis):
        source.logs_with(chart.x.tag)
    return found


def refuse_too_many(counts: Sequence[int]) -> None:
    """Raise TooLarge for more points than one answer may hold."""
    count = sum(counts)
    if count > MOST_POINTS:
        raise TooLarge(
            f"These are {human_count(count, 'point')}, and {MOST_POINTS:,} are sent at once."
            " Ask for fewer tags or runs, a range, or a width."
        )
