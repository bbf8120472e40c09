"""Calls that log and never end a training run: a failure is reported once, and counted."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast, get_args

from runfold._humanize import escape
from runfold._warnings import warn_caller
from runfold.errors import BadTag, CannotLog, WriterClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OnError = Literal["raise", "warn"]

Method = TypeVar("Method", bound="Callable[..., None]")

# What callers know a method by, where that is not its own name.
_CALLS = {
    "record_scalar": "add_scalar",
    "record_scalars": "log",
    "_add_chart": "add_custom_scalars",
}
# The arguments that name what a call logs.
_TAGS = ("tag", "main_tag")
_NOTHING = "Nothing was logged by this call."
_COUNTED = "Later ones are counted in `writer.skipped` without a warning."
# A program whose every tag fails is not to be flooded with warnings.
_MOST_WARNINGS = 20


class ErrorPolicy:
    """What becomes of calls that fail: they raise, or warn once and are counted.

    Attributes:
        on_error: "raise" raises everything and "warn" nothing; None raises only for a
            folder that could not be written to from the beginning.
        skipped: how many calls could not be logged, by tag; "" counts those without a tag.
        failure: why the last write failed; None if it succeeded.
    """

    def __init__(self, on_error: OnError | None) -> None:
        """Take the option of a writer. Raises ValueError for an unknown one."""
        if on_error is not None and on_error not in get_args(OnError):
            raise ValueError(f"on_error is 'raise' or 'warn', not {on_error!r}")
        self.on_error = on_error
        self.skipped: dict[str, int] = {}
        self.failure: OSError | None = None
        self._warned: set[tuple[str, str]] = set()

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without the failure, which is that of an open file."""
        return {**vars(self), "failure": None}

    @property
    def are_raised(self) -> bool:
        """Whether calls raise everything that goes wrong."""
        return self.on_error == "raise"

    def raises_open(self, is_first: bool) -> bool:
        """Whether a file that cannot be opened raises; `is_first` if none was opened before."""
        return self.on_error == "raise" or (self.on_error is None and is_first)

    def raise_failure(self) -> None:
        """Raise why the last write failed, where calls raise."""
        failure = self.failure
        if failure is not None and self.are_raised:
            # A new one each time: one raised again would keep all frames of the times before.
            raise OSError(failure.errno, failure.strerror, failure.filename)

    def survive(self, error: Exception, call: str, tag: str, is_first: bool) -> bool:
        """Warn of a call that failed and count it, or return False where it has to raise."""
        if self.on_error == "raise" or isinstance(error, BadTag | WriterClosed):
            return False
        if isinstance(error, OSError) and self.raises_open(is_first):
            return False  # the folder cannot be written to, and training has not begun
        self.skipped[tag] = self.skipped.get(tag, 0) + 1
        key = call, tag
        if key not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned.add(key)
            warn_caller(f"{_describe_failure(error, call, tag)} {_COUNTED}")
        return True


def _describe_failure(error: Exception, call: str, tag: str) -> str:
    """Say which call failed, why, and that nothing was logged by it."""
    if isinstance(error, CannotLog):
        return str(error)  # it says all that
    place = f"Tag '{escape(tag)}': " if tag else ""
    reason = (str(error).partition("\n")[0] or type(error).__name__).rstrip(".")
    return f"{place}{call} failed: {type(error).__name__}: {escape(reason, 200)}. {_NOTHING}"


class Guarded(Protocol):
    """What a class needs for its methods to be guarded."""

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Report the error and return True, or return False where it has to be raised."""


def guarded(method: Method) -> Method:
    """Hand what a method raises to the writer, which decides whether training sees it.

    A call with missing or unknown arguments raises TypeError as always: the program is
    wrong then, not the data.
    """
    name = _CALLS.get(method.__name__, method.__name__)
    # The first argument after `self` is the tag, in calls that have one there.
    is_tagged = next(iter([*inspect.signature(method).parameters][1:]), "") in _TAGS

    @functools.wraps(method)
    def call(self: Guarded, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            tag = _find_tag(args if is_tagged else (), kwargs)
            if _is_wrong_call(error) or not self._survive(error, name, tag):
                raise

    return cast("Method", call)


def _is_wrong_call(error: Exception) -> bool:
    """Whether the arguments did not fit the method: no line of it was run."""
    trace = error.__traceback__
    return isinstance(error, TypeError) and trace is not None and trace.tb_next is None


def _find_tag(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the tag of a call, or "" for calls that have none."""
    given = next((kwargs[name] for name in _TAGS if name in kwargs), args[0] if args else "")
    return given if isinstance(given, str) else ""
