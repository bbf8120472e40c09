"""`runfold table`."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from helpers.cli_runs import START, losses, run_in_terminal, write, write_kinds

import runfold as rf
from benchmarks.commands import heavy_imports
from runfold._cli import main
from runfold._core.encoder import EventBuffer
from runfold._events.value_encoding import hparams_end, hparams_start


def trial(rate: float, *numbers: float, is_failed: bool = False, tag: str = "val/loss"):
    events = losses(*numbers, tag=tag)
    end = START + len(numbers) - 1
    events.value(hparams_start({"lr": rate, "model": "mlp"}), 0, end)
    if is_failed:
        events.value(hparams_end("failure", START + 90), 0, end)
    return events


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write(tmp_path / "runs" / "a", trial(0.1, 3.0, 1.0))
    write(tmp_path / "runs" / "b", trial(0.5, 2.0, 1.5, 4.0))
    write(tmp_path / "runs" / "c", trial(0.1, 9.0, is_failed=True))
    return tmp_path / "runs"


def cells(text: str) -> list[list[str]]:
    return [[cell for cell in line.split("  ") if cell] for line in text.splitlines()]


def table(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[list[list[str]], str]:
    assert main(["table", *map(str, args)]) == 0
    shown = capsys.readouterr()
    return [[cell.strip() for cell in row] for row in cells(shown.out)], shown.err


def column(capsys: pytest.CaptureFixture[str], *args: object) -> list[str]:
    rows, _ = table(capsys, *args)
    return [row[0] for row in rows[1:]]


def test_each_run_is_a_row(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, err = table(capsys, logdir)
    assert rows[0] == ["run", "status", "start", "duration", "steps", "lr", "model", "val/loss"]
    assert [row[:2] + row[3:] for row in rows[1:]] == [
        ["a", "unknown", "1.0 s", "1", "0.1", "mlp", "1"],
        ["b", "unknown", "2.0 s", "2", "0.5", "mlp", "4"],
        ["c", "failed", "1 min 30 s", "0", "0.1", "mlp", "9"],
    ]
    assert err == ""


def test_columns_and_order(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("--columns", "lr, best *", "--columns", "max val/loss", "--sort", "best val/loss")
    rows, _ = table(capsys, logdir, *args, "--reverse")
    assert rows == [
        ["run", "lr", "best val/loss", "max val/loss"],
        ["c", "0.1", "9", "9"],
        ["b", "0.5", "1.5", "4"],
        ["a", "0.1", "1", "3"],
    ]


def test_statistics(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [f"--{name}=val/*" for name in ("best", "min", "max", "mean", "auc", "first")]
    rows, _ = table(capsys, logdir, *options, "--at", 1, "--last", "val/loss", "--better", "higher")
    assert rows[0][7:] == [
        *("val/loss", "best val/loss", "best_step val/loss", "min val/loss", "max val/loss"),
        *("mean val/loss", "auc val/loss", "first val/loss", "at 1 val/loss"),
    ]
    assert rows[2][7:] == ["4", "4", "2", "1.5", "4", "2.5", "4.5", "2", "1.5"]
    assert rows[3][7:] == ["9", "9", "0", "9", "9", "9", "-", "9", "-"]


def test_runs_are_filtered(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(logdir / "d", trial(0.5, 2.0, 1.5, 4.0, tag="acc"))
    assert column(capsys, logdir, "--where", "lr < 0.2 and last['val/loss'] > 2") == ["c"]
    assert column(capsys, logdir, "--failed") == ["c"]
    assert column(capsys, logdir, "--no-failed") == ["a", "b", "d"]
    assert column(capsys, logdir, "--lacking", "acc", "--no-failed") == ["a", "b"]
    assert column(capsys, logdir, "--shorter", "2") == ["a", "c"]
    assert column(capsys, logdir, "--newest", "1", "--where", "failed") == ["c"]
    assert column(capsys, logdir, "--duplicates", "hparams") == ["c", "d"]
    assert column(capsys, logdir, "--no-duplicates", "hparams") == ["a", "b"]
    rows, err = table(capsys, logdir, "--where", "steps > 9")
    assert len(rows) == 1
    assert err == "0 runs of 4.\n"
    rows, _ = table(capsys, logdir, "--where", "steps > 9", "--columns", "lr,acc", "--best", "acc")
    assert rows == [["run", "lr", "acc"]]


def test_folders_of_add_hparams_are_not_counted(logdir: Path, capsys: pytest.CaptureFixture[str]):
    write(logdir / "d", losses(1.0))
    write(logdir / "d" / "1750000000.25", trial(2.0))
    rows, err = table(capsys, logdir, "--where", "lr == 2")
    assert len(rows) == 2
    assert err == "1 run of 4.\n"


def test_a_column_of_several_types_is_noted_without_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    write(tmp_path / "a", trial(2.0))
    write(tmp_path / "b", trial(True))
    out = tmp_path / "new folder" / "out.parquet"
    assert main(["table", str(tmp_path), "-o", str(out)]) == 0
    note = "lr: values of several types (bool, float) were converted to text.\n"
    assert capsys.readouterr().err == note


def test_programs_get_exact_values(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(logdir / "d", losses(float("nan")))
    options = ["--columns", "start,duration,lr,*loss"]
    assert main(["table", str(logdir), "--csv", *options]) == 0
    read = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert read["run"].tolist() == ["a", "b", "c", "d"]
    assert read["start"][0] == "2023-11-14T22:13:20+00:00"
    assert read["lr"].tolist()[:3] == [0.1, 0.5, 0.1]
    assert main(["table", str(logdir), "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)[1::2] == [
        {
            "run": "b",
            "start": "2023-11-14T22:13:20+00:00",
            "duration": 2.0,
            "lr": 0.5,
            "val/loss": 4.0,
            "train/loss": None,
        },
        {
            "run": "d",
            "start": "2023-11-14T22:13:20+00:00",
            "duration": 0.0,
            "lr": None,
            "val/loss": None,
            "train/loss": None,
        },
    ]
    assert main(["table", str(logdir), "--markdown", "--columns", "lr"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "| run |  lr |",
        "| --- | --: |",
        "| a   | 0.1 |",
    ]


def test_formulas_are_escaped_by_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    buffer = EventBuffer()
    buffer.value(hparams_start({"note": "=1+1"}), 0, START)
    write(tmp_path / "runs", buffer)
    args = ["table", str(tmp_path / "runs"), "--columns", "note", "--csv"]
    assert main(args) == 0
    assert capsys.readouterr().out == "run,note\n.,=1+1\n"
    out = tmp_path / "out.csv"
    assert main([*args, "--escape-formulas", "-o", str(out)]) == 0
    assert capsys.readouterr().out == out.read_text() == "run,note\n.,'=1+1\n"


def test_a_run_without_an_event_has_no_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "events.out.tfevents.1").touch()
    columns = ["--columns", "start,duration"]
    assert main(["table", str(tmp_path), "--csv", *columns]) == 0
    assert capsys.readouterr().out == "run,start,duration\n.,,\n"
    assert main(["table", str(tmp_path), "--json", *columns]) == 0
    assert json.loads(capsys.readouterr().out) == [{"run": ".", "start": None, "duration": None}]


def test_kinds_are_shown_briefly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_kinds(tmp_path)
    rows, _ = table(capsys, tmp_path, "--columns", "note,picture,histograms,tensors,audio")
    assert rows[1] == [".", "two\\nlines", "4x2", "1", "1", "1"]
    assert main(["table", str(tmp_path), "--json", "--columns", "picture"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"run": ".", "picture": {"width": 4, "height": 2}}
    ]


def test_a_file_is_written_in_the_format_of_its_suffix(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("out.csv", "out.parquet"):
        out = logdir.parent / name
        assert main(["table", str(logdir), "-o", str(out), "--columns", "lr,val/loss"]) == 0
        assert capsys.readouterr().out == f"{out}\n"
        read = pd.read_csv(out) if name.endswith("csv") else pd.read_parquet(out)
        assert read.to_dict("list") == {
            "run": ["a", "b", "c"],
            "lr": [0.1, 0.5, 0.1],
            "val/loss": [1.0, 4.0, 9.0],
        }
        assert main(["table", str(logdir), "-o", str(out)]) == 2
        assert "already exists" in capsys.readouterr().err
        assert main(["table", str(logdir), "-o", str(out), "-f"]) == 0
        capsys.readouterr()
    write_kinds(logdir / "d")
    out = logdir.parent / "pictures.parquet"
    assert main(["table", str(logdir), "-o", str(out)]) == 0
    assert rf.read_table(out)["picture"][3].pil().size == (4, 2)
    named = "Only a .parquet file can contain images; these columns describe them: picture."
    for args in (["-o", str(logdir.parent / "other.csv")], ["--csv"], ["--markdown"]):
        assert main(["table", str(logdir), *args]) == 0
        assert capsys.readouterr().err.count(named) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--columns", "val/los"], "No column 'val/los'. Did you mean 'val/loss'?\n"),
        (["--sort", "rl"], "No column 'rl'."),
        (["--best", "val/lss"], "No tag 'val/lss' of kind scalar. Did you mean 'val/loss'?\n"),
        (["--where", "lr <"], "The condition is incomplete.\n  lr <\n      ^\n"),
        (["--lacking", "acc"], "No tag 'acc'."),
        (["--csv", "--json"], "Choose one of --csv, --json and --markdown.\n"),
        (["-o", "x.cvs"], "x.cvs: unknown format. Did you mean '.csv'?"),
    ],
)
def test_errors_are_one_line(
    args: list[str], message: str, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", str(logdir), *args]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(message)
    assert shown.out == ""


def test_a_folder_without_runs_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, err = table(capsys, tmp_path)
    assert rows == [["run", "status", "start", "duration", "steps"]]
    assert err.startswith("No runs in ")


def test_a_narrow_window_reports_hidden_columns(tmp_path: Path) -> None:
    events = EventBuffer()
    for number in range(12):
        events.scalar(f"a/long/name/of/metric-{number}", 1.0, 0, START)
    events.scalar("a\x1b[2Jb", 2.0, 0, START)
    write(tmp_path / ("a-very-long-name-of-a-run-" * 3), events)
    status, shown = run_in_terminal(60, "table", str(tmp_path))
    assert status == 0
    lines = shown.replace("\r", "").splitlines()
    assert "Columns that do not fit:" in shown
    assert "metric-11" in shown
    assert "\x1b[2J" not in shown
    assert all(len(line.replace("\x1b[1m", "").replace("\x1b[0m", "")) <= 60 for line in lines[:2])
    _, shown = run_in_terminal(400, "table", str(tmp_path), "--columns", "a*")
    assert "No room" not in shown
    _, shown = run_in_terminal(60, "table", str(tmp_path), "--csv")
    assert "a\\x1b[2Jb" in shown


def test_heavy_packages_are_not_imported(logdir: Path) -> None:
    assert heavy_imports("table", str(logdir), "--csv", "--where", "steps > 0") == ["tensorboard"]
