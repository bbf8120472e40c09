"""tensorboard-reducer's own tests pass with our module under its name.

`make test` downloads them to build/peers. Their fixtures and logs are not published,
so they are created here as the tests describe them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.checkout import ROOT

import runfold
from runfold._core.encoder import EventBuffer

SUITE = ROOT / "build/peers/tensorboard_reducer-0.4.0/tests"

SHIM = "from runfold.compat.tensorboard_reducer import *\n"

# Warnings are off, as in the suite's own settings: its tests use deprecated pandas calls.
PYTEST = ["-m", "pytest", "-q", "-p", "no:warnings", "-p", "no:cacheprovider", "tests"]

CONFTEST = """
from glob import glob

import pytest
import tensorboard_reducer as tbr

REDUCE_OPS = ["mean", "std", "min", "max", "median"]

assert tbr.__file__.startswith({here!r})


@pytest.fixture(scope="session")
def events_dict():
    return tbr.load_tb_events(sorted(glob("tests/runs/strict/run_*")))


@pytest.fixture(scope="session")
def reduced_events(events_dict):
    return tbr.reduce_events(events_dict, REDUCE_OPS)
"""

# The tests expect these means of the strict runs, to three decimal places.
MEANS = {1: 1.488, 2: 2.459, 3: 3.481}


def write_run(folder: Path, mean: float, tags: list[str], steps: list[int]) -> None:
    """Write random values around a mean, at the same steps for every tag."""
    rng = np.random.default_rng(0)
    buffer = EventBuffer()
    for tag in tags:
        values = rng.random(len(steps))
        values += mean - values.mean()
        buffer.scalars(tag, np.array(steps), np.ones(len(steps)), values)
    folder.mkdir(parents=True)
    (folder / "events.out.tfevents.1").write_bytes(buffer)


@pytest.mark.skipif(not SUITE.is_dir(), reason="`make test` fetches the tests of the peer")
def test_tensorboard_reducer_suite_passes(tmp_path):
    tests, shim = tmp_path / "tests", tmp_path / "tensorboard_reducer"
    shutil.copytree(SUITE, tests)
    (tests / "__init__.py").touch()
    (tests / "conftest.py").write_text(CONFTEST.format(here=str(shim)))
    shim.mkdir()
    (shim / "__init__.py").write_text(SHIM)
    for number, mean in MEANS.items():
        run = f"run_{number}"
        write_run(tests / "runs/strict" / run, mean, ["strict/foo"], list(range(0, 500, 5)))
        lax = ["lax/foo", f"lax/bar_{number}", f"lax/bar_{number + 1}"]
        write_run(tests / "runs/lax" / run, mean, lax, list(range(100 + 10 * number)))
        twice = [*range(100), *range(90, 200)]
        write_run(tests / "runs/duplicate_steps" / run, mean, ["dup_steps/foo"], twice)

    done = subprocess.run(
        [sys.executable, *PYTEST],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(runfold.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "48 passed" in done.stdout.splitlines()[-1]
