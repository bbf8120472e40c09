"""Processes in which queries are answered, one at a time each, and kept for the next if they may.

To start one takes longer than most queries do: Python, Arrow and DuckDB are loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import weakref
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Process = subprocess.Popen[bytes]

_CODE = "from runfold._tables.sql.query_process import serve; serve()"
# One that waited longer than this is not used any more, and ...
FRESH_SECONDS = 30.0
# ... ends by itself after this: later, so that none ends while it is asked.
IDLE_SECONDS = 60.0
# One that has grown beyond this holds on to what an earlier query took.
_LARGEST = 200_000_000


class QueryWorkers:
    """At most so many processes that wait for a query; 0 for a new one each time."""

    def __init__(self, most: int = 0) -> None:
        # The one that waited least is at the end. A deque can be shared by threads.
        self._waiting: deque[tuple[float, Process]] = deque()
        self._most = most
        # Also where nobody closes it, at the latest when Python ends.
        weakref.finalize(self, _end_all, self._waiting)

    @contextmanager
    def hire(self) -> Iterator[Process]:
        """A process for one query; gone, or waiting for the next, when the block ends.

        It is kept only where the block ends well: whatever went wrong ends with it.
        """
        process = self._take() or _start()
        try:
            yield process
        except BaseException:
            _end(process)
            raise
        if len(self._waiting) < self._most and 0 < size_of(process) < _LARGEST:
            self._waiting.append((time.monotonic(), process))
        else:
            _end(process)

    def close(self) -> None:
        """End those that wait, and keep no more."""
        self._most = 0
        _end_all(self._waiting)

    def _take(self) -> Process | None:
        with suppress(IndexError):
            while True:
                since, process = self._waiting.pop()
                if time.monotonic() - since < FRESH_SECONDS and process.poll() is None:
                    return process
                _end(process)
        return None


def size_of(process: Process) -> int:
    """The bytes of memory that a process takes; 0 for one that is gone."""
    import psutil

    with suppress(psutil.Error):
        return int(psutil.Process(process.pid).memory_info().rss)
    return 0


def _start() -> Process:
    return subprocess.Popen(
        # -P: the folder that one is in may be a log of a stranger, with a duckdb.py.
        [sys.executable, "-P", "-c", _CODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def _end_all(waiting: deque[tuple[float, Process]]) -> None:
    while waiting:
        _end(waiting.pop()[1])


def _end(process: Process) -> None:
    process.kill()
    # What it did not take any more would be written when the pipe is closed.
    with suppress(BrokenPipeError):
        process.communicate()
