"""What all fuzz targets share: imports that tell of their branches, and the loop.

The loop is atheris's, which keeps an input when it takes a branch that none took
before. Where atheris does not run (it needs Linux and a Python it was built for),
inputs are changed at random instead; that finds less, but runs the same targets.
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
    """A block in which imports of the package are made to report their branches."""
    if atheris is None:
        return contextlib.nullcontext()
    manager: contextlib.AbstractContextManager[object] = atheris.instrument_imports(
        include=["runfold"]
    )
    return manager


def run(target: Callable[[bytes], None]) -> None:
    """Call `target` with input after input, by the options of the command line.

    The options are libFuzzer's, such as -max_total_time=60, and a folder of
    inputs to start from. Returns by an exit status that is not 0 at the first
    input that raises or crashes.
    """
    if atheris is None:
        _change_at_random(target, sys.argv[1:])
    else:
        atheris.Setup(sys.argv, target)
        atheris.Fuzz()


def _change_at_random(target: Callable[[bytes], None], arguments: list[str]) -> None:
    print("atheris is not installed: inputs are changed at random, with no guidance.")
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
