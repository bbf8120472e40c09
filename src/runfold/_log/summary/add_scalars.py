"""SummaryWriter methods that log several scalars, define charts, or export scalars as JSON."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._log.summary.custom_charts import UNTITLED, read_layout
from runfold._log.writer.convert import as_number, as_row, as_tag, as_time, read_step, refuse
from runfold._log.writer.guard import guarded
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from runfold._log.writer.event_writer import EventWriter
    from runfold._log.writer.sink import Writer


@guarded
def add_scalars(
    self: Writer,
    main_tag: str,
    tag_scalar_dict: Mapping[str, Any],
    global_step: Any = None,
    walltime: float | None = None,
) -> None:
    """Log several numbers at one step, as `main_tag/key`, in one chart.

    TensorBoard draws the chart on its custom scalars page. All series are in this run; torch
    would create one run per key. A value that is not a number is left out. With on_error="raise",
    such a value raises CannotLog and nothing is logged.

    Args:
        main_tag: prefix of the tags, and title of the chart.
        tag_scalar_dict: numbers by key.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.

    Examples:
        >>> writer.add_scalars("loss", {"train": 0.5, "val": 0.7}, step)  # loss/train and loss/val
    """
    sink = self._event_writer
    if not sink.accepts():
        return
    name = sink.checks.tag(main_tag, "main_tag")
    if not hasattr(tag_scalar_dict, "items"):
        reason = "expected a dict that maps keys to numbers"
        raise CannotLog(refuse(name, "tag_scalar_dict", tag_scalar_dict, reason))
    known, new, numbers = self._charts.lines(name), {}, {}
    for key, value in tag_scalar_dict.items():
        tag = known.get(key)
        if tag is None:
            key = as_tag(key, "tag_scalar_dict")
            tag = new[key] = sink.checks.tag(f"{name}/{key}" if name else key)
        is_checked = sink.errors.are_raised
        numbers[tag] = as_number(value, tag, "tag_scalar_dict") if is_checked else value
    self.log(numbers, sink.checks.step(global_step, name), walltime)
    if new and name:
        with sink.lock:
            self._charts.draw(name, new)


@guarded
def add_scalar_dict(
    self: Writer,
    values: Mapping[str, Any],
    global_step: Any = None,
    tag: str = "",
    walltime: float | None = None,
) -> None:
    """Log several numbers at one step, as `tag/key`, like `add_scalars`.

    Args:
        values: numbers by key.
        global_step: the step. Default: 0.
        tag: prefix of the tags. Without it, the tags are the keys, and there is no common chart.
        walltime: seconds since 1970. Default: now.
    """
    self.add_scalars(tag, values, global_step, walltime)


@guarded
def add_scalar_series(
    self: Writer,
    tag: str,
    steps: Any,
    values: Any,
    wall_times: Any = None,
    double_precision: bool = False,
) -> None:
    """Log a whole series at once.

    `steps`, `values` and `wall_times` must have the same length.

    Args:
        tag: name of the series.
        steps: whole numbers.
        values: the numbers, stored as float32 unless `double_precision` is set.
        wall_times: seconds since 1970. Default: now.
        double_precision: store values as float64; see `add_scalar`.

    Examples:
        >>> writer.add_scalar_series("train/loss", steps=range(1000), values=losses)
    """
    sink = self._event_writer
    if not sink.accepts():
        return
    name = sink.checks.tag(tag)
    index, numbers = _steps(steps, name), _floats(values, name, "values")
    if wall_times is None:
        times = np.full(len(index), sink.checks.time(None))
    else:
        times = _floats(wall_times, name, "wall_times")
        if not np.isfinite(times).all():
            raise CannotLog(refuse(name, "wall_times", wall_times, "expected finite numbers"))
    for argument, row in (("values", numbers), ("wall_times", times)):
        if len(row) != len(index):
            reason = f"it has {len(row)} numbers for {len(index)} steps"
            raise CannotLog(refuse(name, argument, row, reason))
    if len(index):
        sink.checks.step(int(index.min()), name)
        self.last_step = max(self.last_step, int(index.max()))
    form = "double" if double_precision else "simple"
    sink.put("scalars", name, index, times, numbers, form)


@guarded
def add_custom_scalars(self: Writer, layout: Mapping[str, Mapping[str, Any]]) -> None:
    """Add charts to TensorBoard's custom scalars page.

    Existing charts are kept, except those with the same category and title.

    Args:
        layout: `{category: {title: [kind, tags]}}`. The kind is "Multiline", with regular
            expressions as tags, or "Margin", with three tags: a value, its lower bound and its
            upper bound.

    Raises:
        CannotLog: a chart is invalid, so no chart is added. Only with on_error="raise".

    Examples:
        >>> writer.add_custom_scalars({
        ...     "Training": {
        ...         "Loss": ["Multiline", ["loss/train", "loss/val"]],
        ...         "Accuracy": ["Margin", ["acc/mean", "acc/low", "acc/high"]],
        ...     }
        ... })
    """
    if self._event_writer.accepts():
        charts = read_layout(layout)
        with self._event_writer.lock:
            self._charts.add(charts)


@guarded
def add_custom_scalars_multilinechart(
    self: Writer, tags: list[str], category: str = "default", title: str = UNTITLED
) -> None:
    """Add a chart with all tags that match one of these regular expressions.

    Args:
        tags: regular expressions.
        category: heading under which the chart is shown.
        title: title of the chart.
    """
    _add_chart(self, "Multiline", tags, category, title)


@guarded
def add_custom_scalars_marginchart(
    self: Writer, tags: list[str], category: str = "default", title: str = UNTITLED
) -> None:
    """Add a chart of a value between two bounds.

    Args:
        tags: three tags: the value, its lower bound and its upper bound.
        category: heading under which the chart is shown.
        title: title of the chart.
    """
    _add_chart(self, "Margin", tags, category, title)


def export_scalars_to_json(self: Writer, path: str | os.PathLike[str]) -> None:
    """Write all scalars in this writer's files to a JSON file.

    The format is tensorboardX's: `{"logdir/tag": [[wall_time, step, value], ...]}`. A silent
    writer writes no file.

    Args:
        path: the file to write.

    Raises:
        OSError: the file cannot be written.
    """
    scalars = read_scalars(self)
    if self._event_writer.file.paths and not self._event_writer.is_silent:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(scalars, file)


def read_scalars(self: Writer) -> dict[str, list[list[Any]]]:
    """Return `[wall_time, step, value]` for every scalar in this writer's files, by tag."""
    from runfold._logdir.run_log import read_event_files

    self.flush()
    files = [path for path in self._event_writer.file.paths if os.path.exists(path)]
    log = read_event_files(self._event_writer.folder, files)
    return {
        os.path.join(self._event_writer.folder, tag): list(
            map(
                list,
                zip(*map(_plain, (series.wall_times, series.steps, series.values)), strict=True),
            )
        )
        for tag, series in log.scalars.items()
    }


@contextmanager
def use_metadata(
    self: Writer, *, global_step: Any = None, walltime: float | None = None
) -> Iterator[Any]:
    """Set the default step and wall time for calls in the block, in all threads.

    An inner block inherits the values that it does not set. The previous values are restored at
    the end, even after an exception.

    Args:
        global_step: the step, for calls without one.
        walltime: seconds since 1970, for calls without a wall time.

    Examples:
        >>> with writer.use_metadata(global_step=step):
        ...     writer.add_scalar("loss", loss)
        ...     writer.add_histogram("weights", weights)
    """
    sink = self._event_writer
    before = sink.checks.default_step, sink.checks.default_walltime
    step = before[0] if global_step is None else read_step(global_step, None)[0]
    at = before[1] if walltime is None else as_time(walltime, None)
    _set_defaults(sink, step, at)
    try:
        yield self
    finally:
        _set_defaults(sink, *before)


@guarded
def _add_chart(self: Writer, kind: str, tags: Any, category: str, title: str) -> None:
    if self._event_writer.accepts():
        charts = read_layout({category: {title: [kind, tags]}}, "tags")
        with self._event_writer.lock:
            self._charts.add(charts)


def _set_defaults(sink: EventWriter, step: int | None, walltime: float | None) -> None:
    with sink.lock:
        sink.checks.default_step, sink.checks.default_walltime = step, walltime
        sink.choose_path()


def _steps(value: Any, tag: str) -> NDArray[np.int64]:
    """Return steps as an int64 array. Raises CannotLog for a step that is not a 64-bit integer."""
    row = as_row(value, tag, "steps")
    if row.dtype.kind == "f" and not (np.isfinite(row) & (row == np.floor(row))).all():
        raise CannotLog(refuse(tag, "steps", value, "expected whole numbers"))
    # 2**63 is the smallest value that is too large; float64 represents it exactly.
    if row.dtype.kind in "uf" and row.size and (row.max() >= 2**63 or row.min() < -(2**63)):
        raise CannotLog(refuse(tag, "steps", value, "they do not fit in 64 bits"))
    return np.ascontiguousarray(row, np.int64)


def _floats(value: Any, tag: str, argument: str) -> NDArray[np.float64]:
    return np.ascontiguousarray(as_row(value, tag, argument), np.float64)


def _plain(column: NDArray[Any]) -> list[Any]:
    numbers: list[Any] = column.tolist()
    return numbers
