"""The peak memory of a process."""

import re
import resource
import sys
from pathlib import Path


def peak_of(pid: int | None = None) -> int:
    """The peak resident memory of a process, by default this one, in bytes.

    Linux counts in ru_maxrss what the process that started this one held at
    that moment; the kernel's own table of the process does not.
    """
    try:
        status = Path(f"/proc/{pid or 'self'}/status").read_text()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF if pid is None else resource.RUSAGE_CHILDREN)
        return peak.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0
