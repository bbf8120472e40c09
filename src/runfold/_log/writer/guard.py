"""Handling of failed log calls: warn once, count, and let training continue."""

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

# The public name of a method, if it differs.
_CALLS = {
    "record_scalar": "add_scalar",
    "record_scalars": "log",
    "_add_chart": "add_custom_scalars",
}
# The arguments that contain the tag.
_TAGS = ("tag", "main_tag")
_NOTHING = "Nothing was logged by this call."
_COUNTED = "Further failures are counted in `writer.skipped` without a warning."
# Limits the warnings from a program in which every tag fails.
_MOST_WARNINGS = 20


class ErrorPolicy:
    """Decides whether a failed call raises, or warns once and is counted.

    Attributes:
        on_error: "raise" raises every error, "warn" none; None raises only if the folder could
            never be written to.
        skipped: number of failed calls per tag; "" counts calls without a tag.
        failure: the error from the last write; None if it succeeded.
    """

    def __init__(self, on_error: OnError | None) -> None:
        """Use the `on_error` option of a writer. Raises ValueError for an unknown value."""
        if on_error is not None and on_error not in get_args(OnError):
            raise ValueError(f"expected on_error='raise' or on_error='warn', got {on_error!r}")
        self.on_error = on_error
        self.skipped: dict[str, int] = {}
        self.failure: OSError | None = None
        self._warned: set[tuple[str, str]] = set()

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without the failure, which belongs to an open file."""
        return {**vars(self), "failure": None}

    @property
    def are_raised(self) -> bool:
        """Whether calls raise every error."""
        return self.on_error == "raise"

    def raises_open(self, is_first: bool) -> bool:
        """Whether to raise an error if a file cannot be opened; `is_first` means the first file."""
        return self.on_error == "raise" or (self.on_error is None and is_first)

    def raise_failure(self) -> None:
        """Raise the error from the last write if `on_error` is "raise"."""
        failure = self.failure
        if failure is not None and self.are_raised:
            # A new exception each time: raising the same one again would keep all earlier
            # frames alive.
            raise OSError(failure.errno, failure.strerror, failure.filename)

    def survive(self, error: Exception, call: str, tag: str, is_first: bool) -> bool:
        """Warn about a failed call and count it, or return False if it must raise."""
        if self.on_error == "raise" or isinstance(error, BadTag | WriterClosed):
            return False
        if isinstance(error, OSError) and self.raises_open(is_first):
            return False  # the folder cannot be written to, and training has not started
        self.skipped[tag] = self.skipped.get(tag, 0) + 1
        key = call, tag
        if key not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned.add(key)
            warn_caller(f"{_describe_failure(error, call, tag)} {_COUNTED}")
        return True


def _describe_failure(error: Exception, call: str, tag: str) -> str:
    """Return a message: which call failed, why, and that it logged nothing."""
    if isinstance(error, CannotLog):
        return str(error)  # the message already says so
    prefix = f"Tag '{escape(tag)}': " if tag else ""
    reason = (str(error).partition("\n")[0] or type(error).__name__).rstrip(".")
    return f"{prefix}{call} failed: {type(error).__name__}: {escape(reason, 200)}. {_NOTHING}"


class Guarded(Protocol):
    """The interface of a class with guarded methods."""

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Report the error and return True, or return False if it must be raised."""


def guarded(method: Method) -> Method:
    """Pass exceptions raised by a method to the writer, which reports or raises them.

    Missing or unknown arguments raise TypeError as usual, because they are errors in the program,
    not in the data.
    """
    name = _CALLS.get(method.__name__, method.__name__)
    # The tag, if there is one, is the first argument after `self`.
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
    """Whether the arguments did not match the signature, so that the method never ran."""
    trace = error.__traceback__
    return isinstance(error, TypeError) and trace is not None and trace.tb_next is None


def _find_tag(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the tag of a call, or "" if it has none."""
    tag = next((kwargs[name] for name in _TAGS if name in kwargs), args[0] if args else "")
    return tag if isinstance(tag, str) else ""
