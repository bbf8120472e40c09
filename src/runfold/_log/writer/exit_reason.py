"""What ended a block or the program: an exception on its way, or the exit that was asked for."""

from __future__ import annotations

import functools
import sys
import threading
from opcode import opname
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_real_exit = sys.exit
# The last exit that was asked for, and the first frame of the program that asked.
_asked: tuple[SystemExit, FrameType] | None = None


def raised_now() -> BaseException | None:
    """The exception that is on its way or being handled."""
    return sys.exc_info()[1]


def raised_last() -> BaseException | None:
    """The exception that ended the program; None in a session in which one goes on after it.

    Of those that ask for its end it knows the ones that `sys.exit` raised, after `watch_exit`.
    """
    if hasattr(sys, "ps1"):
        return None
    if _asked is not None and _has_broken_off(_asked[1]):
        return _asked[0]
    return getattr(sys, "last_value", None)


@functools.cache  # once
def watch_exit() -> None:
    """Note what `sys.exit` raises: Python forgets it before the functions of atexit are called."""
    global _real_exit
    _real_exit, sys.exit = sys.exit, _exit


def _exit(*status: Any) -> NoReturn:
    global _asked
    try:
        _real_exit(*status)
    except SystemExit as error:
        if threading.current_thread() is threading.main_thread():
            # Not the error itself, which holds all frames that it goes through.
            _asked = SystemExit(error.code), _find_first_frame()
        raise


def _find_first_frame() -> FrameType:
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def _has_broken_off(frame: FrameType) -> bool:
    """Whether a program has ended otherwise than by its last line, and so by an exception.

    One that was asked to exit may have caught that, as notebooks and test runners do.
    """
    last = opname[frame.f_code.co_code[frame.f_lasti]]
    return _find_first_frame() is not frame and not last.startswith("RETURN")
