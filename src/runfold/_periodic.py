"""Threads that do something small every few seconds, while training goes on."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from typing import TYPE_CHECKING

from runfold._humanize import escape

if TYPE_CHECKING:
    from collections.abc import Callable


class Pulse:
    """A daemon thread that calls a function at once and then every so many seconds.

    An error in it is warned of once and reaches nobody else; the next call is
    made all the same. `stop` ends it without waiting for the next beat. The child
    of a fork has no such thread.
    """

    def __init__(self, beat: Callable[[], object], seconds: float, name: str) -> None:
        self._beat = beat
        self._seconds = seconds
        self._name = name
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._is_told = False

    def start(self) -> None:
        """Begin to beat; once more does nothing."""
        if self._thread is None:
            self._pid = os.getpid()
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread, waiting for a beat under way, but not for ever; also from a beat."""
        # In the child of a fork another thread may have held the event's lock for ever.
        if self._thread is None or self._pid != os.getpid():
            return
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _work(self) -> None:
        while True:
            try:
                self._beat()
            except Exception as error:  # whatever it is, training goes on
                if not self._is_told:
                    self._is_told = True
                    warn(f"{self._name}: {type(error).__name__}: {error}. Training goes on.")
            if self._ended.wait(self._seconds):
                return


def warn(message: str, limit: int = 500) -> None:
    """Warn from a thread, where a warning that is made an error would help nobody."""
    with contextlib.suppress(Warning):
        warnings.warn(escape(message, limit), stacklevel=3)
