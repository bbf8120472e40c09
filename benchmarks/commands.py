"""The time for `import runfold` and `runfold ls`, and the packages that they import."""

import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import COMPILED, ENVIRONMENT, ROOT, Undone

# Folding and logging do not need these; pandas alone takes half a second to import.
HEAVY = ("PIL", "jax", "matplotlib", "pandas", "scipy", "tensorboard", "tensorflow", "torch")
_IMPORT = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def import_seconds(statement: str, repeat: int) -> float:
    """Return the median time of an import in a new process, excluding the interpreter's start."""
    command = [sys.executable, "-c", _IMPORT.format(statement)]

    def once() -> float:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=ROOT, env=COMPILED
        )
        return float(done.stdout)

    return _median(once, repeat)


def ls_seconds(logdir: Path, repeat: int) -> float | None:
    """Return the median time of `runfold ls`, from start to end, or None without that command."""
    if importlib.util.find_spec("runfold._cli") is None:
        return None
    code = "from runfold._cli import main; main()"
    command = [sys.executable, "-c", code, "ls", str(logdir)]

    def once() -> float:
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=COMPILED)
        return time.perf_counter() - start

    return _median(once, repeat)


def heavy_imports(*arguments: str) -> list[str]:
    """Return the heavy packages that a command imports. Raises Undone if it fails."""
    return _heavy_imports("-m", "runfold", *arguments)


def imports_of(statement: str) -> list[str]:
    """Return the heavy packages that a statement imports. Raises Undone if it fails."""
    return _heavy_imports("-c", statement)


def _heavy_imports(*arguments: str) -> list[str]:
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT)
    lines = done.stderr.splitlines()
    if done.returncode:
        raise Undone(next((line for line in lines[::-1] if not line.startswith("import ")), ""))
    # For example "import time:       100 |        200 |   pandas.core".
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    return [name for name in HEAVY if name in imported]


def imports_of_reduce(logdir: Path) -> dict[str, list[str]]:
    """Return the heavy packages that `runfold reduce` imports, by output format."""
    runs = sorted(str(run) for run in logdir.iterdir())
    with tempfile.TemporaryDirectory() as folder:
        return {
            kind: heavy_imports("reduce", *runs, "-o", f"{folder}/{out}", "-r", "mean,std,min,max")
            for kind, out in (("event files", "events/"), ("CSV", "out.csv"))
        }


def _median(once: Callable[[], float], repeat: int) -> float:
    once()  # compiles new modules and loads the files into memory
    return statistics.median(once() for _ in range(repeat))
