"""Which folder a new run goes to: one that has no run yet, and that no other process takes."""

from __future__ import annotations

import contextlib
import itertools
import os
import time

from runfold.files import Untrusted, check_owner, open_folder
from runfold.log.arrays import warn
from runfold.log.aside import SIDE_FOLDER, remove_aside
from runfold.text import escape

_CLAIM = "claim"
_CLAIM_SECONDS = 60.0


def claim_folder(folder: str) -> tuple[str, bool]:
    """Return the folder, or the next one after it that has no run yet, and whether it is claimed.

    A file that only one process can make is the claim, until there is an event file:
    jobs of a sweep begin at the same moment. A folder that another user may have put
    there is passed over.
    """
    reason = f"There is a run in {escape(folder)} already"
    for number in itertools.count(2):
        free = folder if number == 2 else f"{folder}-{number - 1}"
        if _has_run(free):
            continue
        try:
            is_claimed = _claim(free)
        except Untrusted as error:
            reason = f"{escape(os.fsdecode(error.filename))}: {error.strerror}"
            continue
        except OSError:  # to make the event file fails as well, and says it better
            return free, False
        if not is_claimed:
            continue
        if not _has_run(free):  # by one who was quicker, and is done with the claim
            break
        drop_claim(free)
    if free != folder:
        warn(
            f"{reason}; this run goes to {escape(free)}. "
            "Use --resume, or resume=True in Python, to continue the run in the first folder."
        )
    return free, True


def drop_claim(folder: str) -> None:
    """Remove the claim to a folder; raises nothing."""
    with contextlib.suppress(OSError):
        remove_aside(folder, _CLAIM)


def _claim(folder: str) -> bool:
    """Make the folder and the claim to it; whether nobody else has one. Raises OSError."""
    os.makedirs(os.path.dirname(folder) or os.curdir, exist_ok=True)
    try:
        os.mkdir(folder)
    except FileExistsError:
        check_owner(folder)
    side = os.path.join(folder, SIDE_FOLDER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(side)
    with open_folder(side, is_written=True) as opened:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        try:
            os.close(os.open(_CLAIM, flags, dir_fd=opened))
        except FileExistsError:
            return _is_old(os.path.join(side, _CLAIM))
    return True


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
