"""A pool of processes that run one query at a time.

Processes are reused because starting one (Python, Arrow and DuckDB) takes longer than most
queries.
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
# A process that has been idle for longer than this is not used again ...
FRESH_SECONDS = 30.0
# ... and exits after this time, which is longer, so that no process exits while it gets a query.
IDLE_SECONDS = 60.0
# A process that uses more memory than this has kept data from an earlier query.
_LARGEST = 200_000_000


class QueryWorkers:
    """Pool of up to `most` idle query processes; 0 starts a new one for each query."""

    def __init__(self, most: int = 0) -> None:
        # The most recently used process is last. A deque is thread-safe.
        self._idle: deque[tuple[float, Process]] = deque()
        self._most = most
        # End the processes even if the pool is never closed.
        weakref.finalize(self, _kill_all, self._idle)

    @contextmanager
    def borrow(self) -> Iterator[Process]:
        """Yield a process for one query, then return it to the pool or kill it.

        The process returns to the pool only if the block raises nothing.
        """
        process = self._take() or _start()
        try:
            yield process
        except BaseException:
            _kill(process)
            raise
        if len(self._idle) < self._most and 0 < size_of(process) < _LARGEST:
            self._idle.append((time.monotonic(), process))
        else:
            _kill(process)

    def close(self) -> None:
        """Kill the idle processes, and keep none from now on."""
        self._most = 0
        _kill_all(self._idle)

    def _take(self) -> Process | None:
        with suppress(IndexError):
            while True:
                since, process = self._idle.pop()
                if time.monotonic() - since < FRESH_SECONDS and process.poll() is None:
                    return process
                _kill(process)
        return None


def size_of(process: Process) -> int:
    """Return a process's memory use in bytes; 0 if it has exited."""
    import psutil

    with suppress(psutil.Error):
        return int(psutil.Process(process.pid).memory_info().rss)
    return 0


def _start() -> Process:
    return subprocess.Popen(
        # -P: the working directory can be an untrusted log that contains a duckdb.py.
        [sys.executable, "-P", "-c", _CODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def _kill_all(idle: deque[tuple[float, Process]]) -> None:
    while idle:
        _kill(idle.pop()[1])


def _kill(process: Process) -> None:
    process.kill()
    # Closing the pipe flushes data that the process has not read.
    with suppress(BrokenPipeError):
        process.communicate()
