"""Stopping a run: request it through the run's folder, wait, and end the process if necessary.

Every action and refusal is recorded in the audit log. The stages are:

    asked        the request is in the run's folder
    seen         the run's tracker has seen it
    terminated   its process was sent SIGTERM
    killed       its process was sent SIGKILL
    ended        the run has recorded its end, or its process has ended
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runfold._conventions import HEARTBEAT, SIDE_FOLDER
from runfold._humanize import escape
from runfold._storage.local_paths import find_origin, is_folder, locate_run, refresh_copy
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
# Time limit for the system to remove a killed process.
_KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Stop:
    """The stage of a stop, the run's state, and the request.

    `is_new` is True if this call sent the request, and False if an earlier call did.
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
    """Return the stop of the run in a folder; its stage is "running" if there is no request.

    Raises LogdirNotFound if the folder does not exist, and CannotStop if its run was not tracked.
    """
    refresh_copy(folder)
    now = _look(folder)
    # The process may have ended just after it recorded its end, and the copy may lack this record.
    return _look(folder) if now.state == "crashed" and refresh_copy(folder, 0) else now


def _look(folder: str) -> Stop:
    beat = read_aside(folder, HEARTBEAT)
    if not beat:
        if not is_folder(folder):
            raise LogdirNotFound(f"{show_place(folder)} is not a folder; there is no run to stop.")
        heartbeat = os.path.join(folder, SIDE_FOLDER, HEARTBEAT)
        if os.path.lexists(heartbeat):
            raise CannotStop(
                f"{show_place(heartbeat)}: the heartbeat of this run cannot be read, so the run "
                "cannot be stopped. Run `runfold check` for details."
            )
        raise CannotStop(
            f"{show_place(folder)}: this run was not tracked, so it cannot be stopped. "
            "Log it with rf.track or `runfold run`."
        )
    state = read_status([beat], folder, time.time()).state
    sent = find_request(folder, as_float(beat.get("started")))
    request = None if sent is None else sent.request
    if state not in ALIVE:
        return Stop("ended", state, request)
    if sent is None:
        return Stop("running", state)
    return Stop("asked" if sent.seen is None else "seen", state, request)


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
    """Ask the run in a folder to stop, wait until it ends, and return its stage.

    A run that has already been asked to stop is not asked again. If the run is still running after
    the grace period, no exception is raised; the stage shows this.

    Args:
        folder: the run's folder, or its URL in a store.
        reason: the reason, for the run's log.
        grace: number of seconds to wait for the end.
        kill: end the process after the grace period, with SIGTERM and then SIGKILL. The process
            must be on this machine, and is verified to be the run's.
        wait: False returns as soon as the request is sent.
        how: the origin of the request, for the audit log.
        on_stage: called with each stage when it is reached.

    Raises:
        CannotStop: the run is not running, or cannot be stopped or killed from here.
        LogdirNotFound: the folder does not exist.
    """
    report = on_stage or (lambda _: None)
    with _recording_refusal("stop", os.fsdecode(folder), how):
        path = locate_run(folder)
        now = _look_at_running(path, "stop")
        if kill:
            _open_process(path).close()  # report at once if the process cannot be killed
        if now.stage == "running":
            now = _send_request(path, reason, how)
    report(now)
    if not wait:
        return now
    now = _await_end(path, now, grace, report)
    if kill and not now.is_over:
        now = kill_run(path, reason=reason, how=how, on_stage=on_stage)
    return now


def kill_run(
    folder: str,
    *,
    reason: str = "",
    seconds: float = _TERM_SECONDS,
    how: str = "python",
    on_stage: Callable[[Stop], object] | None = None,
) -> Stop:
    """End the process of a run on this machine: send SIGTERM, then SIGKILL after `seconds`.

    SIGKILL also ends the process's children. `reason` and `how` are for the audit log; the
    default reason is that of the stop request. Raises CannotStop if the process is not certain
    to be the run's, or is not running.
    """
    report = on_stage or (lambda _: None)

    def note(stage: Literal["terminated", "killed"]) -> None:
        why = reason or (now.request.reason if now.request else "")
        record_stop("kill", folder, how=how, outcome=stage, reason=why)
        report(Stop(stage, now.state, now.request))

    with ExitStack() as stack:
        with _recording_refusal("kill", folder, how):
            now = _look_at_running(folder, "kill")
            process = stack.enter_context(_open_process(folder))
            process.terminate()
        note("terminated")
        if not process.wait(seconds):
            process.kill()
            note("killed")
            if not process.wait(_KILL_SECONDS):
                raise CannotStop(
                    f"{show_place(folder)}: process {process.pid} was killed but still exists; "
                    "it may be waiting for a disk or a device. Ask the system administrator."
                )
    ended = look_at_stop(folder)
    report(ended)
    return ended


def show_place(folder: str) -> str:
    """Return a run's folder as shown in messages: for a local copy, the URL."""
    return show_url(find_origin(folder))


def why_not_kill(folder: str) -> str:
    """Return the reason why a run's process cannot be killed from here; "" if it can."""
    try:
        RunProcess(folder, read_aside(folder, HEARTBEAT)).close()
    except CannotStop as error:
        return str(error)
    return ""


@contextmanager
def _recording_refusal(action: str, folder: str, how: str) -> Iterator[None]:
    try:
        yield
    except RunfoldError as error:
        record_stop(action, folder, how=how, outcome="refused", why=str(error))
        raise


def _look_at_running(folder: str, verb: str) -> Stop:
    now = look_at_stop(folder)
    if now.is_over:
        raise CannotStop(
            f"{show_place(folder)}: {_describe_end(now.state)} There is nothing to {verb}."
        )
    return now


def _open_process(folder: str) -> RunProcess:
    try:
        return RunProcess(folder, read_aside(folder, HEARTBEAT))
    except CannotStop as error:
        raise CannotStop(f"{show_place(folder)} cannot be killed from here. {error}") from None


def _send_request(folder: str, reason: str, how: str) -> Stop:
    try:
        request = request_stop(folder, reason, how=how)
    except FileNotFoundError:
        raise LogdirNotFound(
            f"{show_place(folder)} no longer exists; no run was asked to stop."
        ) from None
    except CannotStore as error:
        raise CannotStop(f"{error} The run was not asked to stop.") from None
    except OSError as error:
        raise CannotStop(
            f"{show_place(folder)} cannot be written to: {error.strerror or error}. The run was "
            "not asked to stop. Try again as a user with write permission."
        ) from None
    return Stop("asked", "stopping", request, is_new=True)


def _await_end(folder: str, now: Stop, grace: float, report: Callable[[Stop], object]) -> Stop:
    """Poll until the run has ended or time is up, and report each new stage."""
    deadline = time.monotonic() + grace
    while not now.is_over:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(left, _LOOK_SECONDS))
        latest = look_at_stop(folder)
        if latest.stage not in (now.stage, "running"):
            now = latest
            report(now)
    return now


def _describe_end(state: str) -> str:
    if state == "crashed":
        return "the run crashed: its process has ended, or its heartbeat is over a minute old."
    return f"the run is no longer running; its state is {escape(state)}."
