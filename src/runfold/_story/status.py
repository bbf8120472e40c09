"""The state of a run, from the status parts of its story and its heartbeat."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from runfold._conventions import HEARTBEAT, SIDE_FOLDER
from runfold._files import list_event_files
from runfold._story.processes import is_gone
from runfold._story.side_files import as_float, read_aside
from runfold._story.stop_files import find_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

State = Literal["running", "finished", "failed", "interrupted", "killed", "stopped"]

# The states of a run that has not ended.
ALIVE = ("running", "stopping")
_ENDED = tuple(state for state in get_args(State) if state not in ALIVE)

# A run is considered crashed after this many missed heartbeats and this many seconds. The limit
# is a minute, because clocks differ on a shared disk, and a long call can hold the GIL.
_MISSED_BEATS = 6
_SILENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a run. Times are seconds since 1970; None means unknown."""

    state: str
    started: float | None = None
    ended: float | None = None
    exit: int | None = None
    traceback: str | None = None
    heartbeat: float | None = None


def last_sign(folder: str) -> float | None:
    """Return the time of a run's last heartbeat, or else of its last write."""
    return _time_of(os.path.join(folder, SIDE_FOLDER, HEARTBEAT)) or _last_write(folder)


def read_status(
    story: Sequence[Mapping[str, Any]], folder: str, now: float, sign: float | None = None
) -> RunStatus:
    """Return the status of a run from the status parts of its story and its heartbeat.

    A `crashed` run has no end in its story, and either its heartbeat is older than a minute (or
    six beats) or its process on this machine has ended. Without a heartbeat file, the
    modification times of the event files are used. A `stopping` run has been asked to stop and is
    still running. An `unknown` run has no story. `sign` is the `last_sign` of a run whose folder
    no longer exists.
    """
    first: Mapping[str, Any] = {}
    last: Mapping[str, Any] = {}
    for part in story:
        if part.get("state") == "running":
            first = part
        last = part
    beat = read_aside(folder, HEARTBEAT)
    heartbeat = sign or last_sign(folder)
    state = str(last.get("state", "unknown"))
    if state == "running":
        missed = _MISSED_BEATS * (as_float(beat.get("seconds")) or 0.0)
        is_silent = heartbeat is None or now - heartbeat > max(_SILENT_SECONDS, missed)
        if is_silent or is_gone(beat):
            # The run may have ended after its story and heartbeat were read.
            latest = str(read_aside(folder, HEARTBEAT).get("state"))
            state = latest if latest in _ENDED else "crashed"
        elif find_request(folder, as_float(first.get("started"))) is not None:
            state = "stopping"
    code, trace = last.get("exit"), last.get("traceback")
    # Lightning's `test` continues the run of `fit`, and both are one run of the program.
    began, started = as_float(first.get("began")), as_float(first.get("started"))
    return RunStatus(
        state,
        started if began is None else began,
        as_float(last.get("ended")),
        code if isinstance(code, int) else None,
        trace if isinstance(trace, str) else None,
        heartbeat,
    )


def _time_of(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def _last_write(folder: str) -> float | None:
    """Return the last modification time of the folder's event files."""
    try:
        names = list_event_files(folder)
    except OSError:
        return None
    times = [_time_of(os.path.join(folder, name)) for name in names]
    return max((time for time in times if time is not None), default=None)
