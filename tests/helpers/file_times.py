"""Waits for the clock of a file system."""

import time
from pathlib import Path

from runfold._events import file_state


def settle(path: Path) -> None:
    """Wait until any later change of a file or folder certainly changes its times.

    A file is written next to `path` to read the clock.
    """
    start = time.time_ns()
    probe = path.with_name("probe")
    while True:
        probe.write_bytes(b"")
        if probe.stat().st_mtime_ns > start + 2 * file_state._TICK:
            return
        time.sleep(0.005)
