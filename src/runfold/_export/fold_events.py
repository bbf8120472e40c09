"""A fold as event files: a folder of runs for each statistic, and one that shows the band."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from runfold._atomic import replace_folders
from runfold._conventions import REDUCED_SUFFIX, name_event_file
from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding
from runfold._events.kinds.layout import Category, Chart, Layout, Margin
from runfold._export.file_names import safe_name
from runfold._humanize import escape, utf8
from runfold._reduce.bands import choose_band
from runfold._reduce.groups import PARENT
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from runfold._reduce.bands import Band
    from runfold._reduce.folded import Curve, Folded, Group

    Form = Literal["simple", "double"]

BAND = "band"
# Sorted last among the sections of TensorBoard's page of time series.
BAND_SECTION = "± band"


def write_event_files(
    folded: Folded,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    float64: bool = False,
) -> list[str]:
    """Write every statistic as event files that TensorBoard shows, and give the folders made.

    `fold` makes `fold-mean` and `fold-std`, `fold/` makes `fold/mean` and
    `fold/std`; a group is a run below: `fold-mean/lr=0.1`. It carries the hparams
    of its group. Where the statistics make a band there is one more folder,
    `fold-band`, from which TensorBoard's custom scalars page draws it.

    Values are float32, as TensorBoard's own. With `float64` Runfold reads back all
    their digits; TensorBoard shows the float32.

    All or nothing: the folders take their places when everything is written.
    Raises OutputExists for what is there, unless it is Runfold's own and
    `overwrite` is set, and CannotFold where `x` cannot be written as steps.
    """
    form: Form = "double" if float64 else "simple"
    band = choose_band(folded.statistics)
    runs = [_plan_run(group, folded.x) for group in folded.groups.values()]
    folders = list_folders(folded, out)
    if len(set(folders)) < len(folders):
        raise CannotFold(f"A statistic may not be called '{BAND}': its folder is that of the band.")
    name = name_event_file(REDUCED_SUFFIX)
    with replace_folders(folders, overwrite=overwrite) as temporary:
        for statistic, folder in zip(folded.statistics, temporary, strict=False):
            for run in runs:
                events = _encode(run, statistic, form)
                write_file(os.path.join(folder, run.folder), name, events)
        if band:
            page = value_encoding.layout(_lay_out(folded.tags, band))
            for run in runs:
                events = _encode_band(run, band, page)
                write_file(os.path.join(temporary[-1], run.folder), name, events)
    return folders


def list_folders(folded: Folded, out: str | os.PathLike[str]) -> list[str]:
    """The folders that `write_event_files` makes: for each statistic, and last for the band."""
    parts = [*folded.statistics, *([BAND] if choose_band(folded.statistics) else [])]
    return [_beside(os.fspath(out), part) for part in parts]


@dataclass(frozen=True, slots=True)
class _Series:
    """A curve, and the steps and wall times that TensorBoard will show it at."""

    curve: Curve
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Run:
    """A group as a run: its folder below that of a statistic, hparams, span of time, series."""

    folder: str
    settings: dict[str, bool | float | str]
    start: float
    end: float
    series: list[_Series]


def _plan_run(group: Group, x: str) -> _Run:
    series = [_place(curve, x) for curve in group.curves.values()]
    times = [one.wall_times for one in series if len(one.curve)]
    start = min((float(one[0]) for one in times), default=time.time())
    end = max((float(one[-1]) for one in times), default=start)
    return _Run(_folder(group), _settings(group), start, end, series)


def _place(curve: Curve, x: str) -> _Series:
    """Put the points of a curve where TensorBoard's axis of the same meaning shows them."""
    if x not in ("wall_time", "relative"):
        return _Series(curve, _whole(curve, x), _fill(curve.wall_times))
    wall_times = np.asarray(curve.x, np.float64)
    if x == "relative":
        # TensorBoard counts from the first point of each series.
        starts = curve.wall_times - curve.x
        known = starts[np.isfinite(starts)]
        wall_times = wall_times + (known[0] if len(known) else time.time())
    return _Series(curve, np.arange(len(curve)), _fill(wall_times))


def _whole(curve: Curve, x: str) -> NDArray[np.int64]:
    """The x of a curve as steps."""
    if curve.x.dtype == np.int64:
        return np.ascontiguousarray(curve.x, np.int64)
    # Not np.rint, to which 0.5 and 1.5, the middles of bins, are no different numbers from 0 and 2.
    rounded = np.floor(curve.x + 0.5)
    # What is not below 2**63, NaN too, is no int64.
    if not (np.abs(rounded) < 2.0**63).all() or not (np.diff(rounded) > 0).all():
        raise CannotFold(
            f"Tag '{escape(curve.tag)}' was folded at values of '{escape(x)}' that are less than "
            "one apart, or too large, and the steps of an event file are whole numbers. "
            "Write a table, such as fold.csv, or fold into fewer bins (bins=N, --bins)."
        )
    return rounded.astype(np.int64)


def _fill(wall_times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Wall times with the unknown ones taken from before, or else from after.

    TensorBoard's data server drops a whole file for one wall time that is NaN.
    """
    known = np.isfinite(wall_times)
    if known.all():
        return np.ascontiguousarray(wall_times, np.float64)
    if not known.any():
        return np.full(len(wall_times), time.time())
    last = np.maximum.accumulate(np.where(known, np.arange(len(known)), known.argmax()))
    return wall_times[last]


def _settings(group: Group) -> dict[str, bool | float | str]:
    """What its runs have in common, without lists and the like, for which hparams have no type."""
    shared = group.hparams | group.key
    return {
        utf8(str(name)): utf8(value) if isinstance(value, str) else value
        for name, value in shared.items()
        if isinstance(value, bool | int | float | str)
    }


def _encode(run: _Run, statistic: str, form: Form) -> Iterator[EventBuffer]:
    """The event file of one statistic, piece by piece."""
    events = _begin(run)
    if run.settings:
        events.value(value_encoding.hparams_start(run.settings, run.start), 0, run.start)
    for one in run.series:
        numbers = np.ascontiguousarray(one.curve[statistic], np.float64)
        events.scalars(one.curve.tag, one.steps, one.wall_times, numbers, form)
        yield events
        events.clear()
    if run.settings:
        events.value(value_encoding.hparams_end("success", run.end), 0, run.end)
    yield events


def _encode_band(run: _Run, band: Band, page: bytes) -> Iterator[EventBuffer]:
    """The event file of the line and the edges of the band, and the page that shows them."""
    events = _begin(run)
    events.value(page, 0, run.start)
    for one in run.series:
        # Row by row: the page compares the steps of the three while the file is still read.
        rows = np.stack(band.of(one.curve), axis=1)
        events.table(_band_tags(one.curve.tag, band), one.steps, one.wall_times, rows)
        yield events
        events.clear()
    yield events


def _begin(run: _Run) -> EventBuffer:
    events = EventBuffer()
    events.file_version(run.start)
    return events


def _band_tags(tag: str, band: Band) -> tuple[str, str, str]:
    """The tags of the line and the edges.

    TensorBoard complains of a run that has one of the three but not all, so that
    no run of a single statistic may have any. It finds the colour of a line by
    what follows the first `(` of `tag (run)`, and draws nothing if that is no run.
    """
    lower, upper = band.lower, band.upper
    if band.is_spread:
        lower, upper = f"{band.centre}-{lower}", f"{band.centre}+{upper}"
    name = f"{BAND_SECTION}/{tag.replace('(', '‹').replace(')', '›')}"
    return f"{name}/{band.centre}", f"{name}/{lower}", f"{name}/{upper}"


def _lay_out(tags: list[str], band: Band) -> Layout:
    """A chart for each tag, below what stands before its first slash."""
    charts: dict[str, list[Chart]] = {}
    for tag in tags:
        chart = Chart(f"{tag} ({band.label})", (), (Margin(*_band_tags(tag, band)),))
        charts.setdefault(tag.partition("/")[0], []).append(chart)
    return Layout(tuple(Category(title, False, tuple(own)) for title, own in charts.items()))


def _beside(out: str, part: str) -> str:
    name = safe_name(part)
    is_folder = os.path.basename(out) in ("", os.curdir, os.pardir)
    return os.path.join(out, name) if is_folder else f"{out}-{name}"


def _folder(group: Group) -> str:
    """The folder of a group below that of a statistic; empty for that folder itself."""
    if group.key != {PARENT: group.name}:
        return safe_name(group.name) if group.name else ""
    return os.path.join(*_safe_names(group.name)) if group.name != os.curdir else ""


def _safe_names(path: str) -> Iterator[str]:
    # An empty one would end the path or lead to the root.
    return (safe_name(part) or "%" for part in path.split("/"))


def write_file(folder: str, name: str, pieces: Iterable[EventBuffer]) -> None:
    """Write events to a file that must be new, in a folder that is made.

    Piece by piece, a tag at a time: the whole file may be larger than what was read.

    Where capitals do not count, two groups may have one folder; FileExistsError
    then keeps them from being one run.
    """
    os.makedirs(folder, exist_ok=True)
    # Without a buffer in Python, that a fork would copy and write again.
    with open(os.path.join(folder, name), "xb", buffering=0) as file:
        for events in pieces:
            with memoryview(events) as whole:
                written = 0
                while written < len(whole):
                    written += file.write(whole[written:])
