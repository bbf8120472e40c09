"""A fold as event files: one folder of runs per statistic, and one for the band."""

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
# This name sorts last among the sections of TensorBoard's time series page.
BAND_SECTION = "± band"
# Steps encoded at a time, because the events of a long curve take several times its memory.
_STEPS = 16_384


def write_event_files(
    folded: Folded,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    float64: bool = False,
) -> list[str]:
    """Write every statistic as event files for TensorBoard, and return the new folders.

    `fold` creates `fold-mean` and `fold-std`; `fold/` creates `fold/mean` and `fold/std`.
    Each group is a run in these folders, such as `fold-mean/lr=0.1`, with the group's
    hparams. If the statistics form a band, TensorBoard's custom scalars page draws it
    from one more folder, `fold-band`.

    Values are float32, like TensorBoard's own. With `float64`, Runfold reads back every
    digit, but TensorBoard still shows float32.

    The folders appear only once everything is written. Raises OutputExists for existing
    folders, unless Runfold wrote them and `overwrite` is set, and CannotFold if `x`
    cannot be written as steps.
    """
    form: Form = "double" if float64 else "simple"
    band = choose_band(folded.statistics)
    runs = [_plan_run(group, folded.x) for group in folded.groups.values()]
    folders = list_folders(folded, out)
    if len(set(folders)) < len(folders):
        raise CannotFold(
            f"A statistic cannot be called '{BAND}': that folder name is reserved for the band."
        )
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
    """Return the folders that `write_event_files` creates: one per statistic, then the band's."""
    parts = [*folded.statistics, *([BAND] if choose_band(folded.statistics) else [])]
    return [_name_folder(os.fspath(out), part) for part in parts]


@dataclass(frozen=True, slots=True)
class _Series:
    """A curve with the steps and wall times at which TensorBoard shows it."""

    curve: Curve
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Run:
    """A group as a run: its folder within a statistic's folder, hparams, times and series."""

    folder: str
    settings: dict[str, bool | float | str]
    start: float
    end: float
    series: list[_Series]


def _plan_run(group: Group, x: str) -> _Run:
    every_series = [_make_series(curve, x) for curve in group.curves.values()]
    times = [series.wall_times for series in every_series if len(series.curve)]
    start = min((float(wall_times[0]) for wall_times in times), default=time.time())
    end = max((float(wall_times[-1]) for wall_times in times), default=start)
    return _Run(_folder(group), _settings(group), start, end, every_series)


def _make_series(curve: Curve, x: str) -> _Series:
    """Return a curve with steps and wall times for the TensorBoard axis that matches x."""
    if x not in ("wall_time", "relative"):
        return _Series(curve, _whole(curve, x), _fill(curve.wall_times))
    wall_times = np.asarray(curve.x, np.float64)
    if x == "relative":
        # TensorBoard measures relative time from the first point of each series.
        starts = curve.wall_times - curve.x
        known = starts[np.isfinite(starts)]
        wall_times = wall_times + (known[0] if len(known) else time.time())
    return _Series(curve, np.arange(len(curve)), _fill(wall_times))


def _whole(curve: Curve, x: str) -> NDArray[np.int64]:
    """Return the x values of a curve as steps."""
    if curve.x.dtype == np.int64:
        return np.ascontiguousarray(curve.x, np.int64)
    # np.rint would round the centers of adjacent bins, such as 1.5 and 2.5, to the same step.
    rounded = np.floor(curve.x + 0.5)
    # Also false for NaN.
    if not (np.abs(rounded) < 2.0**63).all() or not (np.diff(rounded) > 0).all():
        raise CannotFold(
            f"Tag '{escape(curve.tag)}' was folded at values of '{escape(x)}' that are less than "
            "1 apart or too large, but the steps in an event file are whole numbers. "
            "Write a table such as fold.csv, or fold into fewer bins (bins=N, --bins)."
        )
    return rounded.astype(np.int64)


def _fill(wall_times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return wall times, with unknown times replaced by the previous or, if none, the next time.

    TensorBoard's data server drops a whole file because of a single NaN.
    """
    known = np.isfinite(wall_times)
    if known.all():
        return np.ascontiguousarray(wall_times, np.float64)
    if not known.any():
        return np.full(len(wall_times), time.time())
    last = np.maximum.accumulate(np.where(known, np.arange(len(known)), known.argmax()))
    return wall_times[last]


def _settings(group: Group) -> dict[str, bool | float | str]:
    """Return the hparams that a group's runs share, leaving out values of unsupported types."""
    shared = group.hparams | group.key
    return {
        utf8(str(name)): utf8(value) if isinstance(value, str) else value
        for name, value in shared.items()
        if isinstance(value, bool | int | float | str)
    }


def _encode(run: _Run, statistic: str, form: Form) -> Iterator[EventBuffer]:
    """Yield the event file of one statistic in pieces."""
    events = _begin(run)
    if run.settings:
        events.value(value_encoding.hparams_start(run.settings, run.start), 0, run.start)
    for series in run.series:
        numbers = np.ascontiguousarray(series.curve[statistic], np.float64)
        for part in _split(series):
            events.scalars(
                series.curve.tag, series.steps[part], series.wall_times[part], numbers[part], form
            )
            yield events
            events.clear()
    if run.settings:
        events.value(value_encoding.hparams_end("success", run.end), 0, run.end)
    yield events


def _encode_band(run: _Run, band: Band, page: bytes) -> Iterator[EventBuffer]:
    """Yield the event file of the band's line and edges, with the layout of the chart."""
    events = _begin(run)
    events.value(page, 0, run.start)
    for series in run.series:
        tags = _band_tags(series.curve.tag, band)
        for part in _split(series):
            # Row by row, because the page compares the steps of all three while it loads the file.
            rows = np.stack(band.of(series.curve, part), axis=1)
            events.table(tags, series.steps[part], series.wall_times[part], rows)
            yield events
            events.clear()
    yield events


def _split(series: _Series) -> Iterator[slice]:
    starts = range(0, len(series.steps), _STEPS)
    return (slice(start, start + _STEPS) for start in starts)


def _begin(run: _Run) -> EventBuffer:
    events = EventBuffer()
    events.file_version(run.start)
    return events


def _band_tags(tag: str, band: Band) -> tuple[str, str, str]:
    """Return the tags of the line and the edges.

    TensorBoard reports an error for a run that has only some of the three, so these tags
    must not occur in the runs of a single statistic. TensorBoard takes a line's color from
    the run after the first `(` in `tag (run)`, and draws nothing if there is no such run.
    """
    lower, upper = band.lower, band.upper
    if band.is_spread:
        lower, upper = f"{band.center}-{lower}", f"{band.center}+{upper}"
    name = f"{BAND_SECTION}/{tag.replace('(', '‹').replace(')', '›')}"
    return f"{name}/{band.center}", f"{name}/{lower}", f"{name}/{upper}"


def _lay_out(tags: list[str], band: Band) -> Layout:
    """Return a layout with one chart per tag, grouped by the part before the first slash."""
    charts: dict[str, list[Chart]] = {}
    for tag in tags:
        chart = Chart(f"{tag} ({band.label})", (), (Margin(*_band_tags(tag, band)),))
        charts.setdefault(tag.partition("/")[0], []).append(chart)
    return Layout(tuple(Category(title, False, tuple(own)) for title, own in charts.items()))


def _name_folder(out: str, part: str) -> str:
    name = safe_name(part)
    is_folder = os.path.basename(out) in ("", os.curdir, os.pardir)
    return os.path.join(out, name) if is_folder else f"{out}-{name}"


def _folder(group: Group) -> str:
    """Return a group's folder within a statistic's folder; "" for that folder itself."""
    if group.key != {PARENT: group.name}:
        return safe_name(group.name) if group.name else ""
    return os.path.join(*_safe_names(group.name)) if group.name != os.curdir else ""


def _safe_names(path: str) -> Iterator[str]:
    # An empty name would end the path or make it absolute.
    return (safe_name(part) or "%" for part in path.split("/"))


def write_file(folder: str, name: str, pieces: Iterable[EventBuffer]) -> None:
    """Write events to a new file, and create its folder.

    The pieces are written one at a time, because the whole file can be larger than the
    data that was read. If the file system ignores case, two groups can share a folder;
    FileExistsError then keeps them from becoming one run.
    """
    os.makedirs(folder, exist_ok=True)
    # Unbuffered, because a fork would copy a buffer and write it again.
    with open(os.path.join(folder, name), "xb", buffering=0) as file:
        for events in pieces:
            with memoryview(events) as whole:
                written = 0
                while written < len(whole):
                    written += file.write(whole[written:])
