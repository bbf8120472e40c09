"""Start a command and print what it cost: `python -m benchmarks.launch COMMAND ...`.

It imports next to nothing, because Linux counts in the peak memory of a process
what the one that started it held at that moment.
"""

import json
import os
import sys
import time


def main(command: list[str]) -> int:
    """The exit status of the command, whose own output is dropped; its errors pass through."""
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
