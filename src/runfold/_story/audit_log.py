"""An append-only log of actions on runs, experiments and instances, with user and origin."""

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

# The log is two files of up to this size: about ten thousand actions.
_LARGEST = 4 << 20


def record_action(
    action: str, target: str, *, how: str, outcome: str = "done", **more: Any
) -> None:
    """Record an action; `how` is `command`, `page`, `api` or `python`. Never raises.

    Appends one line to `audit.jsonl`, a file in the state folder that only its owner can read.
    For the local copy of a run in a store, the target is the URL of the run.
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
        warn_from_thread(f"Cannot write the audit log: {reason}. This action was not recorded.")


def record_stop(action: str, folder: str, *, how: str, outcome: str, **more: Any) -> None:
    """Record a `stop` or `kill` of the run in a folder or at a URL. Never raises."""
    target = folder if is_url(folder) else os.path.abspath(folder)
    record_action(action, target, how=how, outcome=outcome, **more)


def read_actions(last: int = 100) -> list[dict[str, Any]]:
    """Return the last actions, oldest first; unreadable lines are skipped."""
    path = state_folder("audit.jsonl")
    entries: list[dict[str, Any]] = []
    for log_file in (path + ".1", path):
        try:
            text = read_small(log_file, 2 * _LARGEST).decode("utf-8", "replace")
        except OSError:
            continue
        for line in text.split("\n")[-last - 1 :]:
            try:
                entry = json.loads(line)
            except ValueError:  # cut off by a full disk
                continue
            entries += [entry] if isinstance(entry, dict) else []
    return entries[-last:]


def _append(path: str, line: bytes) -> None:
    make_private(os.path.dirname(path))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | O_BINARY | O_NOFOLLOW | O_NONBLOCK
    handle = os.open(path, flags, 0o600)
    try:
        lock_file(handle)
        os.write(handle, line)  # a single write, so that lines from several processes do not mix
        status = os.fstat(handle)
        # Another process may have rotated the log, so the path may refer to a new file.
        if status.st_size > _LARGEST and os.path.samestat(status, os.stat(path)):
            os.replace(path, path + ".1")
    finally:
        os.close(handle)
