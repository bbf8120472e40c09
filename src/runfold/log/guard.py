"""Calls that log and never end a training run: a failure is reported once, and counted."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Method = TypeVar("Method", bound="Callable[..., None]")

# What callers know a method by, where that is not its own name.
_CALLS = {"_record": "add_scalar", "_record_many": "log", "_add_chart": "add_custom_scalars"}
# The arguments that name what a call logs.
_TAGS = ("tag", "main_tag")


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
