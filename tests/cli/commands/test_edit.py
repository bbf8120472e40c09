"""The commands `runfold edit` and `runfold repair`: output and exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli_runs import losses, run_apart, write, write_kinds

import runfold as rf
from runfold._cli import main
from runfold._humanize import human_bytes

NAME = "events.out.tfevents.1"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log" / "a", losses(*range(20)))
    write_kinds(tmp_path / "log" / "b")
    return tmp_path / "log"


def size(runs: str) -> str:
    return human_bytes(sum(path.stat().st_size for path in Path().glob(f"{runs}/*tfevents*")))


def test_changes_in_each_run_are_printed(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edit", "log", "--every", "10", "--strip", "image,audio", "-o", "new"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        f"a: 17 of 20 values removed, {size('log/a')} -> {size('new/a')}",
        f"b: 4 of 9 values removed, {size('log/b')} -> {size('new/b')}",
    ]
    assert shown.err == f"2 of 2 runs changed, {size('log/*')} -> {size('new/*')}.\n"
    assert rf.open("new")["a"]["train/loss"].steps.tolist() == [0, 10, 19]


def test_dry_run_writes_nothing(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edit", "log", "--delete-runs", "a", "--rename-run", "b=c", "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("a: deleted, 20 values\nb -> c: ")
    assert shown.err.startswith("2 of 2 runs would change, ")
    assert [path.name for path in log.parent.iterdir()] == ["log"]


def test_every_rule_has_its_option(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rename-tag", "train/*=fit/*", "--steps", "2:", "--cut-steps", "5:10"]
    options += ["--shift-steps", "100", "--shift-time", "-60", "--runs", "a", "--tags", "train/*"]
    assert main(["edit", "log", *options, "-o", "new"]) == 0
    series = rf.open("new")["a"]["fit/loss"]
    assert series.steps.tolist() == [*range(102, 105), *range(110, 120)]
    assert series.wall_times[0] == rf.open("log")["a"]["train/loss"].wall_times[2] - 60
    assert "train/loss" in rf.open("new")["b"]
    assert main(["edit", "log", "--merge", "?=job", "--overlap", "keep", "-o", "one"]) == 0
    assert list(rf.open("one")) == ["job"]
    assert main(["edit", "one", "--split", "files", "-o", "two"]) == 0
    assert list(rf.open("two")) == ["job/part-1", "job/part-2"]
    assert main(["edit", "log", "--keep-tags", "note", "--delete-tags", "note", "-o", "no"]) == 0
    assert rf.open("no").tags == {}


@pytest.mark.parametrize("option", ["--shift-time", "--shift-steps"])
def test_a_shift_is_reported_although_no_size_changes(
    option: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dry = ["edit", "log", option, "1", "--runs", "a", "--dry-run"]
    assert main(dry) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("a: 20 values shifted, ")
    assert shown.err.startswith("1 of 2 runs would change, ")
    assert main([*dry, "--move-tag", "train/*=c"]) == 0
    assert ": 20 values shifted, 20 values of 1 tag moved to c, " in capsys.readouterr().out


def test_in_place_prints_the_backup(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edit", "log", "--delete-tags", "note", "--in-place", "--backup", "old"]) == 0
    assert capsys.readouterr().err.endswith(f" Backup of the original: {log.parent / 'old'}\n")
    assert "note" in rf.open("old")["b"].tags["text"]
    assert "text" not in rf.open("log")["b"].tags


def test_json_has_the_report(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edit", "log", "--delete-tags", "note", "--dry-run", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["runs"][1]["values"] == [9, 8]
    assert report["runs"][0] == {
        "name": "a", "becomes": ["a"], "events": [21, 21], "values": [20, 20], "renamed": 0,
        "bytes": [998, 998], "moved": [], "shifted": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Nothing to change. Add a rule such as --delete-tags; see --help."),
        (["--every", "2"], "Choose where the result goes: a new folder (-o) or --in-place."),
        (
            ["--delete-tags", "los"],
            "No tag 'los' in these runs. Did you mean 'train/loss'?",
        ),
        (["--delete-tags", "x*"], "No tag matches 'x*' in these runs."),
        (["--runs", "c", "--every", "2"], "No run 'c'."),
        (
            ["--rename-tag", "train/los=x"],
            "No tag 'train/los', so nothing was renamed. Did you mean 'train/loss'?",
        ),
        (
            ["--rename-tag", "note=picture"],
            "Run 'b': tags 'note' and 'picture' would both be named 'picture', and they are of"
            " different kinds. Nothing was changed. Delete one of them, or choose another name.",
        ),
        (["--steps", "9:3"], "9:3 is empty: the end must be greater than the first step."),
        (["--rename-tag", "s/.*//"], "would have an empty name. Nothing was changed."),
        (["--steps", "x"], "'x' is not a range of steps. Write 100:200, 100:, :200 or 100."),
        (
            ["--rename-run", "a=/b"],
            "'/b' is not a valid run name: it must be a path below the logdir.",
        ),
        (["--shift-steps", str(2**63 - 1)], "would not fit in 64 bits"),
    ],
)
def test_error_is_one_line_and_leaves_no_files(
    options: list[str], message: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = [] if options == ["--every", "2"] else ["-o", "new"]
    assert main(["edit", "log", *options, *out]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert [path.name for path in log.parent.iterdir()] == ["log"]


def test_kind_that_no_run_has_is_noted(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edit", "log", "--strip", "mesh", "-o", "new"]) == 0
    assert capsys.readouterr().err == (
        "No run has values of kind 'mesh'.\n"
        f"No changes; {log.parent / 'new'} is an unchanged copy.\n"
    )
    assert main(["edit", "log", "--strip", "imag", "-o", "x"]) == 2
    assert "Did you mean 'image'?" in capsys.readouterr().err


def test_repair_prints_losses(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log / "a" / NAME
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data[:-1])
    assert main(["repair", "log", "-o", "new"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"a/{NAME}: bytes ") for line in lines)
    assert shown.err.startswith("1 of 2 event files repaired: ")
    assert main(["check", "new"]) == 0
    assert main(["repair", "new", "--dry-run"]) == 0
    sound = "Nothing to repair in 2 event files. Nothing was written.\n"
    assert capsys.readouterr().err.endswith(sound)
    before = sorted(os.listdir())
    for place in (["-o", "below/again"], ["--in-place"]):
        assert main(["repair", "new", *place]) == 0
        assert capsys.readouterr() == ("", sound)
    assert sorted(os.listdir()) == before


def test_edit_of_scalars_needs_no_heavy_package(log: Path) -> None:
    code = "import sys; from runfold._cli import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "edit", "log", "--every", "10", "-o", "new"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"pandas", "tensorboard", "google", "PIL", "tqdm", "pyarrow", "duckdb"}


def test_nothing_from_a_log_reaches_the_terminal_as_a_command(log: Path) -> None:
    write(log / "\x1b[31mred", losses(1.0, tag="\x1b]0;x\x07"))
    done = run_apart("edit", str(log), "--every", "2", "--delete-tags", "*0;x*", "--dry-run")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "\\x1b[31mred: 1 of 1 value removed" in done.stdout
