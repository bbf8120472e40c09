"""A running run stopped: asked through its folder, waited for, and ended where it must be.

What is done or refused is in the audit log, whoever calls.

asked        the request lies in the run's folder
seen         the run's tracker has taken note of it
terminated   its process was sent SIGTERM
killed       its process was sent SIGKILL
ended        the run has said its last word, or its process is gone
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runfold._conventions import HEARTBEAT, SIDE_FOLDER
from runfold._humanize import escape
from runfold._storage.local_paths import fetch, find_origin, refresh_copy
from runfold._storage.url import show_url
from runfold._story.audit_log import record_stop
from runfold._story.processes import RunProcess
from runfold._story.side_files import as_float, read_aside
from runfold._story.status import ALIVE, read_status
from runfold._story.stop_files import find_request
from runfold._story.stop_request import request_stop
from runfold.errors import CannotStop, CannotStore, LogdirNotFound, RunfoldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runfold._story.stop_files import StopRequest

Stage = Literal["running", "asked", "seen", "terminated", "killed", "ended"]

GRACE = 30.0

_LOOK_SECONDS = 0.1
# A script may save its model on SIGTERM.
_TERM_SECONDS = 10.0
# For the system to clear away a process that cannot help but end.
_KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Stop:
    """How far the stop of a run has come, the run's state, and what it was asked by whom.

    `is_new` where it was asked just now, and not by somebody before.
    """

    stage: Stage
    state: str
    request: StopRequest | None = None
    is_new: bool = False

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.stage == "ended"


def look_at_stop(folder: str) -> Stop:
    """How far the stop of the run in a folder has come; "running" where nobody asked.

    Raises LogdirNotFound where there is no folder, and CannotStop for one whose run was
    not tracked.
    """
    refresh_copy(folder)
    now = _look(folder)
    # A process may have ended just after its last word, of which a copy knows nothing yet.
    return _look(folder) if now.state == "crashed" and refresh_copy(folder, 0) else now


def _look(folder: str) -> Stop:
    beat = read_aside(folder, HEARTBEAT)
    if not beat:
        if not os.path.isdir(folder):
            raise LogdirNotFound(f"{show_place(folder)} is no folder; there is no run to stop.")
        heartbeat = os.path.join(folder, SIDE_FOLDER, HEARTBEAT)
        if os.path.lexists(heartbeat):
            raise CannotStop(
                f"{show_place(heartbeat)}: the heartbeat of this run cannot be read, so that "
                "nobody can ask the run to stop. `runfold check` says if the file is odd."
            )
        raise CannotStop(
            f"{show_place(folder)}: this run was not tracked, so that nobody can ask it to stop. "
            "Write it with rf.track or `runfold run`."
        )
    state = read_status([beat], folder, time.time()).state
    heard = find_request(folder, as_float(beat.get("started")))
    request = None if heard is None else heard.request
    if state not in ALIVE:
        return Stop("ended", state, request)
    if heard is None:
        return Stop("running", state)
    return Stop("asked" if heard.seen is None else "seen", state, request)


def stop_run(
    folder: str | os.PathLike[str],
    *,
    reason: str = "",
    grace: float = GRACE,
    kill: bool = False,
    wait: bool = True,
    how: str = "python",
    on_stage: Callable[[Stop], object] | None = None,
) -> Stop:
    """Ask the run in a folder to stop, wait until it has, and tell how far it came.

    A run that was asked already is not asked again. Nothing is raised for one that goes
    on beyond the grace period: its stage tells.

    Args:
        folder: the run's folder, or its URL in a storage.
        reason: why, for the run's log.
        grace: how many seconds to wait for its end.
        kill: end its process after that, by SIGTERM and then SIGKILL. It must run on this
            machine; that it is that very process is made sure of.
        wait: False returns when the run is asked.
        how: by what it was asked, for the audit log.
        on_stage: called with each stage when it is reached.

    Raises CannotStop for a run that does not run, or cannot be asked or killed from here,
    and LogdirNotFound.
    """
    tell = on_stage or (lambda _: None)
    with _noting_refusal("stop", os.fsdecode(folder), how):
        (place,) = map(os.fsdecode, fetch(folder))
        now = _look_at_running(place, "stop")
        if kill:
            _hold(place).close()  # whoever wants it killed learns at once that it cannot be
        if now.stage == "running":
            now = _ask(place, reason, how)
    tell(now)
    if not wait:
        return now
    now = _await_end(place, now, grace, tell)
    if kill and not now.is_over:
        now = kill_run(place, reason=reason, how=how, on_stage=on_stage)
    return now


def kill_run(
    folder: str,
    *,
    reason: str = "",
    seconds: float = _TERM_SECONDS,
    how: str = "python",
    on_stage: Callable[[Stop], object] | None = None,
) -> Stop:
    """End the process of a run on this machine: SIGTERM, and after so many seconds SIGKILL.

    Also what it started is ended then. The reason is for the audit log, as `how` is; without
    one, that of the request to stop stands there. Raises CannotStop where it is not sure to
    be that run's process, and for one that does not run.
    """
    tell = on_stage or (lambda _: None)

    def note(stage: Literal["terminated", "killed"]) -> None:
        why = reason or (now.request.reason if now.request else "")
        record_stop("kill", folder, how=how, outcome=stage, reason=why)
        tell(Stop(stage, now.state, now.request))

    with ExitStack() as stack:
        with _noting_refusal("kill", folder, how):
            now = _look_at_running(folder, "kill")
            process = stack.enter_context(_hold(folder))
            process.terminate()
        note("terminated")
        if not process.wait(seconds):
            process.kill()
            note("killed")
            if not process.wait(_KILL_SECONDS):
                raise CannotStop(
                    f"{show_place(folder)}: process {process.pid} was killed and is still there; "
                    "it may wait for a disk or a device. Ask the system's administrator."
                )
    ended = look_at_stop(folder)
    tell(ended)
    return ended


def show_place(folder: str) -> str:
    """The folder of a run for people; of a copy, the URL that it is the copy of."""
    return show_url(find_origin(folder))


def why_not_kill(folder: str) -> str:
    """Why the process of a run cannot be killed from here; empty where it can."""
    try:
        RunProcess(folder, read_aside(folder, HEARTBEAT)).close()
    except CannotStop as error:
        return str(error)
    return ""


@contextmanager
def _noting_refusal(action: str, folder: str, how: str) -> Iterator[None]:
    try:
        yield
    except RunfoldError as error:
        record_stop(action, folder, how=how, outcome="refused", why=str(error))
        raise


def _look_at_running(folder: str, verb: str) -> Stop:
    now = look_at_stop(folder)
    if now.is_over:
        raise CannotStop(
            f"{show_place(folder)}: {_tell_end(now.state)} There is nothing to {verb}."
        )
    return now


def _hold(folder: str) -> RunProcess:
    try:
        return RunProcess(folder, read_aside(folder, HEARTBEAT))
    except CannotStop as error:
        raise CannotStop(f"{show_place(folder)} cannot be killed from here. {error}") from None


def _ask(folder: str, reason: str, how: str) -> Stop:
    try:
        request = request_stop(folder, reason, how=how)
    except FileNotFoundError:
        raise LogdirNotFound(f"{show_place(folder)} is gone; nobody was asked to stop.") from None
    except CannotStore as error:
        raise CannotStop(f"{error} The run was not asked to stop.") from None
    except OSError as error:
        raise CannotStop(
            f"{show_place(folder)} cannot be written: {error.strerror or error}. The run was not "
            "asked to stop. Ask as somebody who may write there."
        ) from None
    return Stop("asked", "stopping", request, is_new=True)


def _await_end(folder: str, now: Stop, grace: float, tell: Callable[[Stop], object]) -> Stop:
    """Look until the run has ended or the time is over; each new stage is told."""
    deadline = time.monotonic() + grace
    while not now.is_over:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(left, _LOOK_SECONDS))
        found = look_at_stop(folder)
        if found.stage not in (now.stage, "running"):
            now = found
            tell(now)
    return now


def _tell_end(state: str) -> str:
    if state == "crashed":
        return "the run crashed: its process is gone, or nothing was heard of it for a minute."
    return f"the run does not run any more; it is {escape(state)}."
