"""Processes told apart: which one a run is, whether it is still there, and how it is ended."""

from __future__ import annotations

import contextlib
import getpass
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any

from runfold._conventions import HEARTBEAT, SIDE_FOLDER, is_event_file
from runfold._humanize import escape
from runfold._system import host_name
from runfold.errors import CannotStop

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

# Where the system has no handles of processes that one could wait for.
_POLL_SECONDS = 0.1


def describe_process() -> dict[str, Any]:
    """What tells this process from all others, of any machine and at any time."""
    pid = os.getpid()
    host = host_name()
    return {"pid": pid, "host": host, "pids": _name_pids(), "born": started_at(pid)}


def name_user() -> str:
    """Who runs this process: a name, or else a number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # in a container whose user has no name
        return str(os.getuid())


def is_gone(told: Mapping[str, Any]) -> bool:
    """Whether a process of this machine has ended; False where that cannot be known."""
    pid = told.get("pid")
    if not isinstance(pid, int) or pid <= 0 or told.get("pids") != _name_pids():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    born = told.get("born")
    # Another process may have got the number since.
    return isinstance(born, int) and started_at(pid) != born


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


class RunProcess:
    """The process that writes a run, of this machine, and no other.

    Whoever may write to the folder can forge its heartbeat. So the process must have
    been started when the heartbeat says, and must have an event file of the folder open
    for writing that belongs to the heartbeat's owner. From then on it is held by a
    handle, which stands for it alone, even after its number went to another process.
    """

    def __init__(self, folder: str, told: Mapping[str, Any]) -> None:
        """Take hold of it. Raises CannotStop where it cannot be ended from here, and says why."""
        self._handle: int | None = None
        pid, self._born = told.get("pid"), told.get("born")
        if told.get("pids") != _name_pids():
            raise CannotStop(_tell_elsewhere(told))
        if not isinstance(pid, int) or pid <= 0 or not isinstance(self._born, int):
            raise CannotStop("Its folder does not tell which process it is.")
        self.pid = pid
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError, OverflowError):
                self._handle = os.pidfd_open(pid)
        try:
            self._check(folder)
        except BaseException:
            self.close()
            raise

    def _check(self, folder: str) -> None:
        import psutil

        if not self.is_there():
            raise CannotStop(f"Its process {self.pid} is gone.")
        try:
            written = [one.path for one in psutil.Process(self.pid).open_files() if _writes(one)]
        except psutil.AccessDenied:
            raise CannotStop(f"Its process {self.pid} belongs to another user.") from None
        except psutil.Error:
            raise CannotStop(f"Its process {self.pid} is gone.") from None
        home = os.path.realpath(folder)
        events = [path for path in written if os.path.realpath(os.path.dirname(path)) == home]
        if not events:
            raise CannotStop(
                f"Process {self.pid}, named in the run's folder, has no event file of the run open "
                "for writing. It may be another program, and was left alone."
            )
        beat = os.path.join(folder, SIDE_FOLDER, HEARTBEAT)
        if not {_owner_of(beat)} & set(map(_owner_of, events)) - {None}:
            raise CannotStop(
                f"Another user than that of process {self.pid} wrote the heartbeat in the run's "
                "folder. It may be forged, and the process was left alone."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def is_there(self) -> bool:
        """Whether it has not ended."""
        return started_at(self.pid) == self._born

    def terminate(self) -> None:
        """Send SIGTERM, on which a tracked run says its last word. Raises CannotStop."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to it and all that it started, as the command of `runfold run`.

        Raises CannotStop.
        """
        import psutil

        children: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(self.pid).children(recursive=True)
        if not self.is_there():  # they may be those of another
            return
        self._send(signal.SIGKILL)
        for child in children:
            with contextlib.suppress(psutil.Error):
                child.kill()

    def wait(self, seconds: float) -> bool:
        """Whether it ended within so many seconds."""
        if self._handle is not None:
            poll = select.poll()
            poll.register(self._handle, select.POLLIN)
            return bool(poll.poll(max(0.0, seconds) * 1000))
        deadline = time.monotonic() + seconds
        while self.is_there():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _send(self, number: signal.Signals) -> None:
        try:
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, number)
            elif self.is_there():
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            raise CannotStop(f"Its process {self.pid} belongs to another user.") from None


def _writes(file: Any) -> bool:
    """Whether a process has an event file open for writing."""
    # Only Linux reports how a file was opened.
    flags = getattr(file, "flags", os.O_RDWR)
    return is_event_file(os.path.basename(file.path)) and flags & os.O_ACCMODE != os.O_RDONLY


def _owner_of(path: str) -> int | None:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


def _tell_elsewhere(told: Mapping[str, Any]) -> str:
    host = escape(str(told.get("host") or ""))
    if host == escape(host_name()):
        return f"It runs in another container of {host}."
    return f"It runs on {host}." if host else "Its folder does not tell where it runs."


def _name_pids() -> str:
    """Where a process id means the same process: a container may share only its host's name."""
    try:
        space = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        space = ""
    return f"{host_name()}/{space}"
