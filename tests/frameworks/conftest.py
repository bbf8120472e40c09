"""Fixtures that run a training program twice: with the original writer and with Runfold's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import no_tensorflow  # noqa: F401, before anything imports TensorBoard
import pytest
from readings import Reading, read

HERE = Path(__file__).parent
# Makes a program's runs reproducible, and keeps them off the network.
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "RAY_AUTH_MODE": "disabled",  # otherwise Ray writes a token to the home folder
    "RAY_USAGE_STATS_ENABLED": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
SECONDS = 300


@dataclass
class Trained:
    """The result of running a program: its folder, its logs and its stderr."""

    folder: Path
    logs: Reading
    errors: str

    @property
    def event_files(self) -> list[Path]:
        """Return every event file below the folder."""
        return sorted(self.folder.rglob("*tfevents*"))

    @property
    def warnings(self) -> list[str]:
        """Return the warnings and all lines about Runfold on stderr, without line numbers."""
        lines = re.findall(r"^.*(?:Warning:|runfold|Runfold).*$", self.errors, re.MULTILINE)
        return [re.sub(r":\d+: ", ": ", line) for line in lines]


@dataclass
class Pair:
    """The results of a program with the original writer and with Runfold's."""

    original: Trained
    swapped: Trained


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., Pair]:
    """Return a function that runs a program from the folder `programs` twice.

    It returns both results. Runfold's run must not produce any other warnings than the original's
    and the expected ones.
    """

    def train_both(program: str, *arguments: str, warnings: Sequence[str] = ()) -> Pair:
        original, swapped = (
            run_program(tmp_path / writer, writer, program, *arguments)
            for writer in ("original", "runfold")
        )
        assert original.event_files
        assert all(".runfold" not in path.name for path in original.event_files)
        assert swapped.event_files
        assert all(".runfold" in path.name for path in swapped.event_files)
        added = [line for line in swapped.warnings if line not in original.warnings]
        assert len(added) == len(warnings), added
        assert all(text in line for text, line in zip(warnings, added, strict=True)), added
        return Pair(original, swapped)

    return train_both


def run_program(folder: Path, writer: str, program: str, *arguments: str) -> Trained:
    """Run a program in a new folder; fail with its output unless it succeeds."""
    folder.mkdir()
    command = [sys.executable, HERE / "swap.py", writer, HERE / "programs" / f"{program}.py"]
    ended = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ended.returncode == 0, f"{program} with {writer}:\n{ended.stderr}"
    assert "Traceback" not in ended.stderr, f"{program} with {writer}:\n{ended.stderr}"
    return Trained(folder, read(folder), ended.stderr)
