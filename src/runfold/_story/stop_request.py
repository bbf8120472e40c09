"""Stop requests, sent as a file in the run's folder, without opening a port."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from runfold._conventions import SIDE_FOLDER, STOP, STOP_SEEN, side_path
from runfold._periodic import Periodic
from runfold._storage.local_paths import find_origin
from runfold._story.processes import name_user
from runfold._story.side_files import place_aside, read_aside, remove_aside, write_aside
from runfold._story.stop_files import StopRequest, read_request
from runfold._system import host_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._storage.uploader import Uploader


def request_stop(folder: str, reason: str = "", *, how: str = "python") -> StopRequest:
    """Ask the run in a folder to stop; its tracker sees the request within seconds.

    Works from any machine that can write to the folder, like `touch FOLDER/.runfold/stop`. The
    folder can also be the URL of a run in its storage, or the local copy of a run opened by URL.
    The request and its origin `how` are recorded in the audit log. Raises OSError if the
    folder does not exist.
    """
    from runfold._story.audit_log import record_stop

    request = StopRequest(name_user(), host_name(), time.time(), reason)
    write_aside(find_origin(folder), STOP, asdict(request))
    record_stop("stop", folder, how=how, outcome="asked", reason=reason)
    return request


class Control:
    """Watches a run's folder for a stop request, and acts on the first one.

    Sets `should_stop`, and then calls `on_stop` with the request, in the watching thread. Without
    `on_stop`, raises KeyboardInterrupt in the main thread, as Ctrl-C does. The file is then
    renamed to `.runfold/stop.seen`. A request that already exists at the start was for
    an earlier run, and is removed.
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
        self._file = os.path.join(folder, SIDE_FOLDER, STOP)
        self._pulse = Periodic(self._look, seconds, "runfold-control")

    @property
    def should_stop(self) -> bool:
        """Whether the run has been asked to stop."""
        return self.request is not None

    def start(self) -> None:
        """Start watching."""
        # Remove any earlier request, whatever its time, because the sender's clock may differ.
        with contextlib.suppress(OSError):
            remove_aside(self._folder, STOP)
        self._pulse.start()

    def stop(self) -> None:
        """Stop watching; later requests are left in place."""
        self._pulse.stop()

    def _look(self) -> None:
        if not os.path.exists(self._file):
            return
        request = read_request(read_aside(self._folder, STOP))
        # `seen` is measured by the run's clock, as is its start time. A full disk must not prevent
        # the stop.
        with contextlib.suppress(OSError):
            write_aside(self._folder, STOP_SEEN, {**asdict(request), "seen": time.time()})
        try:
            remove_aside(self._folder, STOP)
        except FileNotFoundError:
            return  # withdrawn
        self.request = request
        self._pulse.stop()
        if self._on_stop is not None:
            self._on_stop(request)
        else:
            interrupt_main()


class Relay:
    """Copies a stop request from a run's storage to its folder, where Control sees it.

    The receipt appears in the storage too, because the folder is uploaded. The uploader removes
    requests for an earlier run before it uploads anything that identifies this one.
    """

    def __init__(self, uploader: Uploader, seconds: float = 2.0) -> None:
        self._uploader = uploader
        self._pulse = Periodic(self._look, seconds, "runfold-relay")

    def start(self) -> None:
        """Start watching."""
        self._pulse.start()

    def stop(self) -> None:
        """Stop watching, without waiting for a pending response from the store."""
        self._pulse.stop(timeout=0)

    def _look(self) -> None:
        store = self._uploader.store
        if store is None:
            return
        file = side_path(STOP)
        try:
            data = store.read(file)
        except Exception:  # there is no request; the uploader reports outages
            return
        place_aside(self._uploader.folder, STOP, data)
        with contextlib.suppress(Exception):
            store.delete(file)


def interrupt_main() -> None:
    """Interrupt the main thread as Ctrl-C does, usually with a KeyboardInterrupt."""
    main = threading.main_thread()
    if main.ident is None or not main.is_alive():
        return
    if callable(signal.getsignal(signal.SIGINT)):
        # A real signal, because it also interrupts a sleep or a wait.
        signal.pthread_kill(main.ident, signal.SIGINT)
        return
    # Shell scripts ignore SIGINT in commands started with `&`, so the signal would be lost.
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(main.ident), ctypes.py_object(KeyboardInterrupt)
    )
