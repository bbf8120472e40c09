"""Code shared by all fuzz targets: instrumented imports and the main loop.

The loop comes from atheris, which keeps an input if it takes a new branch. If
atheris is not available (it needs Linux and a supported Python version), inputs are
changed at random instead. That finds fewer errors, but runs the same targets.
"""

import contextlib
import random
import sys
from collections.abc import Callable
from pathlib import Path

try:
    import atheris  # type: ignore[import-untyped]
except ImportError:
    atheris = None


def instrumented() -> contextlib.AbstractContextManager[object]:
    """Return a context manager in which imports of the package report their branches."""
    if atheris is None:
        return contextlib.nullcontext()
    manager: contextlib.AbstractContextManager[object] = atheris.instrument_imports(
        include=["runfold"]
    )
    return manager


def run(target: Callable[[bytes], None]) -> None:
    """Call `target` with one input after another, as the command line specifies.

    The command line accepts libFuzzer's options, such as -max_total_time=60, and a folder
    of initial inputs. Exits with a non-zero status at the first input that raises an
    exception or crashes.
    """
    if atheris is None:
        _change_at_random(target, sys.argv[1:])
    else:
        atheris.Setup(sys.argv, target)
        atheris.Fuzz()


def _change_at_random(target: Callable[[bytes], None], arguments: list[str]) -> None:
    print("atheris is not installed: inputs are changed at random, without guidance.")
    options = dict(argument.split("=") for argument in arguments if argument.startswith("-"))
    folders = [Path(argument) for argument in arguments if not argument.startswith("-")]
    seeds = [path.read_bytes() for folder in folders for path in sorted(folder.iterdir())] or [b""]
    chance = random.Random(int(options.get("-seed", "1")))
    count = int(options.get("-atheris_runs", "10000"))
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        target(bytes(data))
    print(f"Done {count} runs")
