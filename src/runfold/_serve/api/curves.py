"""Curves: the scalar points of tags in runs, either all or as many as a chart can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import utf8
from runfold._plot.smoothing import smooth
from runfold._reduce.axes import RELATIVE, STEP, WALL_TIME
from runfold._reduce.curve_points import place
from runfold._serve.charts.chart_request import CurvesRequest, find_tags, refuse_too_many
from runfold._serve.charts.downsample import SeriesBatch
from runfold._serve.http.arrow_response import ArrowResponse, encode_columns
from runfold._serve.http.endpoint import endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._logdir.run_log import RunLog
    from runfold._logdir.series import Series
    from runfold._serve.run_source import Source

    Points = tuple[NDArray[Any], NDArray[np.float64]]

# Number of points to downsample at a time, so that a large log does not exhaust memory.
_BATCH = 4_000_000


@endpoint("POST /api/curves", CurvesRequest, queue="work", response=ArrowResponse)
def make_curves(source: Source, request: CurvesRequest) -> bytes:
    """Return the points of tags in runs, one series after another.

    The response is an Arrow stream of series, x, y and, with `smooth`, smoothed. Series are
    numbered in the order of the schema's metadata "series". Each entry has the number of points,
    how many are shown, how many a restart hides, and how many have no position on the axis. Raises
    UnknownRun, UnknownTag and TooLarge.
    """
    entries: list[dict[str, Any]] = []
    shown: list[SeriesBatch] = []
    for tag, logs in find_tags(source, request).items():
        all_series = [log.scalars[tag] for log in logs]
        placed = [
            _place(log, series, request.axis) for log, series in zip(logs, all_series, strict=True)
        ]
        for part in _batches(placed):
            batch = _show(placed[part], request)
            entries += [
                {
                    "run": utf8(series.run),
                    "tag": tag,
                    "points": len(series),
                    "shown": count,
                    "hidden": series.hidden,
                    "lost": len(series) - len(x),
                }
                for series, (x, _), count in zip(
                    all_series[part], placed[part], batch.counts.tolist(), strict=True
                )
            ]
            shown.append(batch)
            refuse_too_many([len(part.x) for part in shown])
    batch = SeriesBatch.join(shown or [_show([_no_points(request.axis)], request)])
    columns = dict(zip(("y", "smoothed"), batch.columns, strict=False))
    return encode_columns({"series": batch.numbers, "x": batch.x, **columns}, series=entries)


def _batches(placed: Sequence[Points]) -> Iterator[slice]:
    """Yield slices of consecutive series: at most one batch of points each, or a single series."""
    start = size = 0
    for number, (x, _) in enumerate(placed):
        if size and size + len(x) > _BATCH:
            yield slice(start, number)
            start, size = number, 0
        size += len(x)
    if len(placed) > start:
        yield slice(start, len(placed))


def _place(log: RunLog, series: Series, axis: str) -> Points:
    """Return the points of a series that have a position on the axis."""
    if axis == STEP:
        return series.steps, series.values
    if axis in (WALL_TIME, RELATIVE):
        x = series.wall_times
        if axis == RELATIVE:
            x = x - log.wall_time_range[0]
        known = np.isfinite(x)
        return (x, series.values) if known.all() else (x[known], series.values[known])
    if axis not in log.scalars:
        return _no_points(axis)
    points = place(log, series, axis, "last")
    return points.x, points.values


def _no_points(axis: str) -> Points:
    return np.empty(0, np.int64 if axis == STEP else np.float64), np.empty(0)


def _show(placed: Sequence[Points], request: CurvesRequest) -> SeriesBatch:
    batch = SeriesBatch.of(placed).in_order()
    if request.smooth:
        (values,) = batch.columns
        parts = np.split(values, batch.offsets[1:-1])
        smoothed = np.concatenate([smooth(part, request.smooth) for part in parts])
        batch = SeriesBatch(batch.x, (values, smoothed), batch.offsets)
    return request.show(batch)
