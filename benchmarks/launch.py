"""Start a command and print its cost: `python -m benchmarks.launch COMMAND ...`.

This module imports next to nothing, because on Linux the peak memory of a process
includes the memory that its parent process was using when it was started.
"""

import json
import os
import sys
import time


def main(command: list[str]) -> int:
    """Return the exit status of the command; its output is discarded, its errors pass through."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - start
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    cost = {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "peak": peak, "growth": peak}
    print(json.dumps(cost))
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
