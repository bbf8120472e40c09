"""The request for a chart: its series, x-axis, visible range and width."""

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

# This many points take about 100 MB.
MOST_POINTS = 5_000_000


class TagAxis(RequestFields):
    """Another tag as the x-axis, such as the number of samples seen."""

    tag: Text


class CurvesRequest(RequestFields):
    """Series along an axis, for a chart of a given width.

    Attributes:
        width: number of pixel columns; None for every point.
        range: visible part of the x-axis; None for all of it.
        log: whether the x-axis is logarithmic.
        smooth: weight of TensorBoard's smoothing.
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
            raise BadRequest("'range' must be [lower, upper].")

    @property
    def axis(self) -> str:
        """The x-axis, as named by the library."""
        return self.x.tag if isinstance(self.x, TagAxis) else self.x

    def show(self, batch: SeriesBatch, looks: int | None = None) -> SeriesBatch:
        """Return the visible part of series sorted by x, downsampled by `SeriesBatch.thin`."""
        if self.range is not None:
            batch = batch.within(self.range)
        if self.width is not None:
            batch = batch.thin(self.width, self.range, is_log=self.log, looks=looks)
        return batch


def find_tags(source: Source, chart: CurvesRequest) -> dict[str, list[RunLog]]:
    """Return, per tag, the requested runs that have it. Raises UnknownTag if no run has a tag."""
    logs = source.logs(chart.runs)
    logs_by_tag = {}
    for tag in dict.fromkeys(chart.tags):
        logs_by_tag[tag] = [log for log in logs if tag in log.scalars]
        # The selected runs may lack a tag that other runs have.
        if not logs_by_tag[tag]:
            source.logs_with(tag)
    if isinstance(chart.x, TagAxis):
        source.logs_with(chart.x.tag)
    return logs_by_tag


def refuse_too_many(counts: Sequence[int]) -> None:
    """Raise TooLarge if there are more points than a response can contain."""
    count = sum(counts)
    if count > MOST_POINTS:
        raise TooLarge(
            f"The chart has {human_count(count, 'point')}; at most {MOST_POINTS:,} can be sent at"
            " once. Choose fewer tags or runs, or set 'range' or 'width'."
        )
