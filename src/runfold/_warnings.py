"""Warnings that point at the caller's line, and warnings from background threads."""

from __future__ import annotations

import contextlib
import sys
import warnings

from runfold._humanize import escape


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line of the program that called into the package."""
    level, frame = 1, sys._getframe().f_back
    while frame is not None and frame.f_globals.get("__name__", "").startswith("runfold."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def warn_from_thread(message: str, limit: int = 500) -> None:
    """Issue a warning from a background thread; never raises, even if warnings are errors."""
    with contextlib.suppress(Warning):
        warnings.warn(escape(message, limit), stacklevel=3)
