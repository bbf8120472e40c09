"""Runs written in one step after they ended: trials of a study, candidates of a search."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import (
    EVENT_FILE_SUFFIX,
    TEXT_SUFFIX,
    name_event_file,
    name_temporary,
)
from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding
from runfold._files import create_file, place_new
from runfold._log.masking.masking import mask_output, mask_text
from runfold._log.summary.hparams_session import as_settings
from runfold._log.track.config import as_plain, flatten
from runfold._log.writer.convert import as_number
from runfold._story import story_parts

if TYPE_CHECKING:
    from typing import Literal

    from runfold._story.status import State

# The step, wall time and value of a point.
Point = tuple[int, float, float]
_MOST_STEP = 2**63 - 1


@dataclass
class RecordedRun:
    """Everything that a run logged, and how it ended. Times are seconds since 1970.

    Attributes:
        state: how the run ended; None if that is unknown, "running" if it has not ended.
        traceback: why the run failed.
        parts: further data about the run, by kind, in order.
        messages: encoded values, with their steps.
    """

    started: float
    ended: float | None = None
    state: State | None = "finished"
    traceback: str | None = None
    host: str = ""
    hparams: Mapping[str, Any] = field(default_factory=dict)
    config: Any = None
    scalars: dict[str, list[Point]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    parts: list[tuple[str, Any]] = field(default_factory=list)
    messages: list[tuple[bytes, int]] = field(default_factory=list)

    @property
    def last_time(self) -> float:
        """The time of the run's end, or else of its start."""
        return self.started if self.ended is None else self.ended

    def add(self, tag: str, step: Any, wall_time: float, value: Any) -> bool:
        """Add a point, unless its value is not a number or its step is not a whole number.

        Returns whether the point was added.
        """
        try:
            number = float(as_number(value, tag, "value"))
            index = int(step)
        except Exception:  # values may be of any type
            return False
        if index != step or abs(index) > _MOST_STEP:
            return False
        self.scalars.setdefault(tag, []).append((index, wall_time, number))
        return True


def encode_run(run: RecordedRun) -> bytes:
    """Return the content of a run's event file. The same run always gives the same content."""
    buffer = EventBuffer()
    buffer.file_version(run.started)
    settings = as_settings(flatten(run.hparams)) if run.hparams else {}
    if settings:
        buffer.value(value_encoding.hparams_start(settings, run.started), 0, run.started)
    if run.config is not None:
        _put_part(buffer, run.started, story_parts.CONFIG, as_plain(run.config))
    if run.state is not None:
        status = {"state": "running", "host": run.host, "started": run.started}
        _put_part(buffer, run.started, story_parts.STATUS, status)
    steps: dict[str, int] = {}
    for part, value in run.parts:
        step = steps[part] = steps.get(part, -1) + 1
        _put_part(buffer, run.started, part, value, step)
    for message, step in run.messages:
        buffer.value(message, step, run.last_time)
    for tag, text in run.texts.items():
        message = value_encoding.text(tag + TEXT_SUFFIX, mask_output(text))
        buffer.value(message, 0, run.last_time)
    for tag, points in run.scalars.items():
        columns = list(zip(*points, strict=True))
        buffer.scalars(
            tag,
            np.array(columns[0], np.int64),
            np.array(columns[1], np.float64),
            np.array(columns[2], np.float64),
            "double",
        )
    if run.state not in (None, "running"):
        _put_end(buffer, run, bool(settings))
    return buffer.getvalue()


def place_run(folder: str, run: RecordedRun) -> bool:
    """Write a run to a new folder; return False if the folder already exists.

    Other processes see either the complete folder or no folder. Raises OSError.
    """
    parent = os.path.dirname(folder)
    os.makedirs(parent, exist_ok=True)
    draft = os.path.join(parent, name_temporary())
    os.mkdir(draft)
    try:
        with create_file(os.path.join(draft, name_event_file(EVENT_FILE_SUFFIX))) as file:
            file.write(encode_run(run))
        return place_new(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def add_series(
    run: RecordedRun, tag: str, values: Iterable[Any], steps: Sequence[int] | None = None
) -> None:
    """Add values at the time of the run's end. Default steps: 0, 1, 2, ..."""
    for index, value in enumerate(values):
        run.add(tag, index if steps is None else steps[index], run.last_time, value)


def _put_part(buffer: EventBuffer, time: float, part: str, value: Any, step: int = 0) -> None:
    message = story_parts.encode_story(part, value)
    buffer.value(message, step, time)


def _put_end(buffer: EventBuffer, run: RecordedRun, has_session: bool) -> None:
    status: dict[str, Any] = {"state": run.state}
    if run.state == "failed":
        status["exit"] = 1
    if run.traceback is not None:
        status["traceback"] = mask_text(run.traceback)
    _put_part(buffer, run.last_time, story_parts.STATUS, {**status, "ended": run.ended}, 1)
    if has_session:
        outcome: Literal["success", "failure"]
        outcome = "success" if run.state in ("finished", "stopped") else "failure"
        buffer.value(value_encoding.hparams_end(outcome, run.last_time), 0, run.last_time)
