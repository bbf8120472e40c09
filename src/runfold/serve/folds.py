"""Groups of runs folded into a line with a band around it, by the fold of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from starlette.routing import Route

from runfold.plot.smooth import smooth
from runfold.reduce.align import (
    AUTO,
    BINS,
    MOST_BINS,
    STRICT,
    choose_alignment,
    choose_bins,
    count_cells,
    has_same_places,
)
from runfold.reduce.bands import Band
from runfold.reduce.fold import Manner, fold_runs
from runfold.reduce.points import AXES, STEP, name_places, place
from runfold.serve.arrow import ArrowResponse, encode_columns
from runfold.serve.cache import remember
from runfold.serve.chart import Chart, find_tags, refuse_too_many
from runfold.serve.errors import BadRequest, TooLarge
from runfold.serve.grouping import Group, Key, group_logs
from runfold.serve.request import Limit, read_json
from runfold.serve.thin import Stack
from runfold.text import utf8

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.logdir.log import RunLog
    from runfold.reduce.folded import Curve, Folded
    from runfold.reduce.points import Points
    from runfold.serve.source import Source

# As many values of runs times places as may be aligned: 200 MB for a moment.
_MOST_CELLS = 20_000_000
# A chart needs no third digit of its band's edges, and 10,000 take seconds.
_RESAMPLES = 1000

_EDGES = {
    "std": ("std", "std"),
    "sem": ("sem", "sem"),
    "minmax": ("min", "max"),
    "q05-q95": ("q05", "q95"),
    "q25-q75": ("q25", "q75"),
}


@dataclass(frozen=True)
class Fold(Chart):
    """A line and a band for each group of runs.

    Attributes:
        by, groups: what makes a group, or who is in each; without, all are one.
        align: "auto" folds runs with equal steps as they are, and others by lines
            between their points or, where that is too much, by means over bins.
        bins: how many; implies align="bins".
    """

    by: Key | tuple[Key, ...] | None = None
    groups: tuple[Group, ...] | None = None
    centre: Literal["mean", "median", "iqm"] = "mean"
    band: Literal["std", "sem", "minmax", "q05-q95", "q25-q75", "ci95"] = "std"
    align: Literal[
        "auto", "strict", "intersection", "union", "nearest", "ffill", "interpolate", "bins"
    ] = "auto"
    bins: Annotated[int, Limit(1, MOST_BINS)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.band == "sem" and self.centre != "mean":
            raise BadRequest(
                "The standard error is that of the mean, so it is no band around the"
                f" {self.centre}. Choose the mean, or another band such as ci95."
            )

    @property
    def operations(self) -> list[str]:
        """The statistics to compute."""
        edges = _EDGES.get(self.band, (self._interval,))
        return list(dict.fromkeys((self.centre, *edges)))

    @property
    def ring(self) -> Band:
        """The line and the edges of its band."""
        interval = (f"{self._interval}-low", f"{self._interval}-high")
        return Band(self.centre, *_EDGES.get(self.band, interval))

    @property
    def _interval(self) -> str:
        return self.band if self.centre == "mean" else f"{self.band}-{self.centre}"


async def fold(request: Request) -> Response:
    """The line and band of each tag in each group of runs."""
    asked = await read_json(request, Fold)
    source: Source = request.app.state.source
    return ArrowResponse(await source.compute(make_folds, source, asked))


def make_folds(source: Source, asked: Fold) -> bytes:
    """The folds as an Arrow stream: series, x, centre, low, high, count.

    Series are numbered in the order of the schema's metadata "series", which has
    the runs of each, how many points it has and shows, and in a note how runs with
    different steps were brought together, and what was left out. Raises
    UnknownRun, UnknownTag, TooLarge, and CannotFold where runs do not fit together.
    """
    return remember(source, asked, lambda: _fold_all(source, asked))


def _fold_all(source: Source, asked: Fold) -> bytes:
    tags = find_tags(source, asked)
    grouping = group_logs(source, asked.runs, asked.by, asked.groups)
    owner = {log.name: group.name for group in grouping.groups for log in group.logs}
    told: list[dict[str, Any]] = []
    shown: list[Stack] = []
    for tag, having in tags.items():
        placed = _place(tag, having, owner, asked)
        if not placed:
            continue
        manner, ways = _choose(placed, asked)
        # A run without a point at any place has no steps for others to share.
        used = {one.run for points in placed.values() for one in points}
        folded = fold_runs(
            [log for log in having if log.name in used],
            asked.operations,
            tags=[tag],
            by=lambda log: owner[log.name],
            manner=manner,
            progress=False,
        )
        curves = {name: own.curves[tag] for name, own in folded.groups.items() if tag in own.curves}
        stack = asked.show(Stack.of([_columns(one, asked) for one in curves.values()]), looks=3)
        for (name, curve), count in zip(curves.items(), stack.counts.tolist(), strict=True):
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
        shown.append(stack)
        refuse_too_many([len(one.x) for one in shown])
    stack = Stack.join(shown or [_nothing(asked.axis)])
    columns = dict(zip(("centre", "low", "high", "count"), stack.columns, strict=True))
    return encode_columns({"series": stack.numbers, "x": stack.x, **columns}, series=told)


def _place(
    tag: str, logs: Sequence[RunLog], owner: Mapping[str, str], asked: Fold
) -> dict[str, list[Points]]:
    """The points of each group; no group that has none."""
    placed: dict[str, list[Points]] = {}
    for log in logs:
        if log.name in owner and (asked.axis in AXES or asked.axis in log.scalars):
            points = place(log, log.scalars[tag], asked.axis, "last")
            if len(points):
                placed.setdefault(owner[log.name], []).append(points)
    return placed


def _choose(placed: Mapping[str, Sequence[Points]], asked: Fold) -> tuple[Manner, dict[str, str]]:
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
    manner = Manner(
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
    return manner, {name: way if is_aligned[name] else "" for name in placed}


def _columns(curve: Curve, asked: Fold) -> tuple[np.ndarray, ...]:
    # All three alike, so that a band smoothed is the band of the statistics smoothed.
    band = (smooth(values, asked.smooth) for values in asked.ring.of(curve))
    return curve.x, *band, curve.counts


def _note(way: str, left_out: Sequence[str], folded: Folded) -> str:
    """How the runs of a group were aligned, what was left out, and what to beware of."""
    parts = [f"{way[:1].upper()}{way[1:]}."] if way else []
    parts += [f"Left out: {one}." for one in (*left_out, *folded.left_out)]
    return " ".join((*parts, *folded.remarks))


def _nothing(axis: str) -> Stack:
    nothing = np.empty(0)
    x = nothing.astype(np.int64) if axis == STEP else nothing
    return Stack.of([(x, nothing, nothing, nothing, nothing.astype(np.int64))])


ROUTES = [Route("/api/fold", fold, methods=["POST"])]
