"""`runfold check`."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.cli_runs import START, losses, run_apart, write, write_kinds

from runfold._cli import main
from runfold._events import value_encoding as values


def test_sound_log_has_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_kinds(tmp_path / "a")
    assert main(["check", str(tmp_path)]) == 0
    shown = f"No problems in 1 event file with 10 records, {path.stat().st_size} B.\n"
    assert capsys.readouterr() == ("", shown)


def test_folder_without_runs_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(tmp_path)]) == 0
    shown = f"No runs in '{tmp_path}': no file there has 'tfevents' in its name.\n"
    assert capsys.readouterr() == ("", shown)


def test_every_problem_has_its_file_and_offset(tmp_path: Path) -> None:
    first = write(tmp_path / "a", losses(1.0, 2.0))
    data = bytearray(first.read_bytes())
    at = _record(data, 1)
    data[at + 14] ^= 1
    first.write_bytes(data)
    torn = write(tmp_path / "b", losses(1.0))
    torn.write_bytes(torn.read_bytes() + b"not a record, not at all")
    end = torn.stat().st_size - 24
    done = run_apart("check", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"a/events.out.tfevents.1: record at byte {at} has a bad payload checksum. Skipped.",
        f"b/events.out.tfevents.1: record at byte {end} has a bad length checksum."
        " The rest of the file was not read.",
    ]
    assert done.stderr.startswith("2 problems in 2 event files with ")


def test_folder_left_by_a_killed_edit_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "a", losses(1.0))
    write(tmp_path / ".runfold-0123456789abcdef.tmp", losses(1.0))
    done = run_apart("check", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == (
        ".runfold-0123456789abcdef.tmp: a folder that Runfold did not finish writing."
        " Not read. Delete it, unless an edit or export is still running.\n"
    )
    assert done.stderr.startswith("1 problem in 1 event file with ")


def _record(data: bytes | bytearray, number: int) -> int:
    at = 0
    for _ in range(number):
        at += int.from_bytes(data[at : at + 8], "little") + 16
    return at


def test_values_that_do_not_decode_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = losses()
    bad = [
        values.image("picture", 2, 4, 3, b"\x89PNG\r\n\x1a\n and no more"),
        values.tensor("note", np.zeros(3), "text"),
        values.metadata_only("settings", "hparams", b"\xff\xff"),
        values.tensor("curve", np.zeros((5, 7)), "pr_curves"),
    ]
    for message in bad:
        events.value(message, 0, START)
    write(tmp_path, events)
    (tmp_path / "projector_config.pbtxt").write_text("no such field {")
    assert main(["check", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    for tag in ("picture", "note", "settings", "curve"):
        assert sum(f"(tag '{tag}': " in line for line in lines) == 1
    assert sum("projector_config.pbtxt: " in line for line in lines) == 1


def test_two_bad_values_in_one_record_are_two_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = losses()
    broken = [values.tensor(tag, np.zeros(3), "text") for tag in ("first", "second")]
    events.summary(broken, 0, START)
    write(tmp_path, events)
    assert main(["check", "--json", str(tmp_path)]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert len(problems) == 2
    assert problems[0]["offset"] == problems[1]["offset"]


def test_strict_stops_at_the_first_problem_and_reads_no_further_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", losses(1.0))
    for name in ("b", "c"):
        path = write(tmp_path / name, losses(1.0))
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert main(["check", "--strict", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    (line,) = shown.out.splitlines()
    assert "/b/" in line
    assert shown.err.startswith("Stopped at the first problem. Read 2 event files")
    assert main(["check", "--strict", "--json", str(tmp_path)]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (len(report["problems"]), report["runs"], report["files"]) == (1, 2, 2)


def test_strict_stops_at_the_first_value_that_does_not_decode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = losses()
    for tag in ("first", "second"):
        events.value(values.tensor(tag, np.zeros(3), "text"), 0, START)
    write(tmp_path, events)
    assert main(["check", "--strict", str(tmp_path)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_json_has_all_problems_and_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a", losses(1.0))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    offset = _record(path.read_bytes(), 1)
    assert main(["check", "--json", str(tmp_path)]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "problems": [
            {
                "code": "bad-payload-checksum",
                "message": f"record at byte {offset} has a bad payload checksum. Skipped.",
                "file": str(path),
                "offset": offset,
                "run": "a",
            }
        ],
        "runs": 1,
        "files": 1,
        "records": 1,
        "bytes": path.stat().st_size,
        "unknown": [],
    }


def test_values_hidden_by_a_restart_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = losses()
    events.value(values.tensor("note", np.zeros(3), "text"), 5, START)
    events.session_start(0, START)
    write(tmp_path, events)
    assert main(["check", str(tmp_path)]) == 1
    assert "(tag 'note': " in capsys.readouterr().out
