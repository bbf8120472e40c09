"""Numbers, steps, times and tags as callers give them, checked on their way to the events."""

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
    """Makes tags, steps and times of what callers give, or of the defaults.

    Attributes:
        clean_tags: whether tags are changed as tensorboardX changes them.
        default_step, default_walltime: for calls that have none; see `use_metadata`.
        next_step: the step of the next `log` without one.
        on_step: called with each step that a caller gives and its tag, if it is set.
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
    def are_needless(self) -> bool:
        """Whether a plain number at a plain step needs no look at its tag, step or time."""
        return self.default_walltime is None and self.on_step is None and not self.clean_tags

    def tag(self, tag: Any, argument: str = "tag") -> str:
        """Return the tag to store. Raises BadTag."""
        if self.clean_tags and isinstance(tag, str):
            return clean_tag(tag)
        return as_tag(tag, argument)

    def step(self, step: Any, tag: str | None, *, is_of_run: bool = True) -> int:
        """Return the step of a call, without its fraction. Raises CannotLog.

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
        """Return the time of a call, by default the present one. Raises CannotLog."""
        if walltime is None:
            walltime = self.default_walltime
        return time.time() if walltime is None else as_time(walltime, tag)

    def warn_once(self, tag: str, message: str) -> None:
        """Warn of the numbers of a tag, unless a warning came before."""
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
    """Add a scalar of any kind that holds one number."""
    if not self.accepts():
        return
    tag = self.checks.tag(tag)
    number, index = as_number(value, tag, "scalar_value"), self.checks.step(step, tag)
    at = self.checks.time(walltime, tag)
    if math.isnan(number):
        self.checks.warn_once(
            tag,
            f"Tag '{escape(tag)}' is NaN at step {index}. It was logged as NaN; further NaNs "
            "of this tag are not reported.",
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
def record_scalars(self: Sink, many: Any, step: Any, walltime: Any) -> None:
    """Add a scalar for each tag of a mapping; a refused one does not keep others back."""
    if not hasattr(many, "items"):
        raise CannotLog(refuse(None, "values", many, "expected a dict of numbers by tag"))
    checks = self.checks
    if step is None and checks.default_step is None:
        step, checks.next_step = checks.next_step, checks.next_step + 1
    at, points = checks.time(walltime), list(many.items())
    if self.errors.are_raised:
        # All or none: every value is checked before the first is logged.
        points = [
            (name := checks.tag(tag), as_number(value, name, "values")) for tag, value in points
        ]
    for tag, value in points:
        record_scalar(self, tag, value, step, at, "simple", "", "")


def check_seconds(flush_secs: Any) -> None:
    """Raise TypeError for what the writing thread would stumble over later."""
    if not isinstance(flush_secs, Real) or math.isnan(flush_secs):
        raise TypeError(f"flush_secs is a number of seconds, not {flush_secs!r}")
