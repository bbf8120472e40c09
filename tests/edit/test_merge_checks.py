"""Tags that two runs would share: one can continue the other, or the edit is rejected."""

import json
import os
from pathlib import Path

import pytest
from helpers.cli_runs import START
from helpers.edits import NAME, event_files, log_steps, shown, steps, tags

import runfold as rf
from runfold._cli import main
from runfold._core.encoder import EventBuffer
from runfold._edit import edit
from runfold._events import value_encoding as values
from runfold.errors import CannotEdit, UnknownTag


def test_moved_tag_continues_the_existing_series(tmp_path: Path) -> None:
    log_steps(tmp_path / "log" / "a", "loss", first=4, end=6)
    log_steps(tmp_path / "log" / "b", "loss", end=4, start=START + 9)
    edit(tmp_path / "log", tmp_path / "new", move_tags={"loss": "b"})
    assert shown(tmp_path / "new", "b", "loss") == [[*range(6)]] * 4


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        (
            {"move_tags": {"los": "b"}},
            UnknownTag,
            "No tag 'los', so nothing was moved. Did you mean",
        ),
        ({"move_tags": {"loss": "../b"}}, CannotEdit, "path below the logdir"),
        ({"move_tags": {"loss": ""}}, CannotEdit, "path below the logdir"),
        ({"move_tags": {"loss": "b"}}, CannotEdit, "steps 0 to 3 do not come after"),
        ({"move_tags": {"loss": "new"}}, CannotEdit, "from runs 'a' and 'b', and steps"),
        ({"move_tags": {"loss": "c"}, "runs": "a"}, CannotEdit, "different kinds: text and sca"),
        ({"move_tags": {"loss": "notes/x"}, "runs": "a"}, CannotEdit, "because 'notes' is a file"),
        ({"rename_runs": {"a": "notes"}}, CannotEdit, "because 'notes' is a file"),
        ({"move_tags": {"loss": "c"}, "split": "files"}, CannotEdit, "Use two edits"),
        ({"merge_runs": {"[bc]": "c"}}, CannotEdit, "different kinds: .* Nothing was changed"),
    ],
)
def test_values_that_readers_could_not_separate_are_rejected(
    rules: dict, error: type[Exception], message: str, tmp_path: Path
) -> None:
    log_steps(tmp_path / "log" / "a", "loss")
    log_steps(tmp_path / "log" / "b", "loss")
    (tmp_path / "log" / "c").mkdir()
    text = EventBuffer()
    text.value(values.text("loss", "none"), 0, START)
    (tmp_path / "log" / "c" / NAME).write_bytes(text.getvalue())
    (tmp_path / "log" / "notes").write_text("mine")
    for destination in ({"dry_run": True}, {"in_place": True}, {"output": tmp_path / "new"}):
        with pytest.raises(error, match=message):
            edit(tmp_path / "log", **destination, **rules)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["events.out.tfevents.17.host.9.0"], "events.out.tfevents.17.host.9.0.moved-0001"),
        (["x.tfevents.1.moved-0007"], "x.tfevents.1.moved-0008"),
        (["x.tfevents.1.moved-9999"], "x.tfevents.1.moved-9999.moved-0001"),
        # The alphabetically last name is not the last by number.
        (["events.out.tfevents.9", "events.out.tfevents.10"], "events.out.tfevents.moved-0001"),
        (["z.tfevents.9", "z.tfevents.10"], "~tfevents.moved-0001"),
    ],
)
def test_file_of_moved_tags_comes_last_for_every_reader(
    names: list[str], expected: str, tmp_path: Path
) -> None:
    log_steps(tmp_path / "log" / "a", "val")
    log_steps(tmp_path / "log" / "b", "loss")
    (tmp_path / "log" / "b" / NAME).rename(tmp_path / "log" / "b" / names[0])
    for name in names[1:]:
        (tmp_path / "log" / "b" / name).write_bytes(b"")
    edit(tmp_path / "log", tmp_path / "new", move_tags={"val": "b"})
    assert {path.name for path in event_files(tmp_path / "new" / "b")} == {*names, expected}
    assert event_files(tmp_path / "new" / "b")[-1].name == expected
    assert shown(tmp_path / "new", "b", "val") == [[*range(4)]] * 4


def test_tags_of_two_runs_arrive_in_order_of_their_start(tmp_path: Path) -> None:
    log_steps(tmp_path / "log" / "a", "loss", "x", first=4, end=6, start=START + 9)
    log_steps(tmp_path / "log" / "z", "loss", "y", end=4)
    edit(tmp_path / "log", tmp_path / "new", move_tags={"*": "all"})
    assert shown(tmp_path / "new", "all", "loss") == [[*range(6)]] * 4
    assert sorted(tags(tmp_path / "new" / "all")) == ["loss", "x", "y"]
    assert steps(tmp_path / "new" / "a", "loss") == []


def test_two_runs_can_swap_tags_in_place(tmp_path: Path) -> None:
    log_steps(tmp_path / "log" / "a", "loss", "x")
    log_steps(tmp_path / "log" / "b", "loss", "y")
    (tmp_path / "log" / "a" / "model.pt").write_bytes(b"weights")
    report = edit(tmp_path / "log", in_place=True, move_tags={"x": "b", "y": "a"})
    assert {name: [*run] for name, run in rf.open(tmp_path / "log").items()} == {
        "a": ["loss", "y"],
        "b": ["loss", "x"],
    }
    assert (tmp_path / "log" / "a" / "model.pt").exists()
    assert tags(Path(str(report.backup)) / "a") == ["loss", "x"]


def test_dry_run_reports_moves_as_text_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log_steps(Path("log/a"), "loss", "val/loss", "val/acc")
    command = ["edit", "log", "--move-tag", "val/*={run}/val"]
    assert main([*command, "--dry-run", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["runs"][0]["moved"] == [{"run": "a/val", "tags": 2, "values": 8}]
    assert report["runs"][0]["values"] == [12, 12]
    assert main([*command, "--dry-run"]) == 0
    line = capsys.readouterr().out
    assert line.startswith("a: 8 values of 2 tags moved to a/val, ")
    assert main([*command, "-o", "new"]) == 0
    assert capsys.readouterr().out == line
    size = sum(path.stat().st_size for path in Path("new").rglob("*tfevents*"))
    assert size == report["runs"][0]["bytes"][1]


def test_run_with_a_name_that_is_not_utf8_gets_a_run_in_its_own_folder(tmp_path: Path) -> None:
    folder = os.fsdecode(b"caf\xe9")
    log_steps(tmp_path / "log" / folder, "loss", "val")
    edit(tmp_path / "log", tmp_path / "new", move_tags={"val": "{run}/val"})
    assert os.listdir(tmp_path / "new") == [folder]
    assert sorted(os.listdir(tmp_path / "new" / folder)) == [NAME, "val"]
    assert [[*run] for run in rf.open(tmp_path / "new").values()] == [["loss"], ["val"]]
