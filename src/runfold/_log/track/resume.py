"""Where a resumed run continues, by its first steps; and whether it is still running."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

from runfold._conventions import BATCH_PREFIX, HEARTBEAT
from runfold._humanize import escape
from runfold._log.track.batches import VALIDATION
from runfold._story.side_files import as_float, read_aside
from runfold._story.status import ALIVE, read_status
from runfold._warnings import warn_caller

if TYPE_CHECKING:
    from collections.abc import Mapping


class Resumption:
    """What a run had logged before: batches are counted in one way, all else in another.

    Attributes:
        next_step, next_batch: the first of each that was not there yet.
    """

    def __init__(self, before: Mapping[str, int]) -> None:
        """Take the step after the last one of each tag."""
        batches = [step for tag, step in before.items() if tag.startswith(BATCH_PREFIX)]
        others = [step for tag, step in before.items() if not tag.startswith(BATCH_PREFIX)]
        self.next_batch = max(batches, default=1)
        self.next_step = max(others, default=0)
        # Of which nothing was logged yet since then; whether of batches.
        self._awaited = {is_batch for is_batch, some in ((True, batches), (False, others)) if some}

    @property
    def is_over(self) -> bool:
        """Whether no step can be the first any more."""
        return not self._awaited

    def goes_back(self, step: int, tag: str | None) -> bool:
        """Whether what was logged from this step on is void now.

        That would be so for tags of either count: where few steps of the one would void
        many batches, nothing is, and a warning tells of it.
        """
        is_batch = tag is not None and tag.startswith(BATCH_PREFIX)
        if is_batch not in self._awaited:
            return False
        is_validation = tag is not None and tag.startswith(BATCH_PREFIX + VALIDATION)
        if is_validation and step == self.next_batch - 1:
            return False  # of the last batch, which says nothing of the next
        self._awaited.discard(is_batch)
        if is_batch:
            return step < self.next_batch
        if step >= self.next_step:
            return False
        if 1 < self.next_batch > step:
            warn_caller(
                f"Step {step} was logged before the run was resumed, as were all up to "
                f"{self.next_step - 1}. What is there stays beside what comes now: a restart at "
                f"this step would also hide the batches from {step} on. To hide all of that, "
                f"use resume={step}."
            )
            return False
        return True


def warn_if_running(folder: str, since: float) -> None:
    """Warn if the run in a folder is still running, and began before a time.

    Processes of one job resume a run together, so one that began later is not reported.
    """
    beat = read_aside(folder, HEARTBEAT)
    started = as_float(beat.get("started"))
    if started is None or started >= since:
        return
    if read_status([beat], folder, time.time()).state not in ALIVE:
        return
    try:
        begun = f"{datetime.fromtimestamp(started):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        begun = "an unknown time"
    process, host = escape(str(beat.get("pid"))), escape(str(beat.get("host")))
    warn_caller(
        f"The run in {escape(folder)} is still running: process {process} on {host}, since "
        f"{begun}. This program resumes it all the same, and both write to it, each to its own "
        "event file. To end the other first, use `runfold stop`.",
        RuntimeWarning,
    )
