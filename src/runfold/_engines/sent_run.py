"""A run on its way to another process, which continues from what was read here."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from runfold._logdir.discover import FoundRun
from runfold._logdir.run_log import RunLog
from runfold._logdir.run_state import RunState, restore_state, save_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runfold._events.opened_file import Opener
    from runfold._logdir.point_cache import PointCache

# The same on all processes that share a kernel, whose numbers of devices are comparable.
_BOOT = "/proc/sys/kernel/random/boot_id"


class SentRun(NamedTuple):
    """A run that has been read, with its parts. It can be pickled."""

    name: str
    path: str
    config: str | None
    restarts: str
    state: RunState
    opener: Opener | None
    parts: list[SentRun]


def send_runs(logs: Sequence[RunLog]) -> list[SentRun]:
    """Return runs for another process."""
    openers = share_openers([own for log in logs for own in (log, *log.parts)])
    return [_send(log, openers) for log in logs]


def _send(log: RunLog, openers: Mapping[int, Opener]) -> SentRun:
    parts = [_send(part, openers) for part in log.parts]
    opener = openers.get(id(log.opener))
    return SentRun(log.name, log.path, log.config, log.restarts, save_state(log), opener, parts)


def find_runs(logs: Sequence[RunLog]) -> list[FoundRun]:
    """Return the files of runs that have not been read, for another process."""
    openers = share_openers(logs)
    return [
        FoundRun(
            log.name,
            log.path,
            [path for path, _ in log.positions],
            log.config,
            openers.get(id(log.opener)),
        )
        for log in logs
    ]


def share_openers(logs: Sequence[RunLog]) -> dict[int, Opener]:
    """Return, for each opener of these runs by its id, one for only the files of these runs.

    Runs that are pickled together share it, and with it the connection to the store.
    """
    openers: dict[int, tuple[Opener, list[str]]] = {}
    for log in logs:
        if log.opener is not None:
            paths = openers.setdefault(id(log.opener), (log.opener, []))[1]
            paths += [path for path, _ in log.positions]
    return {number: opener.only(paths) for number, (opener, paths) in openers.items()}


def receive_run(sent: SentRun, points: PointCache, machine: str) -> RunLog:
    """Return a run that was sent from a machine; its points are decoded into a cache."""
    files = [file.path for file in sent.state.files]
    run = FoundRun(sent.name, sent.path, files, sent.config, sent.opener)
    log = RunLog(run, sent.restarts, cache=points)
    restore_state(log, adopt_state(sent.state, machine))
    log.join([receive_run(part, points, machine) for part in sent.parts])
    return log


def adopt_state(state: RunState, machine: str) -> RunState:
    """Return the state of a run that was read on a machine, as if it had been read here.

    The same disk has a different number on each machine. A file's number on the disk, which is the
    same everywhere, still shows that a file was replaced.
    """
    if machine == this_machine():
        return state
    files = []
    for file in state.files:
        own = file.state
        # A file in a store has no device.
        if own is not None and own.device:
            with suppress(OSError):
                own = own._replace(device=os.stat(file.path).st_dev)
        files.append(file._replace(state=own))
    return state._replace(files=files)


@cache
def this_machine() -> str:
    """Return a text that is different on each machine."""
    try:
        with open(_BOOT) as file:
            return file.read().strip()
    except OSError:
        import uuid

        return f"{uuid.getnode():x}"
