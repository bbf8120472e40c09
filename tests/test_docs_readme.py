"""The README's commands and Python blocks run as they are pasted, from top to bottom."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import run_apart

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.+)$", README, re.MULTILINE)
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    assert run_apart("demo", cwd=folder).returncode == 0
    # The README says that a byte near the start of one file was overwritten.
    shutil.copytree(folder / "demo-runs", folder / "broken")
    file = next((folder / "broken/lr-0.1/seed-0").glob("events.*"))
    data = bytearray(file.read_bytes())
    data[4200] ^= 1
    file.write_bytes(data)
    (folder / "weights.pt").write_bytes(b"weights")
    return folder


def test_the_commands_run_as_pasted(place: Path) -> None:
    assert len(COMMANDS) >= 8
    programs = os.path.dirname(sys.executable)
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for line in COMMANDS:
        done = subprocess.run(
            ["bash", "-c", line], cwd=place, env=env, capture_output=True, text=True, check=False
        )
        status = 1 if line == "runfold check broken" else 0
        assert done.returncode == status, f"{line}: {done.stderr}"


def test_the_python_blocks_run_as_pasted(place: Path) -> None:
    assert len(PYTHON) >= 8
    script = "\n".join(PYTHON)
    env = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-"],
        input=script,
        cwd=place,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
