"""What was done to runs, experiments and instances, by whom and how: a log that only grows."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from runfold._files import read_small
from runfold._state import make_private, state_folder
from runfold._storage.local_paths import find_origin
from runfold._storage.url import is_url, mask_url
from runfold._story.processes import name_user
from runfold._system import O_BINARY, O_NOFOLLOW, O_NONBLOCK, host_name, lock_file
from runfold._warnings import warn_from_thread

# Two files of this size are kept: some ten thousand actions.
_LARGEST = 4 << 20


def record_action(
    action: str, target: str, *, how: str, outcome: str = "done", **more: Any
) -> None:
    """Note an action, by `command`, `page`, `api` or `python`; raises nothing.

    One line in `audit.jsonl` of the state folder, which only its owner can read. The copy of
    a run in a store stands there as the URL of that.
    """
    line = {
        "time": time.time(),
        "user": name_user(),
        "host": host_name(),
        "pid": os.getpid(),
        "action": action,
        "target": mask_url(find_origin(target)),
        "how": how,
        "outcome": outcome,
        **more,
    }
    try:
        _append(state_folder("audit.jsonl"), json.dumps(line, default=str).encode() + b"\n")
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        warn_from_thread(f"Cannot write the audit log: {reason}. This action is not recorded.")


def record_stop(action: str, folder: str, *, how: str, outcome: str, **more: Any) -> None:
    """Note a `stop` or `kill` of the run in a folder, or at a URL; raises nothing."""
    target = folder if is_url(folder) else os.path.abspath(folder)
    record_action(action, target, how=how, outcome=outcome, **more)


def read_actions(last: int = 100) -> list[dict[str, Any]]:
    """The last actions, the newest at the end; lines that say nothing readable are left out."""
    place = state_folder("audit.jsonl")
    found: list[dict[str, Any]] = []
    for path in (place + ".1", place):
        try:
            text = read_small(path, 2 * _LARGEST).decode("utf-8", "replace")
        except OSError:
            continue
        for line in text.split("\n")[-last - 1 :]:
            try:
                said = json.loads(line)
            except ValueError:  # cut off by a full disk
                continue
            found += [said] if isinstance(said, dict) else []
    return found[-last:]


def _append(place: str, line: bytes) -> None:
    make_private(os.path.dirname(place))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | O_BINARY | O_NOFOLLOW | O_NONBLOCK
    handle = os.open(place, flags, 0o600)
    try:
        lock_file(handle)
        os.write(handle, line)  # whole, whoever else writes
        status = os.fstat(handle)
        # Another may have put this file aside meanwhile; what is there now is a new one.
        if status.st_size > _LARGEST and os.path.samestat(status, os.stat(place)):
            os.replace(place, place + ".1")
    finally:
        os.close(handle)
