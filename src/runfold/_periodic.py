"""Background threads that call a function every few seconds."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from runfold._warnings import warn_from_thread

if TYPE_CHECKING:
    from collections.abc import Callable


class Periodic:
    """A daemon thread that calls a function immediately, and then every `seconds`.

    The first exception becomes a warning, later exceptions are ignored, and the calls
    continue. `stop` ends the thread without waiting for the next call. A forked child
    does not have the thread.
    """

    def __init__(self, function: Callable[[], object], seconds: float, name: str) -> None:
        self._function = function
        self._seconds = seconds
        self._name = name
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._has_warned = False

    def start(self) -> None:
        """Start the thread, unless it is running."""
        if self._thread is None:
            self._pid = os.getpid()
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread.

        Waits up to `timeout` seconds for a call in progress, unless that call itself calls `stop`.
        """
        # In a forked child, the event's lock may be held forever.
        if self._thread is None or self._pid != os.getpid():
            return
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _work(self) -> None:
        while True:
            try:
                self._function()
            except Exception as error:  # training continues, whatever the error is
                if not self._has_warned:
                    self._has_warned = True
                    warn_from_thread(
                        f"{self._name}: {type(error).__name__}: {error}. Training continues."
                    )
            if self._ended.wait(self._seconds):
                return
