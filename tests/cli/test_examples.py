"""Every example in `--help` works as typed in a folder with the demo's runs."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.cli_runs import run_apart
from helpers.services import own_state

from runfold._cli.commands import find_commands
from runfold._cli.parser import load

SECONDS = 300


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    assert run_apart("demo", cwd=folder).returncode == 0
    return folder / "demo-runs"


@pytest.fixture
def folder(demo: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a folder with the demo's runs, for running an example."""
    folder = tmp_path / "here"
    shutil.copytree(demo, folder / "demo-runs")
    with own_state(tmp_path):
        yield folder


def example_of(text: str) -> list[str]:
    """Return the lines of the example in a help text."""
    example = text.partition("\nExample:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in example.splitlines()]


def type_in(line: str, folder: Path) -> subprocess.Popen[str]:
    programs = os.path.dirname(sys.executable)
    return subprocess.Popen(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("name", [*find_commands(), "runfold"])
def test_the_example_works_as_typed(name: str, folder: Path) -> None:
    help = run_apart("--help").stdout if name == "runfold" else load(name).HELP
    lines = example_of(help)
    assert lines
    background = []
    for line in lines:
        process = type_in(line.removesuffix(" &"), folder)
        if line.endswith(" &"):
            background.append(process)
            continue
        if name == "serve":
            assert process.stderr is not None
            while (line := process.stderr.readline()) != "Press Ctrl-C to stop.\n":
                assert line
            process.send_signal(signal.SIGINT)  # bash has replaced itself with the command
        _, notes = process.communicate(timeout=SECONDS)
        assert process.returncode == (130 if name == "serve" else 0), notes
        assert "Traceback" not in notes
    for process in background:
        process.communicate(timeout=SECONDS)


def test_the_example_of_unpack_works_after_that_of_pack(folder: Path) -> None:
    for line in [line for name in ("pack", "unpack") for line in example_of(load(name).HELP)]:
        process = type_in(line, folder)
        _, notes = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, notes
