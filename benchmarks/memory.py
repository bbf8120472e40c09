"""The peak memory of a process."""

import re
import resource
import sys
from pathlib import Path


def peak_of(pid: int | None = None) -> int:
    """Return the peak resident memory of a process (default: this one), in bytes.

    On Linux, ru_maxrss includes the memory of the parent process at the start of
    this one; the kernel's process table does not.
    """
    try:
        status = Path(f"/proc/{pid or 'self'}/status").read_text()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF if pid is None else resource.RUSAGE_CHILDREN)
        return peak.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(match[1]) * 1024 if match else 0
