"""`runfold ls`."""

import json
import math
import re
from pathlib import Path

import pytest
from helpers.cli_runs import START, losses, run_apart, run_in_terminal, write, write_kinds

from runfold._cli import main
from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values
from runfold._humanize import cell_width


def test_table_has_one_line_per_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_kinds(tmp_path / "b")
    write(tmp_path / "a", losses(0.5, 0.25))
    assert main(["ls", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    kinds = "1 scalar, 1 histogram, 1 image, 1 audio, 1 text, 1 tensor"
    assert [line.split("  ") for line in map(_single_gaps, shown.out.splitlines())] == [
        ["run", "tags", "points", "steps", "duration", "size", "problems"],
        ["a", "1 scalar", "2", "0..1", "1.0 s", "134 B", "-"],
        ["b", kinds, "9", "0..2", "2.0 s", _size(tmp_path / "b"), "-"],
    ]
    assert shown.err == f"2 runs, 11 points, {_size(tmp_path)}.\n"


def _single_gaps(line: str) -> str:
    while "   " in line:
        line = line.replace("   ", "  ")
    return line


def _size(folder: Path) -> str:
    size = sum(file.stat().st_size for file in folder.rglob("*tfevents*"))
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB"


def test_tags_have_one_line_per_tag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_kinds(tmp_path)
    assert main(["ls", "--tags", str(tmp_path)]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["run", "tag", "kind", "points", "steps"],
        [".", "train/loss", "scalar", "3", "0..2"],
        [".", "note", "text", "1", "0"],
        [".", "picture", "image", "2", "1..2"],
        [".", "weights", "histogram", "1", "2"],
        [".", "matrix", "tensor", "1", "0"],
        [".", "beep", "audio", "1", "0"],
    ]


def test_hidden_points_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = losses(1.0, 2.0, 3.0)
    events.session_start(1, START)
    events.scalar("train/loss", 9.0, 1, START)
    write(tmp_path, events)
    assert main(["ls", str(tmp_path)]) == 0
    head, row = map(str.split, capsys.readouterr().out.splitlines())
    assert dict(zip(head, [row[0], "1 scalar", *row[3:]], strict=False))["hidden"] == "2"
    assert main(["ls", "--restarts", "keep", str(tmp_path)]) == 0
    assert "hidden" not in capsys.readouterr().out


def test_folder_of_add_hparams_is_part_of_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run, rates in {"a": [0.1], "trials": [0.1, 0.2]}.items():
        write(tmp_path / run, losses(0.5))
        for number, rate in enumerate(rates):
            events = EventBuffer()
            events.value(values.hparams_start({"lr": rate}), 0, START)
            write(tmp_path / run / f"170000000{number}.25", events)
    assert main(["ls", str(tmp_path)]) == 0
    _, *rows = (re.split("  +", line) for line in capsys.readouterr().out.splitlines())
    # Folders that contradict each other are separate runs.
    trials = ["trials", "trials/1700000000.25", "trials/1700000001.25"]
    assert [(run, tags) for run, tags, *_ in rows] == [
        ("a", "1 scalar, 1 hparams"),
        *zip(trials, ["1 scalar", "1 hparams", "1 hparams"], strict=True),
    ]
    assert main(["ls", "--json", "--where", "lr == 0.1", str(tmp_path / "a")]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["run"], run["files"], run["kinds"]) == (".", 2, {"scalar": 1, "hparams": 1})


def test_json_is_strict_and_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    big = 2**63 - 1
    events = EventBuffer()
    events.scalar("x", 1.0, big, math.nan)
    events.scalar("x", 1.0, -big - 1, math.inf)
    path = write(tmp_path / "a", events)
    assert main(["ls", "--json", str(tmp_path)]) == 0
    listing = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    (run,) = listing["runs"]
    problems = run.pop("problems")
    assert run == {
        "run": "a",
        "path": str(tmp_path / "a"),
        "files": 1,
        "size": path.stat().st_size,
        "start": None,
        "duration": None,
        "points": 2,
        "hidden": 0,
        "steps": [-big - 1, big],
        "kinds": {"scalar": 1},
        "projector_config": None,
        "tags": [
            {"tag": "x", "kind": "scalar", "points": 2, "hidden": 0, "steps": [-big - 1, big]}
        ],
        "unknown": [],
    }
    assert {problem["code"] for problem in problems} == {"unknown-wall-time"}
    assert listing["paths"] == [str(tmp_path)]
    assert listing["problems"] == []


def test_problems_are_counted_with_a_hint_to_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a", losses(1.0, 2.0))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert main(["ls", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split()[-1] == "1"
    assert f"Found 1 problem. `runfold check {tmp_path}` lists it.\n" in shown.err


def test_folder_without_runs_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ls", str(tmp_path)]) == 0
    message = f"No runs in '{tmp_path}': no file there has 'tfevents' in its name.\n"
    assert capsys.readouterr() == ("", message)


def test_run_with_only_a_projector_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "projector_config.pbtxt").write_text("")
    assert main(["ls", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == [".", "embeddings", "0"]


def test_piped_table_is_plain_and_complete(tmp_path: Path) -> None:
    name = "a-name-that-is-longer-than-any-window-is-wide-" * 4
    write(tmp_path / name, losses(1.0))
    done = run_apart("ls", str(tmp_path), COLUMNS="40")
    assert done.returncode == 0
    assert name in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("columns", [80, 160])
def test_table_fits_the_window(columns: int, tmp_path: Path) -> None:
    write_kinds(tmp_path / "sweep-with-a-long-name" / "learning-rate-0.001" / "seed-1")
    write_kinds(tmp_path / "種子" / "学習率-0.01-とても長い名前のディレクトリ")
    status, shown = run_in_terminal(columns, "ls", str(tmp_path), NO_COLOR="1")
    assert status == 0
    lines = shown.splitlines()
    assert all(cell_width(line) <= columns for line in lines)
    # The names share no part, so both are shown in full.
    assert "sweep-with-a-long-name/learning-rate-0.001/seed-1" in shown
    assert "学習率-0.01-とても長い名前のディレクトリ" in shown
    assert ("Columns that do not fit: duration, size, problems." in shown) == (columns == 80)
    assert ("1 scalar +5" in shown) == (columns == 80)


@pytest.mark.parametrize("command", ["ls", "table"])
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_run_names_stay_distinct_in_a_narrow_window(
    command: str, columns: int, tmp_path: Path
) -> None:
    names = {
        f"transformer_{size}_lr_{rate}/dataset_imagenet/seed-{seed}"
        for size in ("large", "small")
        for rate in ("0.1", "0.01", "1e-3")
        for seed in (0, 1, 10)
    }
    for name in names:
        write(tmp_path / "experiments" / name, losses(0.5))
    status, shown = run_in_terminal(columns, command, str(tmp_path), NO_COLOR="1")
    assert status == 0
    rows = [line for line in shown.splitlines() if re.match(r"\S*(large|small)", line)]
    assert len({row.split()[0] for row in rows}) == len(rows) == len(names)
    assert ("Names in column 'run' are relative to experiments/" in shown) == (columns < 120)


def test_demo_runs_fit_40_columns(tmp_path: Path) -> None:
    for name in ("lr-0.1/seed-0", "lr-0.01/seed-0"):
        write_kinds(tmp_path / name)
    _, shown = run_in_terminal(40, "ls", str(tmp_path), NO_COLOR="1")
    assert shown.splitlines() == [
        "run             points  steps  duration",
        "lr-0.01/seed-0       9   0..2     2.0 s",
        "lr-0.1/seed-0        9   0..2     2.0 s",
        "Columns that do not fit: tags, size, problems. A wider window shows them.",
        f"2 runs, 18 points, {_size(tmp_path)}.",
    ]


def test_names_with_nothing_in_common_wrap(tmp_path: Path) -> None:
    for letter in "ab":
        write(tmp_path / "-".join([letter * 12] * 3), losses(0.5))
    _, shown = run_in_terminal(32, "ls", str(tmp_path), NO_COLOR="1")
    assert shown.splitlines()[:5] == [
        "run                       points",
        "aaaaaaaaaaaa-                  1",
        "  aaaaaaaaaaaa-",
        "  aaaaaaaaaaaa",
        "bbbbbbbbbbbb-                  1",
    ]
