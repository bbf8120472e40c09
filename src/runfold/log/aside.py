"""What belongs to a run but not to its log: small files of JSON in its folder `.runfold`."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from typing import Any

SIDE_FOLDER = ".runfold"


def write_aside(folder: str, name: str, value: Any) -> None:
    """Put JSON into a file of the run's `.runfold`, whole or not at all. Raises OSError."""
    side = os.path.join(folder, SIDE_FOLDER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(side)  # not its parents: a run that was deleted stays deleted
    temporary = os.path.join(side, f".{name}-{os.getpid()}-{threading.get_ident()}")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(temporary, os.path.join(side, name))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def read_aside(folder: str, name: str) -> dict[str, Any]:
    """What a file of the run's `.runfold` says; nothing where it is not there or unreadable."""
    try:
        with open(os.path.join(folder, SIDE_FOLDER, name), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def as_float(said: Any) -> float | None:
    """A number that a run or its folder tells; None where it is none, or beyond all floats."""
    try:
        return float(said) if isinstance(said, int | float) else None
    except OverflowError:
        return None
