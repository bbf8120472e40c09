"""How long a user waits for `import runfold` and for `runfold ls`."""

import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import ROOT

_IMPORT = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def import_seconds(statement: str, repeat: int) -> float:
    """The median time of an import in a new process, without the interpreter's own start."""
    command = [sys.executable, "-c", _IMPORT.format(statement)]

    def once() -> float:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        return float(done.stdout)

    return _median(once, repeat)


def ls_seconds(logdir: Path, repeat: int) -> float | None:
    """The median time of `runfold ls`, from start to end; None where there is no such command."""
    if importlib.util.find_spec("runfold.cli") is None:
        return None
    code = "from runfold.cli import main; main()"
    command = [sys.executable, "-c", code, "ls", str(logdir)]

    def once() -> float:
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True, cwd=ROOT)
        return time.perf_counter() - start

    return _median(once, repeat)


def _median(once: Callable[[], float], repeat: int) -> float:
    once()  # Python compiles what is new, and the files come into memory.
    return statistics.median(once() for _ in range(repeat))
