"""Edits of event files that are large, growing, damaged or unusually named."""

import os
from pathlib import Path

import pytest
from helpers.cli_runs import START, losses, write

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._edit import edit, repair
from runfold._edit import record_stream as records
from runfold._edit.renaming import parse_rename, rename
from runfold._events import value_encoding as values
from runfold.errors import CannotEdit, UnknownTag


@pytest.mark.parametrize("chunk", [1, 13, 100, 1000])
def test_records_are_copied_the_same_way_for_any_chunk_size(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = losses(*range(30))
    events.value(values.text("note", "x" * 5000), 40, START)
    path = write(tmp_path / "log", events)
    monkeypatch.setattr(records, "CHUNK", chunk)
    edit(tmp_path / "log", tmp_path / "new", shift_steps=1)
    edit(tmp_path / "new", tmp_path / "back", shift_steps=-1)
    assert (tmp_path / "back" / path.name).read_bytes() == events.getvalue()


def test_record_longer_than_a_chunk_is_kept(tmp_path: Path) -> None:
    events = losses(1.0, 2.0)
    events.value(values.text("note", "x" * (9 << 20)), 40, START)
    write(tmp_path / "log", events)
    edit(tmp_path / "log", tmp_path / "new", cut_steps=[(0, 1)])
    assert len(rf.open(tmp_path / "new").text()["text"][0]) == 9 << 20
    assert rf.open(tmp_path / "new")["."]["train/loss"].steps.tolist() == [1]


def test_damaged_records_are_left_out_and_reported(tmp_path: Path) -> None:
    data = bytearray(losses(*range(5)).getvalue())
    data[100] ^= 1
    path = write(tmp_path / "log" / "run", EventBuffer())
    path.write_bytes(data[:-3])
    report = edit(tmp_path / "log", tmp_path / "new", shift_steps=1)
    assert [note.partition(": ")[2] for note in report.notes] == [
        "left out 1 record with a bad checksum.",
        "left out 45 bytes at the end, where no complete record starts."
        " `runfold repair` may recover some of this data.",
    ]
    assert rf.open(tmp_path / "new").problems().empty
    assert rf.open(tmp_path / "new")["run"]["train/loss"].steps.tolist() == [1, 3, 4]


def test_tracked_run_keeps_its_story_and_cannot_be_edited_in_place_while_running(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "log" / "run"
    with rf.track(folder, hparams={"lr": 0.1}) as run:
        run.log({"train/loss": 0.5, "debug/x": 1.0}, step=1)
        run.flush()
        with pytest.raises(CannotEdit, match="Still being written to"):
            edit(tmp_path / "log", in_place=True, keep_tags="train/*")
    edit(tmp_path / "log", in_place=True, keep_tags="train/*", cut_steps=[(None, 1)])
    edited = rf.open(tmp_path / "log")["run"]
    assert list(edited) == ["train/loss"]
    assert edited.status.state == "finished"
    assert edited.config == {"lr": 0.1}
    assert rf.open(tmp_path / "log").problems().empty


def test_folder_keeps_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    write(tmp_path / "log" / name, losses(1.0, 2.0))
    (tmp_path / "log" / name / "model.pt").write_bytes(b"weights")
    edit(tmp_path / "log", tmp_path / "new", shift_steps=1)
    with open(tmp_path / "log" / name / "events.out.tfevents.1", "ab") as file:
        file.write(b"torn")  # an intact log is not copied
    repair(tmp_path / "log", tmp_path / "sound")
    for folder in ("new", "sound"):
        assert os.listdir(tmp_path / folder) == [name]
        names = sorted(os.listdir(tmp_path / folder / name))
        assert names == ["events.out.tfevents.1", "model.pt"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_loss=x", {"a_loss": "x"}),
        ("*_loss=*/loss", {"a_loss": "a/loss", "b_loss": "b/loss"}),
        ("?_*=*", {"a_loss": "loss", "b_loss": "loss"}),
        (r"s/^(.)_(.*)/\2-\1/", {"a_loss": "loss-a", "b_loss": "loss-b"}),
        (r"s/(a|b)_/\1\//", {"a_loss": "a/loss", "b_loss": "b/loss"}),
        ("s|_|/|", {"a_loss": "a/loss", "b_loss": "b/loss"}),
        (r"lr\=1=lr", {"lr=1": "lr"}),
        ("[!a]_loss=z", {"b_loss": "z"}),
    ],
)
def test_renames_accept_names_globs_and_patterns(text: str, expected: dict[str, str]) -> None:
    assert rename(["a_loss", "b_loss", "lr=1"], [parse_rename(text)]) == expected


@pytest.mark.parametrize(
    "text", ["a", "=b", "a=b=c", "a_loss=*", "[z-a]*=x", "s/(/x/", r"s/a/\9/", r"s/a\/b/"]
)
def test_invalid_renames_are_rejected(text: str) -> None:
    with pytest.raises((CannotEdit, UnknownTag)):
        rename(["aa_loss", "*a"], [parse_rename(text)])
