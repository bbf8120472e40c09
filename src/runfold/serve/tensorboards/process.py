"""What tells processes apart, and the small files by which they tell of themselves."""

from __future__ import annotations

import json
import os
import secrets
from typing import Any


def started_at(pid: int) -> int | None:
    """When a process was started, in the system's own ticks; None where there is none.

    With the number of the process it names one process among all since the machine was started.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program, in brackets, may hold anything.
            fields = file.read().rpartition(b")")[2].split()
        return None if fields[0] == b"Z" else int(fields[19])
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return None
    except (OSError, IndexError, ValueError):
        return None
    import psutil

    try:
        return int(psutil.Process(pid).create_time() * 1000)
    except psutil.Error:
        return None


def is_process(pid: int | None, started: int | None) -> bool:
    """Whether that very process is still there."""
    return pid is not None and started is not None and started_at(pid) == started


def write_json(path: str, content: dict[str, Any]) -> None:
    """Write a file that only its owner can read, whole at any moment. Raises OSError."""
    draft = f"{path}.{secrets.token_hex(4)}"
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(content, file)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def read_json(path: str) -> dict[str, Any] | None:
    """What such a file holds, or None where there is none, or none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
