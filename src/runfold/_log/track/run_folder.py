"""Which folder a new run goes to: one that has no run yet, and that no other process takes."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from typing import TYPE_CHECKING

from runfold._conventions import CLAIM, SIDE_FOLDER
from runfold._files import Untrusted, check_owner, list_event_files, open_folder
from runfold._humanize import escape
from runfold._story.side_files import remove_aside
from runfold._warnings import warn_caller

if TYPE_CHECKING:
    from runfold._log.writer.rank_zero import RankPolicy
    from runfold._log.writer.remote_log import Remote

_CLAIM_SECONDS = 60.0


class RunLocation:
    """The location of a tracked run: a new run goes to a folder that has none yet.

    Attributes:
        folder: the run's folder.
        claimed: the folder that a new run was given; None before that.
        file_count: how many event files the run has. A forked child adds its own.
    """

    def __init__(
        self, folder: str, policy: RankPolicy, remote: Remote | None, is_new: bool
    ) -> None:
        """Take the folder that was asked for; a remote log chooses its own."""
        self.folder = folder
        self.claimed: str | None = None
        self.file_count = 0
        self._policy = policy
        self._remote = remote
        self._is_new = is_new
        self._has_claim = False

    def claim(self) -> str | None:
        """Return the run's folder; None if rank zero logs the run. Raises OSError."""
        if self._policy.defer(self.folder):
            return None
        if self._remote is not None:
            self.folder = self._remote.claim()
        elif self._is_new and not self.file_count:
            self.folder, self._has_claim = claim_folder(self.folder)
            self.claimed = self.folder
        return self.folder

    def release(self, has_file: bool) -> None:
        """Remove the claim: from now on the event file keeps others away."""
        self.file_count += has_file
        if self._has_claim:
            self._has_claim = False
            drop_claim(self.folder)


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
        warn_caller(
            f"{reason}; this run goes to {escape(free)}. "
            "Use --resume, or resume=True in Python, to continue the run in the first folder."
        )
    return free, True


def drop_claim(folder: str) -> None:
    """Remove the claim to a folder; raises nothing."""
    with contextlib.suppress(OSError):
        remove_aside(folder, CLAIM)


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
            os.close(os.open(CLAIM, flags, dir_fd=opened))
        except FileExistsError:
            return _is_old(os.path.join(side, CLAIM))
    return True


def _has_run(folder: str) -> bool:
    return os.path.isdir(folder) and bool(list_event_files(folder))


def _is_old(claim: str) -> bool:
    """Whether a claim was left by a process that came to its end in between."""
    try:
        return abs(time.time() - os.stat(claim).st_mtime) > _CLAIM_SECONDS
    except OSError:
        return False
