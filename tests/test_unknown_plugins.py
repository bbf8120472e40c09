"""Values that only their plugin can read are listed, with their count and size."""

import json
from pathlib import Path

import pytest
from logs import scalars, values, write
from packs import pack
from serve_client import Client

import runfold as rf
from runfold.cli import main
from runfold.events.values import metadata_only

SENTENCE = "Not decoded: 3 values, {} B, of plugins that Runfold does not know: beholder, debugger."


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Values of two plugins, all in their metadata, and one that says what a tag is."""
    strange = [metadata_only("frames", "beholder", bytes(100))] * 2
    write(
        tmp_path / "logs" / "a",
        values(*strange, metadata_only("state", "debugger", b"x")),
        values(metadata_only("loss", "scalars", b"")),
        scalars("loss", (0, 1.0)),
    )
    write(tmp_path / "logs" / "b", scalars("loss", (0, 1.0)))
    return tmp_path / "logs"


def size_of(logdir: Path) -> int:
    log = rf.open(logdir)._logdir.logs["a"]
    log.load()
    return sum(size for _, size in log.unknown.values())


@pytest.mark.parametrize("is_packed", [False, True])
def test_tags_of_unknown_plugins_are_listed(logdir: Path, is_packed: bool):
    runs = rf.open(pack(logdir) if is_packed else logdir)
    assert runs["a"].tags == {"scalar": ["loss"], "unknown": ["frames", "state"]}
    assert runs.tags == runs["a"].tags
    assert runs["b"].tags == {"scalar": ["loss"]}
    assert runs["a"].points == 1
    assert repr(runs["a"]).splitlines()[-1] == SENTENCE.format(size_of(logdir))
    assert 201 < size_of(logdir) < 400


def test_ls_and_check_say_how_much_was_not_decoded(logdir: Path, capsys):
    sentence = SENTENCE.format(size_of(logdir))
    assert main(["ls", str(logdir)]) == 0
    out, err = capsys.readouterr()
    assert "1 scalar, 2 unknown" in out
    assert sentence in err.splitlines()
    assert main(["ls", "--tags", str(logdir)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["a", "frames", "unknown", "(beholder)", "2", "-"] in rows
    assert main(["ls", "--json", str(logdir)]) == 0
    first, second = json.loads(capsys.readouterr().out)["runs"]
    assert [(one["plugin"], one["tag"], one["values"]) for one in first["unknown"]] == [
        ("beholder", "frames", 2),
        ("debugger", "state", 1),
    ]
    assert second["unknown"] == []
    assert main(["check", str(logdir)]) == 0
    assert sentence in capsys.readouterr().err.splitlines()
    assert main(["check", "--json", str(logdir)]) == 0
    assert len(json.loads(capsys.readouterr().out)["unknown"]) == 2


def test_show_says_why_it_cannot_show_them(logdir: Path, capsys):
    assert main(["show", str(logdir), "a", "state"]) == 2
    assert (
        "Tag 'state' in run 'a' cannot be shown. Not decoded: 1 value," in capsys.readouterr().err
    )


def test_the_page_hears_of_them(logdir: Path):
    assert Client(logdir).get("/api/status")["kinds"] == {"scalar": 1, "unknown": 2}


def test_exports_say_that_they_lack_them(logdir: Path, tmp_path: Path):
    done = rf.open(logdir).export(f"{tmp_path}/out/")
    assert "Values of plugins that Runfold does not know are not written." in done.notes
