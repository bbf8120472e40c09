"""Which folder a new run goes to: one that has no run yet, and that no other process takes."""

from __future__ import annotations

import itertools
import os
import time

from runfold.log.arrays import warn
from runfold.log.aside import SIDE_FOLDER
from runfold.text import escape

_CLAIM_SECONDS = 60.0


def claim_folder(folder: str) -> tuple[str, str | None]:
    """The folder, or the next one after it that has no run yet; and the claim to it.

    A file that only one can make is the claim, until there is an event file: jobs
    of a sweep begin at the same moment.
    """
    for number in itertools.count(2):
        free = folder if number == 2 else f"{folder}-{number - 1}"
        if _has_run(free):
            continue
        claim = os.path.join(free, SIDE_FOLDER, "claim")
        try:
            os.makedirs(os.path.dirname(claim), exist_ok=True)
            os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            if not _is_old(claim):
                continue
        except OSError:  # to make the event file fails as well, and says it better
            return free, None
        if not _has_run(free):  # by one who was quicker, and is done with the claim
            break
        os.unlink(claim)
    if free != folder:
        warn(
            f"There is a run in {escape(folder)} already; this one goes to {escape(free)}. "
            "Use --resume, or resume=True in Python, to go on with the other."
        )
    return free, claim


def _has_run(folder: str) -> bool:
    return os.path.isdir(folder) and bool(list_event_files(folder))


def list_event_files(folder: str) -> list[str]:
    """The names of the event files in a folder. Raises OSError."""
    return [name for name in os.listdir(folder) if "tfevents" in name]


def _is_old(claim: str) -> bool:
    """Whether a claim was left by a process that came to its end in between."""
    try:
        return abs(time.time() - os.stat(claim).st_mtime) > _CLAIM_SECONDS
    except OSError:
        return False
