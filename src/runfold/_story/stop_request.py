"""Control through the run's folder: a stop request is a file in it, and no port is opened."""

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
    """Ask the run of a folder to stop; its tracker sees it within seconds.

    Works from any machine that can write to the folder, and so does
    `touch FOLDER/.runfold/stop`. The folder may be the URL of a run in its storage,
    or the copy of one that was opened by its URL. What was asked is in the audit log,
    with `how`. Raises OSError where there is no such folder.
    """
    from runfold._story.audit_log import record_stop

    request = StopRequest(name_user(), host_name(), time.time(), reason)
    write_aside(find_origin(folder), STOP, asdict(request))
    record_stop("stop", folder, how=how, outcome="asked", reason=reason)
    return request


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
        self._file = os.path.join(folder, SIDE_FOLDER, STOP)
        self._pulse = Periodic(self._look, seconds, "runfold-control")

    @property
    def should_stop(self) -> bool:
        """Whether the run was asked to stop."""
        return self.request is not None

    def start(self) -> None:
        """Begin to watch."""
        # Not by its time: the clock of who wrote it may be another.
        with contextlib.suppress(OSError):
            remove_aside(self._folder, STOP)
        self._pulse.start()

    def stop(self) -> None:
        """Watch no longer; a request that comes later stays where it is."""
        self._pulse.stop()

    def _look(self) -> None:
        if not os.path.exists(self._file):
            return
        request = read_request(read_aside(self._folder, STOP))
        # By the clock of the run, as its start is told. A full disk keeps nobody from stopping.
        with contextlib.suppress(OSError):
            write_aside(self._folder, STOP_SEEN, {**asdict(request), "seen": time.time()})
        try:
            remove_aside(self._folder, STOP)
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
        self._pulse = Periodic(self._look, seconds, "runfold-relay")

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
        file = side_path(STOP)
        try:
            said = store.read(file)
        except Exception:  # none is there; of outages the uploader tells
            return
        place_aside(self._uploader.folder, STOP, said)
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
