"""The exception that ended a block or the program."""

from __future__ import annotations

import functools
import sys
import threading
from opcode import opname
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_real_exit = sys.exit
# The last SystemExit that `sys.exit` raised, and the outermost frame of its call stack.
_last_exit: tuple[SystemExit, FrameType] | None = None


def raised_now() -> BaseException | None:
    """Return the exception that is being raised or handled."""
    return sys.exc_info()[1]


def raised_last() -> BaseException | None:
    """Return the exception that ended the program; None in an interactive session.

    A SystemExit is known only if `sys.exit` raised it after `watch_exit` was called.
    """
    if hasattr(sys, "ps1"):
        return None
    if _last_exit is not None and _was_interrupted(_last_exit[1]):
        return _last_exit[0]
    return getattr(sys, "last_value", None)


@functools.cache  # once
def watch_exit() -> None:
    """Record SystemExit from `sys.exit`: Python forgets it before atexit functions run."""
    global _real_exit
    _real_exit, sys.exit = sys.exit, _exit


def _exit(*status: Any) -> NoReturn:
    global _last_exit
    try:
        _real_exit(*status)
    except SystemExit as error:
        if threading.current_thread() is threading.main_thread():
            # A copy: the original keeps all its frames alive.
            _last_exit = SystemExit(error.code), _find_first_frame()
        raise


def _find_first_frame() -> FrameType:
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def _was_interrupted(frame: FrameType) -> bool:
    """Whether an exception ended the program before its last line.

    The program may have caught SystemExit, as notebooks and test runners do.
    """
    last = opname[frame.f_code.co_code[frame.f_lasti]]
    return _find_first_frame() is not frame and not last.startswith("RETURN")
