"""Control through the run's folder: a stop request is a file in it, and no port is opened."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from runfold.log.aside import (
    SIDE_FOLDER,
    as_float,
    place_aside,
    read_aside,
    remove_aside,
    write_aside,
)
from runfold.log.pulse import Pulse
from runfold.storage.places import find_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runfold.storage.upload import Uploader

_STOP = "stop"
_SEEN = "stop.seen"


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Who asked a run to stop, when (seconds since 1970) and why; empty where nobody said."""

    who: str = ""
    host: str = ""
    when: float | None = None
    reason: str = ""


def request_stop(folder: str, reason: str = "", *, how: str = "python") -> StopRequest:
    """Ask the run of a folder to stop; its tracker sees it within seconds.

    Works from any machine that can write to the folder, and so does
    `touch FOLDER/.runfold/stop`. The folder may be the URL of a run in its storage,
    or the copy of one that was opened by its URL. What was asked is in the audit log,
    with `how`. Raises OSError where there is no such folder.
    """
    from runfold.log.audit import record_stop
    from runfold.log.environment import name_user

    request = StopRequest(name_user(), os.uname().nodename, time.time(), reason)
    write_aside(find_origin(folder), _STOP, asdict(request))
    record_stop("stop", folder, how=how, outcome="asked", reason=reason)
    return request


class Heard(NamedTuple):
    """A request that a run was sent, and when the run saw it; None where it did not yet."""

    request: StopRequest
    seen: float | None


def find_request(folder: str, started: float | None) -> Heard | None:
    """What the run of a folder, which began at that time, was asked; None where nothing was.

    One that an earlier run of the same folder saw does not count.
    """
    told = read_aside(folder, _SEEN)
    seen = as_float(told.get("seen"))
    if seen is not None and started is not None and seen >= started:
        return Heard(_read_request(told), seen)
    if os.path.exists(os.path.join(folder, SIDE_FOLDER, _STOP)):
        return Heard(_read_request(read_aside(folder, _STOP)), None)
    return None


class Control:
    """Watches a run's folder for a stop request, and acts on the first.

    `should_stop` becomes true; then `on_stop` is called with the request, in the
    watching thread, or, without one, KeyboardInterrupt is raised in the main thread
    as by Ctrl-C. The file then is `.runfold/stop.seen`. A request that is there
    before the start was meant for an earlier run, and is removed.
    """

    def __init__(
        self,
        folder: str,
        on_stop: Callable[[StopRequest], object] | None = None,
        seconds: float = 1.0,
    ) -> None:
        self.request: StopRequest | None = None
        self._on_stop = on_stop
        self._folder = folder
        self._file = os.path.join(folder, SIDE_FOLDER, _STOP)
        self._pulse = Pulse(self._look, seconds, "runfold-control")

    @property
    def should_stop(self) -> bool:
        """Whether the run was asked to stop."""
        return self.request is not None

    def start(self) -> None:
        """Begin to watch."""
        # Not by its time: the clock of who wrote it may be another.
        with contextlib.suppress(OSError):
            remove_aside(self._folder, _STOP)
        self._pulse.start()

    def stop(self) -> None:
        """Watch no longer; a request that comes later stays where it is."""
        self._pulse.stop()

    def _look(self) -> None:
        if not os.path.exists(self._file):
            return
        request = _read_request(read_aside(self._folder, _STOP))
        # By the clock of the run, as its start is told. A full disk keeps nobody from stopping.
        with contextlib.suppress(OSError):
            write_aside(self._folder, _SEEN, {**asdict(request), "seen": time.time()})
        try:
            remove_aside(self._folder, _STOP)
        except FileNotFoundError:
            return  # taken back
        self.request = request
        self._pulse.stop()
        if self._on_stop is not None:
            self._on_stop(request)
        else:
            interrupt_main()


class Relay:
    """Brings a stop request from a run's storage into its folder, where Control sees it.

    That the run saw it is then in the storage as well, for the folder is uploaded. One
    that was meant for an earlier run is gone: the uploader removes it before it sends
    anything by which this run could be known.
    """

    def __init__(self, uploader: Uploader, seconds: float = 2.0) -> None:
        self._uploader = uploader
        self._pulse = Pulse(self._look, seconds, "runfold-relay")

    def start(self) -> None:
        """Begin to look."""
        self._pulse.start()

    def stop(self) -> None:
        """Look no longer. Whoever waits for an answer of the store is not waited for."""
        self._pulse.stop(timeout=0)

    def _look(self) -> None:
        store = self._uploader.store
        if store is None:
            return
        file = f"{SIDE_FOLDER}/{_STOP}"
        try:
            said = store.read(file)
        except Exception:  # none is there; of outages the uploader tells
            return
        place_aside(self._uploader.folder, _STOP, said)
        with contextlib.suppress(Exception):
            store.delete(file)


def interrupt_main() -> None:
    """Raise KeyboardInterrupt in the main thread, or do what else Ctrl-C does there."""
    main = threading.main_thread()
    if main.ident is None or not main.is_alive():
        return
    if callable(signal.getsignal(signal.SIGINT)):
        # A real signal, because it also ends a sleep or a wait.
        signal.pthread_kill(main.ident, signal.SIGINT)
        return
    # A shell script ignores SIGINT for what it starts with `&`; the signal would be lost.
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(main.ident), ctypes.py_object(KeyboardInterrupt)
    )


def _read_request(found: Mapping[str, Any]) -> StopRequest:
    """What a request says; a file that says nothing readable is a request all the same."""
    who, host, reason = (str(found.get(name, "")) for name in ("who", "host", "reason"))
    return StopRequest(who, host, as_float(found.get("when")), reason)
