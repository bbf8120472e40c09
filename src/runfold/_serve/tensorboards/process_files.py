"""Whether a process is still there, and the small files by which processes tell of themselves."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from runfold._files import read_small
from runfold._state import state_folder, write_private
from runfold._story.processes import started_at

# Next to the store: how to reach the server that acts on it.
SERVICE = "service.json"
# In the folder of an instance: what it printed, and that before the file grew too long.
LOG = "log.txt"
OLD_LOG = "log.old.txt"


class Detached(subprocess.Popen[bytes]):
    """A process that may go on without the one that started it, of which Python would warn."""

    def __del__(self) -> None:
        self.poll()


def empty_logdir() -> str:
    """The folder that the service shows, without any runs; its name is the title of the page."""
    return state_folder("tensorboards", "TensorBoards")


def is_process(pid: int | None, started: int | None) -> bool:
    """Whether that very process is still there."""
    return pid is not None and started is not None and started_at(pid) == started


def write_json(path: str, content: dict[str, Any]) -> None:
    """Write a file that only its owner can read, whole at any moment. Raises OSError."""
    write_private(path, json.dumps(content))


def read_json(path: str) -> dict[str, Any] | None:
    """What such a file holds, or None where there is none, or none that can be read."""
    try:
        content = json.loads(read_small(path))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
