"""`--where`, an option of every command that reads many runs."""

import json
from pathlib import Path

import pytest
from helpers.cli_runs import START, losses, write

from runfold._cli import main
from runfold._events.value_encoding import hparams_start


@pytest.fixture
def logdir(tmp_path: Path) -> str:
    for name, rate, loss in (("a", 0.1, 1.0), ("b", 0.1, 2.0), ("c", 0.5, 3.0), ("d", 0.5, 5.0)):
        events = losses(loss)
        events.value(hparams_start({"lr": rate}), 0, START)
        write(tmp_path / "runs" / name, events)
    return str(tmp_path / "runs")


def test_ls(logdir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", logdir, "--where", "lr > 0.2"]) == 0
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines()] == ["run", "c", "d"]
    assert shown.err.startswith("2 runs of 4, ")
    assert main(["ls", logdir, "--json", "--where", "run in ('a', 'd')"]) == 0
    assert [run["run"] for run in json.loads(capsys.readouterr().out)["runs"]] == ["a", "d"]


def test_show(logdir: str, capsys: pytest.CaptureFixture[str]) -> None:
    best = ["--where", "last['train/loss'] < 2"]
    assert main(["show", logdir, "train/loss", "--csv", *best]) == 0
    assert capsys.readouterr().out == f"step,wall_time,value\n0,{START},1.0\n"
    assert main(["show", logdir, "b", "train/loss", *best]) == 2
    assert capsys.readouterr().err.startswith("No run 'b' in ")


def test_reduce(logdir: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    assert main(["reduce", logdir, "--where", "lr < 0.2", "-r", "mean,count", "-o", str(out)]) == 0
    assert out.read_text().splitlines()[1] == f"train/loss,0,{START},2,1.5,2.0"
    assert "Folded 2 runs" in capsys.readouterr().err


def test_compare(logdir: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["compare", logdir, "--tag", "train/loss", "--by", "lr", "--json"]
    assert main([*args, "--where", "lr < 9 and run != 'd'"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert [score["run"] for score in scores] == ["a", "b", "c"]


def test_plot(logdir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", logdir, "--tag", "train/loss", "--where", "lr > 0.2"]) == 0
    assert "Folded 2 runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "args",
    [
        *(["ls"], ["table"], ["plot"], ["show", "train/loss"], ["reduce", "-o", "never/"]),
        ["compare", "--tag", "train/loss"],
    ],
)
def test_an_error_shows_its_position(
    args: list[str], logdir: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = args
    assert main([command, logdir, *rest, "--where", "rate > 1"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("No run has an hparam 'rate'.")
    assert shown.err.endswith("\n  rate > 1\n  ^\n")


def test_no_run_matches(logdir: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = "None of the 4 runs matches the condition: lr > 1\n"
    assert main(["ls", logdir, "--where", "lr > 1"]) == 0
    assert capsys.readouterr().err == message
    assert main(["plot", logdir, "--where", "lr > 1"]) == 2
    assert capsys.readouterr().err == message
    assert main(["show", f"{logdir}/a", "train/loss", "--where", "lr > 1"]) == 2
    assert capsys.readouterr().err == "The only run does not match the condition: lr > 1\n"
