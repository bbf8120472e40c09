"""Groups of runs, each folded into a line with a band by the library's fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

from runfold._humanize import utf8
from runfold._plot.smoothing import smooth
from runfold._reduce.align import (
    MOST_BINS,
    choose_alignment,
    choose_bins,
    count_cells,
    has_same_places,
)
from runfold._reduce.axes import AUTO, AXES, BINS, STEP, STRICT, name_places
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
from runfold._serve.page_vocabulary import BANDS_AROUND, CENTERS, Alignment, Band, Center

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.bands import Band as Lines
    from runfold._reduce.curve_points import Points
    from runfold._reduce.folded import Curve, Folded
    from runfold._serve.run_source import Source

# Limit on runs times steps to align. Aligning this many temporarily takes 200 MB.
_MOST_CELLS = 20_000_000
# Bootstrap resamples per band. A chart does not need the third significant digit of a band's
# edges, and 10,000 resamples would take seconds.
_RESAMPLES = 1000


class FoldRequest(CurvesRequest):
    """A line and a band for each group of runs.

    Attributes:
        by, groups: how to group runs, or the members of each group; by default, one group.
        align: "auto" folds runs with equal steps directly. Other runs are interpolated or,
            if that needs too much memory, averaged over bins.
        bins: number of bins; implies align="bins".
    """

    by: Key | Keys | None = None
    groups: Groups | None = None
    center: Center = "mean"
    band: Band = "std"
    align: Alignment = "auto"
    bins: Annotated[int, Meta(ge=1, le=MOST_BINS)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.band not in BANDS_AROUND[self.center]:
            own = " or ".join(name for name in CENTERS if self.band in BANDS_AROUND[name])
            raise BadRequest(
                f"Band '{self.band}' works only with the {own}, not with the {self.center}. Choose"
                f" the {own}, or a different band such as ci95."
            )

    @property
    def lines(self) -> Lines:
        """The statistics for the line and the edges of its band."""
        band = choose_band((self.center, *band_edges(self.band, self.center)))
        assert band is not None
        return band


@endpoint("POST /api/fold", FoldRequest, queue="compute", response=ArrowResponse)
def make_folds(source: Source, request: FoldRequest) -> bytes:
    """Return the line and band of each tag in each group of runs.

    The response is an Arrow stream of series, x, center, low, high and count. Series are
    numbered in the order of the schema's metadata "series". Each entry has the runs, the
    number of points, the number shown, and a note on how runs with different steps were
    aligned and what was left out. Raises UnknownRun, UnknownTag, TooLarge, and CannotFold
    if the runs cannot be aligned.
    """
    return remember(source, request, lambda: _fold_all(source, request))


def _fold_all(source: Source, request: FoldRequest) -> bytes:
    tags = find_tags(source, request)
    grouping = group_logs(source, request.runs, request.by, request.groups)
    owner = {log.name: group.name for group in grouping.groups for log in group.logs}
    entries: list[dict[str, Any]] = []
    shown: list[SeriesBatch] = []
    for tag, having in tags.items():
        placed = _place(tag, having, owner, request)
        if not placed:
            continue
        options, notes = _choose(placed, request)
        # A run without any points has no steps that others could share.
        used = {run_points.run for points in placed.values() for run_points in points}
        folded = fold_runs(
            [log for log in having if log.name in used],
            band_operations(request.band, request.center),
            tags=[tag],
            by=lambda log: owner[log.name],
            options=options,
            progress=False,
        )
        curves = {
            name: group.curves[tag] for name, group in folded.groups.items() if tag in group.curves
        }
        batch = request.show(
            SeriesBatch.of([_columns(curve, request) for curve in curves.values()]), looks=3
        )
        for (name, curve), count in zip(curves.items(), batch.counts.tolist(), strict=True):
            entries.append(
                {
                    "group": utf8(name),
                    "tag": tag,
                    "runs": [utf8(run) for run in curve.runs],
                    "points": len(curve),
                    "shown": count,
                    "note": _note(notes[name], grouping.left_out, folded),
                }
            )
        shown.append(batch)
        refuse_too_many([len(part.x) for part in shown])
    batch = SeriesBatch.join(shown or [_nothing(request.axis)])
    columns = dict(zip(("center", "low", "high", "count"), batch.columns, strict=True))
    return encode_columns({"series": batch.numbers, "x": batch.x, **columns}, series=entries)


def _place(
    tag: str, logs: Sequence[RunLog], owner: Mapping[str, str], request: FoldRequest
) -> dict[str, list[Points]]:
    """Return the points of each group that has any."""
    placed: dict[str, list[Points]] = {}
    for log in logs:
        if log.name in owner and (request.axis in AXES or request.axis in log.scalars):
            points = place(log, log.scalars[tag], request.axis, "last")
            if len(points):
                placed.setdefault(owner[log.name], []).append(points)
    return placed


def _choose(
    placed: Mapping[str, Sequence[Points]], request: FoldRequest
) -> tuple[FoldOptions, dict[str, str]]:
    """Return how to align the runs of all groups, and a note for each group."""
    bins = request.bins
    align: str = BINS if bins is not None and request.align == AUTO else request.align
    groups = list(placed.values())
    if align == AUTO:
        align, bins = choose_alignment(groups)
    elif align not in (STRICT, "intersection", BINS) and count_cells(groups) > _MOST_CELLS:
        raise TooLarge(
            f"The runs have too many different {name_places(request.axis)} for align='{align}',"
            " which would need too much memory. Use align='bins' or 'auto'."
        )
    if align == BINS and bins is None:
        bins = choose_bins([len(run_points) for points in groups for run_points in points])
    options = FoldOptions(
        align,
        bins,
        duplicates="last",
        x=request.axis,
        lax_tags=True,
        resamples=_RESAMPLES,
    )
    note = f"{name_places(request.axis)} differ; "
    note += f"averaged over {bins:,} bins" if align == BINS else f"aligned with '{align}'"
    is_aligned = {
        name: align == BINS or not has_same_places(points) for name, points in placed.items()
    }
    return options, {name: note if is_aligned[name] else "" for name in placed}


def _columns(curve: Curve, request: FoldRequest) -> tuple[np.ndarray, ...]:
    # The line and both edges are smoothed in the same way, so the band still matches the line.
    band = (smooth(values, request.smooth) for values in request.lines.of(curve))
    return curve.x, *band, curve.counts


def _note(note: str, left_out: Sequence[str], folded: Folded) -> str:
    """Return how the runs of a group were aligned, what was left out, and any warnings."""
    parts = [f"{note[:1].upper()}{note[1:]}."] if note else []
    parts += [f"Left out: {reason}." for reason in (*left_out, *folded.left_out)]
    return " ".join((*parts, *folded.remarks))


def _nothing(axis: str) -> SeriesBatch:
    nothing = np.empty(0)
    x = nothing.astype(np.int64) if axis == STEP else nothing
    return SeriesBatch.of([(x, nothing, nothing, nothing, nothing.astype(np.int64))])
