"""Numbers, steps and times as callers give them, checked on their way to the events."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, Literal

from runfold.core.recorder import Recorder
from runfold.errors import CannotLog
from runfold.events import values
from runfold.log.arrays import as_number, as_step, as_tag, as_time, refuse, warn
from runfold.log.guard import guarded
from runfold.text import escape

OnError = Literal["raise", "warn"]


class Points(Recorder):
    """What a Recorder leaves to the long way: each point is looked at, and refused by its tag.

    A subclass has `put`, `_is_heard` and `_survive`.
    """

    _on_error: OnError | None = "raise"

    def __init__(self) -> None:
        """Begin without steps and times of its own."""
        self._told_of_nan: set[str] = set()
        self._next_step = 0
        # What calls without a step or a time are given; see `use_metadata`.
        self._default_step: int | None = None
        self._default_walltime: float | None = None

    def put(self, kind: str, *arguments: Any) -> None:
        """Add to the events by one of the methods of EventBuffer."""
        raise NotImplementedError

    def _is_heard(self) -> bool:
        """Whether a call is to be recorded."""
        raise NotImplementedError

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Report a call that failed, or return False where it has to raise."""
        raise NotImplementedError

    def _step(self, step: Any, tag: str | None) -> int:
        return as_step(self._default_step if step is None else step, tag)

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
        tag = as_tag(tag)
        number, index = as_number(value, tag, "scalar_value"), self._step(step, tag)
        at = self._time(walltime, tag)
        if math.isnan(number) and tag not in self._told_of_nan:
            self._told_of_nan.add(tag)
            warn(
                f"Tag '{escape(tag)}' is NaN at step {index}. It is logged as such; later ones "
                "are not told of."
            )
        self.last_step = max(self.last_step, index)
        if display_name or description:
            message = values.scalar(
                tag, number, form, display_name=display_name, description=description
            )
            self.put("value", message, index, at)
        else:
            kind = "scalar" if form == "simple" else f"scalar_{form}"
            self.put(kind, tag, number, index, at)

    @guarded
    def _record_many(self, many: Any, step: Any, walltime: Any) -> None:
        """Add a scalar for each tag of a mapping; one that is refused keeps back no other."""
        if not isinstance(many, Mapping):
            raise CannotLog(refuse(None, "values", many, "numbers by tag are meant"))
        if step is None and self._default_step is None:
            step, self._next_step = self._next_step, self._next_step + 1
        at = self._time(walltime)
        if self._on_error == "raise":
            # All or none: every value is checked before the first is logged.
            many = {as_tag(tag): as_number(value, tag, "values") for tag, value in many.items()}
        for tag, value in many.items():
            self._record(tag, value, step, at, "simple", "", "")
