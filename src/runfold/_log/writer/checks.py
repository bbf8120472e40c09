"""Checks for the tags, steps, times and numbers that callers pass."""

from __future__ import annotations

import math
import time
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from runfold._events import value_encoding
from runfold._humanize import escape
from runfold._log.writer.convert import (
    as_number,
    as_tag,
    as_time,
    clean_tag,
    read_step,
    refuse,
)
from runfold._log.writer.guard import guarded
from runfold._warnings import warn_caller
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._log.writer.sink import Sink


class Checks:
    """Converts arguments to tags, steps and times, and fills in defaults.

    Attributes:
        clean_tags: whether to clean tags as tensorboardX does.
        default_step, default_walltime: used by calls that pass none; see `use_metadata`.
        next_step: the step of the next `log` call without a step.
        on_step: if set, called with the step and tag of each call that passes a step.
    """

    def __init__(self, clean_tags: bool = False) -> None:
        self.clean_tags = clean_tags
        self.default_step: int | None = None
        self.default_walltime: float | None = None
        self.next_step = 0
        self.on_step: Callable[[int, str | None], object] | None = None
        self._reported_tags: set[str] = set()
        self._has_warned_of_fraction = False

    @property
    def can_be_skipped(self) -> bool:
        """Whether a plain number at a plain step can be logged without any check."""
        return self.default_walltime is None and self.on_step is None and not self.clean_tags

    def tag(self, tag: Any, argument: str = "tag") -> str:
        """Return the tag to store. Raises BadTag."""
        if self.clean_tags and isinstance(tag, str):
            return clean_tag(tag)
        return as_tag(tag, argument)

    def step(self, step: Any, tag: str | None, *, is_of_run: bool = True) -> int:
        """Return the step of a call, truncated to an integer. Raises CannotLog.

        `is_of_run` is False for the step of a trial, which is not passed to `on_step`.
        """
        if step is None:
            step = self.default_step
        if step is None:
            return 0
        index, is_whole = read_step(step, tag)
        if not is_whole and not self._has_warned_of_fraction:
            self._has_warned_of_fraction = True
            warn_caller(
                f"global_step {step} is not a whole number. It was logged as {index}; further "
                "fractional steps of this writer are truncated without a warning."
            )
        if self.on_step is not None and is_of_run:
            self.on_step(index, tag)
        return index

    def time(self, walltime: Any, tag: str | None = None) -> float:
        """Return the wall time of a call. Default: now. Raises CannotLog."""
        if walltime is None:
            walltime = self.default_walltime
        return time.time() if walltime is None else as_time(walltime, tag)

    def warn_once(self, tag: str, message: str) -> None:
        """Warn about the values of a tag, once per tag."""
        if tag not in self._reported_tags:
            self._reported_tags.add(tag)
            warn_caller(message)


@guarded
def record_scalar(
    self: Sink,
    tag: Any,
    value: Any,
    step: Any,
    walltime: Any,
    form: Literal["simple", "double", "tensor", "double_tensor"],
    display_name: str,
    description: str,
) -> None:
    """Add a scalar: any value that contains a single number."""
    if not self.accepts():
        return
    tag = self.checks.tag(tag)
    number, index = as_number(value, tag, "scalar_value"), self.checks.step(step, tag)
    at = self.checks.time(walltime, tag)
    if math.isnan(number):
        self.checks.warn_once(
            tag,
            f"Tag '{escape(tag)}' is NaN at step {index}. It was logged as NaN; further NaNs "
            "for this tag are not reported.",
        )
    self.last_step = max(self.last_step, index)
    if display_name or description:
        message = value_encoding.scalar(
            tag, number, form, display_name=display_name, description=description
        )
        self.put("value", message, index, at)
    else:
        kind = "scalar" if form == "simple" else f"scalar_{form}"
        self.put(kind, tag, number, index, at)


@guarded
def record_scalars(self: Sink, values: Any, step: Any, walltime: Any) -> None:
    """Add a scalar for each tag of a mapping; one bad value does not affect the others."""
    if not hasattr(values, "items"):
        raise CannotLog(refuse(None, "values", values, "expected a dict that maps tags to numbers"))
    checks = self.checks
    if step is None and checks.default_step is None:
        step, checks.next_step = checks.next_step, checks.next_step + 1
    at, points = checks.time(walltime), list(values.items())
    if self.errors.are_raised:
        # Check every value before logging the first, so that all or none are logged.
        points = [
            (name := checks.tag(tag), as_number(value, name, "values")) for tag, value in points
        ]
    for tag, value in points:
        record_scalar(self, tag, value, step, at, "simple", "", "")


def check_seconds(flush_secs: Any) -> None:
    """Raise TypeError now for a value that would fail later, in the writing thread."""
    if not isinstance(flush_secs, Real) or math.isnan(flush_secs):
        raise TypeError(f"flush_secs: expected a number of seconds, got {flush_secs!r}")
