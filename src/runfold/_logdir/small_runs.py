"""Reads many runs, each with a single small file, with few calls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from runfold._core.small_files import read_small_files
from runfold._core.whole_files import decode_whole_files
from runfold._events.event_file import EventFile
from runfold._events.file_state import FileState

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._core.tag_table import Tags
    from runfold._logdir.run_log import RunLog

# As in `bulk_read`.
_BUFFER_SIZE = 1 << 20
# Larger files gain nothing.
_MOST_BYTES = 64 << 10
# The number of files per call.
_MOST_FILES = 512


class SmallRuns:
    """Reads runs for the first time, if each has a single small file.

    The result is the same as that of a `Reader`, which must read all other runs.
    """

    def __init__(self, advance: Callable[[int], object]) -> None:
        # Called after each call with the number of bytes read.
        self._advance = advance
        self._buffer = bytearray(_BUFFER_SIZE)
        self._known_tags: dict[bytes, Tags] = {}

    def read(self, logs: list[RunLog]) -> list[RunLog]:
        """Read and settle runs; return those that a `Reader` must read."""
        others = []
        paths: list[str] = []
        small: list[RunLog] = []
        for log in logs:
            path = log.untouched_path
            if path is None:
                others.append(log)
            else:
                small.append(log)
                paths.append(path)
        start = 0
        while start < len(small):
            end = start + _MOST_FILES
            count = self._read(small[start:end], paths[start:end], others)
            start += count
        return others

    def _read(self, logs: list[RunLog], paths: list[str], others: list[RunLog]) -> int:
        # Before the state of any of these files is read.
        now = time.time_ns()
        states = read_small_files(paths, self._buffer, _MOST_BYTES)
        contents = iter(
            decode_whole_files(
                self._buffer, [state[0] for state in states if state], self._known_tags
            )
        )
        size = 0
        for log, path, state in zip(logs, paths, states, strict=False):
            if state is not None:
                size += state[0]
                file = EventFile.of_content(path, FileState.of_small(state, now), next(contents))
                if log.adopt(file):
                    continue
            others.append(log)
        self._advance(size)
        return len(states)
