"""What tells processes apart, and the small files by which they tell of themselves."""

from __future__ import annotations

import json
import os
import secrets
from typing import Any


def started_at(pid: int) -> int | None:
    """A number that tells a process from all others that had its number; None where it has ended.

    It is when it was started, and on Linux also by which start of the machine.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program, in brackets, may hold anything.
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = int(file.read(5), 16)
        return None if fields[0] == b"Z" else boot << 40 | int(fields[19])
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
