"""The step at which a resumed run continues, and whether it is still running."""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import TYPE_CHECKING

from runfold._conventions import BATCH_PREFIX, HEARTBEAT
from runfold._humanize import escape
from runfold._log.track.batches import VALIDATION
from runfold._story.side_files import as_float, read_aside
from runfold._story.status import ALIVE, read_status
from runfold._system import host_name
from runfold._warnings import warn_caller

if TYPE_CHECKING:
    from collections.abc import Mapping


class Resumption:
    """The steps of a resumed run, counted separately for batches and for everything else.

    Attributes:
        next_step, next_batch: the first step and batch that have not been logged yet.
    """

    def __init__(self, before: Mapping[str, int]) -> None:
        """Start from the next step of each tag."""
        batches = [step for tag, step in before.items() if tag.startswith(BATCH_PREFIX)]
        others = [step for tag, step in before.items() if not tag.startswith(BATCH_PREFIX)]
        self.next_batch = max(batches, default=1)
        self.next_step = max(others, default=0)
        # The counts (True: batches) that have earlier steps and have not been continued yet.
        self._awaited = {
            is_batch for is_batch, steps in ((True, batches), (False, others)) if steps
        }

    @property
    def is_over(self) -> bool:
        """Whether the first new step of every count has been logged."""
        return not self._awaited

    def goes_back(self, step: int, tag: str | None) -> bool:
        """Whether to discard everything logged at or after this step.

        Discarding affects both counts. If an early step would discard many batches, warns and
        returns False.
        """
        is_batch = tag is not None and tag.startswith(BATCH_PREFIX)
        if is_batch not in self._awaited:
            return False
        is_validation = tag is not None and tag.startswith(BATCH_PREFIX + VALIDATION)
        if is_validation and step == self.next_batch - 1:
            return False  # validation after the last batch does not show where the run continues
        self._awaited.discard(is_batch)
        if is_batch:
            return step < self.next_batch
        if step >= self.next_step:
            return False
        if 1 < self.next_batch > step:
            warn_caller(
                f"Step {step} was logged before the run was resumed, as were all steps up to "
                f"{self.next_step - 1}. The earlier values are kept in addition to the new ones: a "
                f"restart at this step would also hide all batches at or after {step}. To hide "
                f"the earlier values, use resume={step}."
            )
            return False
        return True


def warn_if_running(folder: str, since: float) -> None:
    """Warn if the run in a folder is still running and started before `since`.

    Processes of one job resume a run together, so a run that started later is not reported.
    """
    beat = read_aside(folder, HEARTBEAT)
    started = as_float(beat.get("started"))
    if started is None or started >= since:
        return
    if read_status([beat], folder, time.time()).state not in ALIVE:
        return
    try:
        start = f"{datetime.fromtimestamp(started):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        start = "an unknown time"
    process, host = escape(str(beat.get("pid"))), escape(str(beat.get("host")))
    if (process, host) == (str(os.getpid()), host_name()):
        warn_caller(
            f"An earlier run of this program in {escape(folder)} has not ended, so both runs write "
            "to the folder, each to its own event file. End the earlier run with `close()` or a "
            "`with` block.",
            RuntimeWarning,
        )
        return
    warn_caller(
        f"The run in {escape(folder)} is still running: process {process} on {host}, since "
        f"{start}. This program resumes it anyway, so both processes write to the run, each to "
        "its own event file. To stop the other process first, use `runfold stop`.",
        RuntimeWarning,
    )
