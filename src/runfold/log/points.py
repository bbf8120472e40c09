"""Numbers, steps, times and tags as callers give them, checked on their way to the events."""

from __future__ import annotations

import math
import time
from typing import Any, Literal

from runfold.core.recorder import Recorder
from runfold.errors import CannotLog
from runfold.events import values
from runfold.log.arrays import as_number, as_tag, as_time, clean_tag, read_step, refuse, warn
from runfold.log.guard import guarded
from runfold.text import escape

OnError = Literal["raise", "warn"]


class Points(Recorder):
    """The slow path of a Recorder: checks each point, and refuses bad ones by their tag.

    A subclass has `_put`, `_is_heard` and `_survive`.
    """

    _on_error: OnError | None = "raise"
    # Whether tags are changed as tensorboardX changes them.
    clean_tags = False

    def __init__(self) -> None:
        """Begin without default steps and times."""
        self._told_of_nan: set[str] = set()
        self._has_warned_of_fraction = False
        self._next_step = 0
        # The step and time of calls that have none; see `use_metadata`.
        self._default_step: int | None = None
        self._default_walltime: float | None = None

    def _put(self, kind: str, *arguments: Any) -> None:
        """Add to the events by one of the methods of EventBuffer."""
        raise NotImplementedError

    def _is_heard(self) -> bool:
        """Whether a call is to be recorded."""
        raise NotImplementedError

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Report a call that failed, or return False where it has to raise."""
        raise NotImplementedError

    def _tag(self, tag: Any, argument: str = "tag") -> str:
        """Return the tag to store. Raises BadTag."""
        if self.clean_tags and isinstance(tag, str):
            return clean_tag(tag)
        return as_tag(tag, argument)

    def _step(self, step: Any, tag: str | None) -> int:
        if step is None:
            step = self._default_step
        if step is None:
            return 0
        index, is_whole = read_step(step, tag)
        if not is_whole and not self._has_warned_of_fraction:
            self._has_warned_of_fraction = True
            warn(
                f"global_step {step} is not a whole number. It was logged as {index}; further "
                "fractional steps of this writer are truncated without a warning."
            )
        return index

    def _time(self, walltime: Any, tag: str | None = None) -> float:
        if walltime is None:
            walltime = self._default_walltime
        return time.time() if walltime is None else as_time(walltime, tag)

    @guarded
    def _record(
        self,
        tag: Any,
        value: Any,
        step: Any,
        walltime: Any,
        form: Literal["simple", "double", "tensor", "double_tensor"],
        display_name: str,
        description: str,
    ) -> None:
        """Add a scalar of any kind that holds one number."""
        if not self._is_heard():
            return
        tag = self._tag(tag)
        number, index = as_number(value, tag, "scalar_value"), self._step(step, tag)
        at = self._time(walltime, tag)
        if math.isnan(number) and tag not in self._told_of_nan:
            self._told_of_nan.add(tag)
            warn(
                f"Tag '{escape(tag)}' is NaN at step {index}. It was logged as NaN; further NaNs "
                "of this tag are not reported."
            )
        self.last_step = max(self.last_step, index)
        if display_name or description:
            message = values.scalar(
                tag, number, form, display_name=display_name, description=description
            )
            self._put("value", message, index, at)
        else:
            kind = "scalar" if form == "simple" else f"scalar_{form}"
            self._put(kind, tag, number, index, at)

    @guarded
    def _record_many(self, many: Any, step: Any, walltime: Any) -> None:
        """Add a scalar for each tag of a mapping; a refused one does not keep others back."""
        if not hasattr(many, "items"):
            raise CannotLog(refuse(None, "values", many, "expected a dict of numbers by tag"))
        if step is None and self._default_step is None:
            step, self._next_step = self._next_step, self._next_step + 1
        at, points = self._time(walltime), list(many.items())
        if self._on_error == "raise":
            # All or none: every value is checked before the first is logged.
            points = [
                (name := self._tag(tag), as_number(value, name, "values")) for tag, value in points
            ]
        for tag, value in points:
            self._record(tag, value, step, at, "simple", "", "")
