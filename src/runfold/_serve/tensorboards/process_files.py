"""Small files in which processes describe themselves, and a check that a process is alive."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from typing import Any

from runfold._files import read_small
from runfold._state import state_folder, write_private
from runfold._story.processes import started_at

# A file next to the store, with the URLs and token of the active server.
SERVICE = "service.json"
# Files in an instance's folder: its current output, and earlier output after a rotation.
LOG = "log.txt"
OLD_LOG = "log.old.txt"


@dataclass(frozen=True, slots=True)
class Address:
    """Where an instance listens.

    With a certificate, the connection is encrypted, and the instance must have that certificate.
    Without one, the instance must be on this machine, because its key is sent as plain text;
    raises ValueError otherwise. `node` describes the node of a cluster that it runs on.
    """

    port: int
    host: str = "127.0.0.1"
    certificate: str = ""
    node: str = ""

    def __post_init__(self) -> None:
        if not self.certificate and self.host != "127.0.0.1":
            raise ValueError(f"the connection to {self.host} must be encrypted")


def write_address(path: str, address: Address, pid: int) -> None:
    """Write the address at which a process listens. Raises OSError."""
    write_json(path, {"pid": pid, **asdict(address)})


def read_address(path: str, pid: int) -> Address | None:
    """Return the address that a process has written; None if it has not written one yet."""
    content = read_json(path)
    if content is None or content.pop("pid", None) != pid:
        return None
    return Address(**content)


class Detached(subprocess.Popen[bytes]):
    """A process that can outlive the one that started it, without Python's warning."""

    def __del__(self) -> None:
        self.poll()


def empty_logdir() -> str:
    """Return the empty folder that the service shows; its name is the page's title."""
    return state_folder("tensorboards", "TensorBoards")


def is_process(pid: int | None, started: int | None) -> bool:
    """Whether the process with this pid and start time is still alive."""
    return pid is not None and started is not None and started_at(pid) == started


def write_json(path: str, content: dict[str, Any]) -> None:
    """Write a private file atomically. Raises OSError."""
    write_private(path, json.dumps(content))


def read_json(path: str) -> dict[str, Any] | None:
    """Return a file's content, or None if it is missing or unreadable."""
    try:
        content = json.loads(read_small(path))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
