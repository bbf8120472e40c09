"""Identification of a run's process: whether it is still running, and how to end it."""

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

# For systems without process handles.
_POLL_SECONDS = 0.1


def describe_process() -> dict[str, Any]:
    """Return a description that identifies this process across machines and reboots."""
    pid = os.getpid()
    host = host_name()
    return {"pid": pid, "host": host, "pids": _name_pids(), "born": started_at(pid)}


def name_user() -> str:
    """Return the user name of this process, or else the user id."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # in a container without a name for the user
        return str(os.getuid())


def is_gone(description: Mapping[str, Any]) -> bool:
    """Whether a process on this machine is known to have ended."""
    pid = description.get("pid")
    if not isinstance(pid, int) or pid <= 0 or description.get("pids") != _name_pids():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    born = description.get("born")
    # Another process may have the same id now.
    return isinstance(born, int) and started_at(pid) != born


def started_at(pid: int) -> int | None:
    """Return a number that distinguishes a process from other processes with the same id.

    The number encodes the start time and, on Linux, the boot. None means that the
    process has ended.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The program name, in brackets, can contain anything.
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
    """The process that writes a run, on this machine.

    Anyone who can write to the folder can forge its heartbeat. Therefore the process must have
    started at the time given in the heartbeat, and must have an event file open for writing that is
    in the folder and belongs to the heartbeat's owner. A handle then refers to this process only,
    even if the process id is reused.
    """

    def __init__(self, folder: str, description: Mapping[str, Any]) -> None:
        """Open a handle to the process. Raises CannotStop if it cannot be ended from here."""
        self._handle: int | None = None
        pid, self._born = description.get("pid"), description.get("born")
        if description.get("pids") != _name_pids():
            raise CannotStop(_describe_location(description))
        if not isinstance(pid, int) or pid <= 0 or not isinstance(self._born, int):
            raise CannotStop("The run's folder does not identify its process.")
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

        if not self.is_running():
            raise CannotStop(f"The run's process {self.pid} has ended.")
        try:
            files = psutil.Process(self.pid).open_files()
            written = [file.path for file in files if _writes(file)]
        except psutil.AccessDenied:
            raise CannotStop(f"The run's process {self.pid} belongs to another user.") from None
        except psutil.Error:
            raise CannotStop(f"The run's process {self.pid} has ended.") from None
        home = os.path.realpath(folder)
        events = [path for path in written if os.path.realpath(os.path.dirname(path)) == home]
        if not events:
            raise CannotStop(
                f"Process {self.pid}, named in the run's folder, has no event file of the run open "
                "for writing. It may be another program, so it was not stopped."
            )
        beat = os.path.join(folder, SIDE_FOLDER, HEARTBEAT)
        if not {_owner_of(beat)} & set(map(_owner_of, events)) - {None}:
            raise CannotStop(
                f"The heartbeat in the run's folder was not written by the user of process "
                f"{self.pid}. It may be forged, so the process was not stopped."
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
        """Close the handle."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def is_running(self) -> bool:
        """Whether the process is still running."""
        return started_at(self.pid) == self._born

    def terminate(self) -> None:
        """Send SIGTERM; a tracked run then records its end. Raises CannotStop."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to the process and its children, such as the command of `runfold run`.

        Raises CannotStop.
        """
        import psutil

        children: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(self.pid).children(recursive=True)
        if not self.is_running():  # else they may be the children of another process
            return
        self._send(signal.SIGKILL)
        for child in children:
            with contextlib.suppress(psutil.Error):
                child.kill()

    def wait(self, seconds: float) -> bool:
        """Wait up to this many seconds; return whether the process ended."""
        if self._handle is not None:
            poll = select.poll()
            poll.register(self._handle, select.POLLIN)
            return bool(poll.poll(max(0.0, seconds) * 1000))
        deadline = time.monotonic() + seconds
        while self.is_running():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _send(self, number: signal.Signals) -> None:
        try:
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, number)
            elif self.is_running():
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            raise CannotStop(f"The run's process {self.pid} belongs to another user.") from None


def _writes(file: Any) -> bool:
    """Whether a file that a process has open is an event file, open for writing."""
    # Only Linux reports how a file was opened.
    flags = getattr(file, "flags", os.O_RDWR)
    return is_event_file(os.path.basename(file.path)) and flags & os.O_ACCMODE != os.O_RDONLY


def _owner_of(path: str) -> int | None:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


def _describe_location(description: Mapping[str, Any]) -> str:
    host = escape(str(description.get("host") or ""))
    if host == escape(host_name()):
        return f"The run is in another container on {host}."
    return (
        f"The run is on {host}."
        if host
        else "The run's folder does not record which machine the run is on."
    )


def _name_pids() -> str:
    """Return the scope of process ids: the host, and the container if any."""
    try:
        space = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        space = ""
    return f"{host_name()}/{space}"
