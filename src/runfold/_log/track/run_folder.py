"""The folder for a new run: one that contains no run, claimed before any other process takes it."""

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
    """The location of a tracked run: a new run gets a folder that contains no run.

    Attributes:
        folder: the run's folder.
        claimed: the folder chosen for a new run; None before it is chosen.
        file_count: number of the run's event files. A forked child adds its own.
    """

    def __init__(
        self, folder: str, policy: RankPolicy, remote: Remote | None, is_new: bool
    ) -> None:
        """Start with the requested folder; a remote log chooses its own."""
        self.folder = folder
        self.claimed: str | None = None
        self.file_count = 0
        self._policy = policy
        self._remote = remote
        self._is_new = is_new
        self._has_claim = False
        # Whether to warn if the run goes to another folder than the requested one.
        self.warns = True

    def claim(self) -> str | None:
        """Return the run's folder; None if rank zero logs the run. Raises OSError."""
        if self._policy.defer(self.folder):
            return None
        if self._remote is not None:
            self.folder = self._remote.claim()
        elif self._is_new and not self.file_count:
            self.folder, self._has_claim = claim_folder(self.folder, self.warns)
            self.claimed = self.folder
        return self.folder

    def release(self, has_file: bool) -> None:
        """Remove the claim: from now on the event file shows that the folder is taken."""
        self.file_count += has_file
        if self._has_claim:
            self._has_claim = False
            drop_claim(self.folder)


def claim_folder(folder: str, warns: bool = True) -> tuple[str, bool]:
    """Return the first of `x`, `x-2`, `x-3`, ... that contains no run, and whether it is claimed.

    The claim is a file that only one process can create. It protects the folder until there is an
    event file, because the jobs of a sweep can start at the same moment. Folders that another user
    may have created are skipped.
    """
    reason = f"There is already a run in {escape(folder)}"
    for number in itertools.count(2):
        free = folder if number == 2 else f"{folder}-{number - 1}"
        if _has_run(free):
            continue
        try:
            is_claimed = _claim(free)
        except Untrusted as error:
            reason = f"{escape(os.fsdecode(error.filename))}: {error.strerror}"
            continue
        except OSError:  # creating the event file fails too, with a better message
            return free, False
        if not is_claimed:
            continue
        if not _has_run(free):  # a faster process may have created a run and released its claim
            break
        drop_claim(free)
    if free != folder and warns:
        warn_caller(
            f"{reason}; this run goes to {escape(free)}. "
            "Use --resume, or resume=True in Python, to continue the existing run instead."
        )
    return free, True


def drop_claim(folder: str) -> None:
    """Remove the claim on a folder. Never raises."""
    with contextlib.suppress(OSError):
        remove_aside(folder, CLAIM)


def _claim(folder: str) -> bool:
    """Create the folder and claim it; return False if it is already claimed. Raises OSError."""
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
    """Whether a claim is stale, left by a process that died."""
    try:
        return abs(time.time() - os.stat(claim).st_mtime) > _CLAIM_SECONDS
    except OSError:
        return False
