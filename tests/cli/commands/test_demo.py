"""`runfold demo`: a real ensemble, in a folder without other files."""

import shlex
import subprocess
from pathlib import Path

import pytest
from helpers.cli_runs import run_apart

import runfold as rf
from runfold._cli import demo_training as ensemble
from runfold._cli import main
from runfold._cli.commands.log.demo import prepare_folder
from runfold._conventions import DEMO_SUFFIX


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    folder = tmp_path_factory.mktemp("demo")
    done = run_apart("demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "demo-runs", done.stdout, done.stderr


def test_networks_learn(demo: tuple[Path, str, str]) -> None:
    runs = rf.open(demo[0])
    assert list(runs) == [f"lr-{rate}/seed-{seed}" for rate in ("0.01", "0.1") for seed in range(5)]
    accuracy = runs.scalars("val/accuracy").groupby("run", observed=True)["value"]
    assert (accuracy.first() < 0.75).all()
    assert (accuracy.last() > 0.95).all()


def test_logs_contain_many_kinds_and_no_problems(demo: tuple[Path, str, str]) -> None:
    runs = rf.open(demo[0])
    tags = {
        kind: [tag for tag in tags if not tag.startswith("runfold/")]
        for kind, tags in runs.tags.items()
    }
    assert {kind: len(names) for kind, names in tags.items()} == {
        "scalar": 4,
        "hparams": 2,
        "text": 1,
        "histogram": 3,
        "image": 1,
    }
    assert {run.status.state for run in runs.values()} == {"finished"}
    assert runs.problems().empty
    assert set(runs.sessions()["status"]) == {"success"}


def test_output_lists_runs_final_values_and_problems(demo: tuple[Path, str, str]) -> None:
    _, out, err = demo
    assert "$ runfold ls demo-runs\nrun " in out
    assert "\nrun             status      lr  seed  val/loss  val/accuracy  best val/loss\n" in out
    assert out.count("  finished  ") == 10
    assert "$ runfold check demo-runs\n" in out
    assert "No problems in 10 event files" in err
    assert "  runfold serve demo-runs " in out


def test_printed_commands_can_be_typed_in_a_shell(demo: tuple[Path, str, str]) -> None:
    folder, out, _ = demo
    (query,) = [line for line in out.splitlines() if line.startswith("$ runfold sql")]
    answer = run_apart(*shlex.split(query)[2:], cwd=folder.parent).stdout
    assert answer in out
    assert len(answer.splitlines()) == 3


def test_suggested_commands_are_on_the_path(demo: tuple[Path, str, str]) -> None:
    folder, out, _ = demo
    lines = out.partition("Next, try:\n")[2].splitlines()
    script = "\n".join(line for line in lines if " ls " in line or "export PATH" in line)
    done = subprocess.run(
        ["/bin/sh", "-euc", script],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "lr-0.1/seed-0" in done.stdout


def test_folder_with_other_files_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert main(["demo", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"{tmp_path} is not empty and not from an earlier demo."
        " Choose another folder: `runfold demo DIR`.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_second_demo_replaces_only_its_own_files(tmp_path: Path) -> None:
    prepare_folder(str(tmp_path))
    run = tmp_path / "lr-0.1" / "seed-0"
    with rf.SummaryWriter(run, filename_suffix=DEMO_SUFFIX) as writer:
        writer.add_scalar("train/loss", 1.0, 0)
    (run / "mine.txt").write_text("kept")
    prepare_folder(str(tmp_path))
    assert [path.name for path in run.iterdir()] == ["mine.txt"]


def test_gradient_matches_the_loss() -> None:
    import numpy as np

    random = np.random.default_rng(0)
    points, which = ensemble.spirals(50, random)
    network = ensemble.Network(random)
    before, size = network.learn(points, which, rate=1e-6)
    after, _ = network.score(points, which)
    # One small step along the gradient g lowers the loss by the rate times |g| squared.
    assert before - after == pytest.approx(1e-6 * size**2, rel=1e-3)
