"""Groups of runs folded into a line with a band around it, by the fold of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

from runfold._humanize import utf8
from runfold._plot.smoothing import smooth
from runfold._reduce.align import (
    AUTO,
    BINS,
    MOST_BINS,
    STRICT,
    choose_alignment,
    choose_bins,
    count_cells,
    has_same_places,
)
from runfold._reduce.axes import AXES, STEP, name_places
from runfold._reduce.bands import choose_band
from runfold._reduce.curve_points import place
from runfold._reduce.fold import FoldOptions, fold_runs
from runfold._reduce.statistics import band_edges, band_operations
from runfold._serve.answer_cache import remember
from runfold._serve.charts.chart_request import CurvesRequest, find_tags, refuse_too_many
from runfold._serve.charts.downsample import SeriesBatch
from runfold._serve.charts.grouping import Groups, Key, Keys, group_logs
from runfold._serve.http.arrow_response import ArrowResponse, encode_columns
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import BadRequest, TooLarge
from runfold._serve.page_vocabulary import BANDS_AROUND, CENTRES, Alignment, Band, Centre

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.bands import Band as Lines
    from runfold._reduce.curve_points import Points
    from runfold._reduce.folded import Curve, Folded
    from runfold._serve.run_source import Source

# As many values of runs times places as may be aligned: 200 MB for a moment.
_MOST_CELLS = 20_000_000
# A chart needs no third digit of its band's edges, and 10,000 take seconds.
_RESAMPLES = 1000


class FoldRequest(CurvesRequest):
    """A line and a band for each group of runs.

    Attributes:
        by, groups: what makes a group, or who is in each; without, all are one.
        align: "auto" folds runs with equal steps as they are, and others by lines
            between their points or, where that is too much, by means over bins.
        bins: how many; implies align="bins".
    """

    by: Key | Keys | None = None
    groups: Groups | None = None
    centre: Centre = "mean"
    band: Band = "std"
    align: Alignment = "auto"
    bins: Annotated[int, Meta(ge=1, le=MOST_BINS)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.band not in BANDS_AROUND[self.centre]:
            own = " or ".join(name for name in CENTRES if self.band in BANDS_AROUND[name])
            raise BadRequest(
                f"The band {self.band} is that of the {own}, so it is no band around the"
                f" {self.centre}. Choose the {own}, or another band such as ci95."
            )

    @property
    def lines(self) -> Lines:
        """The statistics of the line and of the edges of its band."""
        band = choose_band((self.centre, *band_edges(self.band, self.centre)))
        assert band is not None
        return band


@endpoint("POST /api/fold", FoldRequest, queue="compute", response=ArrowResponse)
def make_folds(source: Source, asked: FoldRequest) -> bytes:
    """The line and band of each tag in each group of runs.

    An Arrow stream of series, x, centre, low, high, count. Series are numbered in the
    order of the schema's metadata "series", which has the runs of each, how many points
    it has and shows, and in a note how runs with different steps were brought together,
    and what was left out. Raises UnknownRun, UnknownTag, TooLarge, and CannotFold where
    runs do not fit together.
    """
    return remember(source, asked, lambda: _fold_all(source, asked))


def _fold_all(source: Source, asked: FoldRequest) -> bytes:
    tags = find_tags(source, asked)
    grouping = group_logs(source, asked.runs, asked.by, asked.groups)
    owner = {log.name: group.name for group in grouping.groups for log in group.logs}
    told: list[dict[str, Any]] = []
    shown: list[SeriesBatch] = []
    for tag, having in tags.items():
        placed = _place(tag, having, owner, asked)
        if not placed:
            continue
        options, ways = _choose(placed, asked)
        # A run without a point at any place has no steps for others to share.
        used = {one.run for points in placed.values() for one in points}
        folded = fold_runs(
            [log for log in having if log.name in used],
            band_operations(asked.band, asked.centre),
            tags=[tag],
            by=lambda log: owner[log.name],
            options=options,
            progress=False,
        )
        curves = {name: own.curves[tag] for name, own in folded.groups.items() if tag in own.curves}
        batch = asked.show(
            SeriesBatch.of([_columns(one, asked) for one in curves.values()]), looks=3
        )
        for (name, curve), count in zip(curves.items(), batch.counts.tolist(), strict=True):
            told.append(
                {
                    "group": utf8(name),
                    "tag": tag,
                    "runs": [utf8(run) for run in curve.runs],
                    "points": len(curve),
                    "shown": count,
                    "note": _note(ways[name], grouping.left_out, folded),
                }
            )
        shown.append(batch)
        refuse_too_many([len(one.x) for one in shown])
    batch = SeriesBatch.join(shown or [_nothing(asked.axis)])
    columns = dict(zip(("centre", "low", "high", "count"), batch.columns, strict=True))
    return encode_columns({"series": batch.numbers, "x": batch.x, **columns}, series=told)


def _place(
    tag: str, logs: Sequence[RunLog], owner: Mapping[str, str], asked: FoldRequest
) -> dict[str, list[Points]]:
    """The points of each group; no group that has none."""
    placed: dict[str, list[Points]] = {}
    for log in logs:
        if log.name in owner and (asked.axis in AXES or asked.axis in log.scalars):
            points = place(log, log.scalars[tag], asked.axis, "last")
            if len(points):
                placed.setdefault(owner[log.name], []).append(points)
    return placed


def _choose(
    placed: Mapping[str, Sequence[Points]], asked: FoldRequest
) -> tuple[FoldOptions, dict[str, str]]:
    """How to bring the runs of every group together, and for each group in words."""
    bins = asked.bins
    align: str = BINS if bins is not None and asked.align == AUTO else asked.align
    groups = list(placed.values())
    if align == AUTO:
        align, bins = choose_alignment(groups)
    elif align not in (STRICT, "intersection", BINS) and count_cells(groups) > _MOST_CELLS:
        raise TooLarge(
            f"The runs have so many different {name_places(asked.axis)} that align='{align}' would"
            " fill the memory. align='bins' or 'auto' folds them."
        )
    if align == BINS and bins is None:
        bins = choose_bins([len(one) for points in groups for one in points])
    options = FoldOptions(
        align,
        bins,
        duplicates="last",
        x=asked.axis,
        lax_tags=True,
        resamples=_RESAMPLES,
    )
    way = f"{name_places(asked.axis)} differ, aligned by "
    way += f"means over {bins:,} bins" if align == BINS else align
    is_aligned = {
        name: align == BINS or not has_same_places(points) for name, points in placed.items()
    }
    return options, {name: way if is_aligned[name] else "" for name in placed}


def _columns(curve: Curve, asked: FoldRequest) -> tuple[np.ndarray, ...]:
    # All three alike, so that a band smoothed is the band of the statistics smoothed.
    band = (smooth(values, asked.smooth) for values in asked.lines.of(curve))
    return curve.x, *band, curve.counts


def _note(way: str, left_out: Sequence[str], folded: Folded) -> str:
    """How the runs of a group were aligned, what was left out, and what to beware of."""
    parts = [f"{way[:1].upper()}{way[1:]}."] if way else []
    parts += [f"Left out: {one}." for one in (*left_out, *folded.left_out)]
    return " ".join((*parts, *folded.remarks))


def _nothing(axis: str) -> SeriesBatch:
    nothing = np.empty(0)
    x = nothing.astype(np.int64) if axis == STEP else nothing
    return SeriesBatch.of([(x, nothing, nothing, nothing, nothing.astype(np.int64))])
