"""What a request for a chart says: which series, along which axis, and how much is seen of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from runfold._humanize import human_count
from runfold._serve.http.error_responses import BadRequest, TooLarge
from runfold._serve.http.request_fields import Finite, Names, RequestFields, Text
from runfold._serve.page_vocabulary import AxisName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._serve.charts.downsample import SeriesBatch
    from runfold._serve.run_source import Source

# 100 MB of curves.
MOST_POINTS = 5_000_000


class TagAxis(RequestFields):
    """Another tag as the x-axis, such as the samples that were seen."""

    tag: Text


class CurvesRequest(RequestFields):
    """Series along an axis, in so many columns of pixels.

    Attributes:
        width: how many columns; None for every point.
        range: the part of the x-axis that is seen; None for all.
        log: whether the x-axis is logarithmic.
        smooth: the weight of TensorBoard's smoothing.
    """

    tags: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=1000)]
    runs: Names | None = None
    x: AxisName | TagAxis = "step"
    width: Annotated[int, Meta(ge=1, le=4000)] | None = None
    range: tuple[Finite, Finite] | None = None
    log: bool = False
    smooth: Annotated[float, Meta(ge=0, le=0.9999)] = 0.0

    def __post_init__(self) -> None:
        if self.range is not None and self.range[0] > self.range[1]:
            raise BadRequest("'range' is the lower end, then the upper one.")

    @property
    def axis(self) -> str:
        """The x-axis as the library calls it."""
        return self.x.tag if isinstance(self.x, TagAxis) else self.x

    def show(self, batch: SeriesBatch, looks: int | None = None) -> SeriesBatch:
        """What is seen of series, x in order: those in range, thinned. See `SeriesBatch.thin`."""
        if self.range is not None:
            batch = batch.within(self.range)
        if self.width is not None:
            batch = batch.thin(self.width, self.range, is_log=self.log, looks=looks)
        return batch


def find_tags(source: Source, chart: CurvesRequest) -> dict[str, list[RunLog]]:
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
