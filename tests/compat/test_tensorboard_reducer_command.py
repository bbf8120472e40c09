"""`python -m runfold.compat.tensorboard_reducer` does what `tb-reducer` does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli_runs import losses, write

from runfold.compat.tensorboard_reducer import load_tb_events

OURS = [sys.executable, "-m", "runfold.compat.tensorboard_reducer"]
THEIRS = [os.path.join(os.path.dirname(sys.executable), "tb-reducer")]


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    for seed, values in enumerate([(1.0, 0.5, 0.25), (2.0, 0.75, 0.125), (3.0, 0.1, 0.7)]):
        write(tmp_path / f"seed-{seed}", losses(*values))
    return [f"../seed-{seed}" for seed in range(3)]


def run_both(tmp_path: Path, *words: str) -> list[tuple[Path, int]]:
    """Run both commands in separate folders; return the folders and exit statuses."""
    ended = []
    for command, name in ((THEIRS, "theirs"), (OURS, "ours")):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        done = subprocess.run([*command, *words], cwd=folder, capture_output=True, check=False)
        ended.append((folder, done.returncode))
    return ended


@pytest.mark.parametrize("operations", [[], ["-r", "mean,std"], ["-r", "min,max,median"]])
def test_the_csv_file_is_the_same(operations: list[str], runs: list[str], tmp_path: Path) -> None:
    (theirs, status), (ours, same) = run_both(tmp_path, *runs, *operations, "-o", "out.csv")
    assert (status, same) == (0, 0)
    text = (theirs / "out.csv").read_text()
    assert text.splitlines()[0].startswith(",train/loss")
    assert (ours / "out.csv").read_text() == text


@pytest.mark.parametrize("operations", [[], ["-r", "mean,std,max"]])
@pytest.mark.parametrize("out", ["folded", "folded/"])
def test_the_folders_have_the_same_names_and_values(
    operations: list[str], out: str, runs: list[str], tmp_path: Path
) -> None:
    (theirs, status), (ours, same) = run_both(tmp_path, *runs, *operations, "-o", out)
    assert (status, same) == (0, 0)
    names = sorted(str(path.parent.relative_to(theirs)) for path in theirs.rglob("events.*"))
    assert names == sorted(str(path.parent.relative_to(ours)) for path in ours.rglob("events.*"))
    for name in names:
        left, right = (load_tb_events([str(folder / name)]) for folder in (theirs, ours))
        assert list(left) == list(right)
        assert all(left[tag].equals(right[tag]) for tag in left)


@pytest.mark.parametrize(
    "words",
    [
        ["-o", "out.csv", "-r", "nonsense"],
        ["-o", "out.csv", "--handle-dup-steps", "nonsense"],
        ["-o", "out.csv", "--nonsense"],
    ],
)
def test_an_error_has_the_same_status(words: list[str], runs: list[str], tmp_path: Path) -> None:
    (_, status), (_, same) = run_both(tmp_path, *runs, *words)
    assert same == status > 0


def test_both_reject_existing_output(runs: list[str], tmp_path: Path) -> None:
    run_both(tmp_path, *runs, "-o", "out.csv")
    assert [status for _, status in run_both(tmp_path, *runs, "-o", "out.csv")] == [1, 1]
    assert [status for _, status in run_both(tmp_path, *runs, "-o", "out.csv", "-f")] == [0, 0]
