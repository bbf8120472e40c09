"""Faults 42 to 46: logs on disk that are missing, growing, deleted or replaced."""

import os
import subprocess
import sys

import pytest
from helpers.faultfiles import (
    EVENTS,
    append,
    before_open,
    codes,
    image,
    points,
    replace,
    steps,
    version,
    write,
)

import runfold as rf
from runfold.errors import FileChanged, LogdirNotFound


@pytest.mark.fault(42)
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("logs/seed-l", "No logdir 'logs/seed-l'. Did you mean 'seed-1'?"),
        ("lgos/seed-1", "No logdir 'lgos/seed-1': there is no 'lgos'. Did you mean 'logs'?"),
        ("logs/x*", "Nothing matches 'logs/x*'."),
    ],
)
def test_a_missing_logdir_is_one_line_with_close_matches(tmp_path, monkeypatch, path, message):
    write(tmp_path / "logs" / "seed-1" / EVENTS, points(1))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LogdirNotFound) as caught:
        rf.open(path)
    assert str(caught.value) == message
    assert isinstance(caught.value, FileNotFoundError)


# Fault 43: files that grow


@pytest.mark.fault(43)
def test_data_appended_after_discovery_is_read(tmp_path):
    path = write(tmp_path / EVENTS, version(), points(1))
    runs = rf.open(tmp_path)
    append(path, points(2))
    assert steps(runs) == [1, 2]


@pytest.mark.fault(43)
def test_a_file_that_grows_while_it_is_opened_is_read_as_a_prefix(tmp_path):
    path = write(tmp_path / EVENTS, version(), points(0))
    runs = rf.open(tmp_path)
    held = 1

    def grow() -> None:
        nonlocal held
        append(path, points(held), points(held + 1)[:-7])
        held += 1

    with before_open(path, grow):
        runs.load()
    assert steps(runs) == list(range(held))


WRITER = """
import sys
with open(sys.argv[1], "ab", buffering=0) as file:
    while data := sys.stdin.buffer.raw.read(37):
        file.write(data)
"""


@pytest.mark.fault(43)
def test_every_read_during_a_live_write_is_a_prefix(tmp_path):
    """The writer splits records anywhere; old and new readers see whole records, in order."""
    path = write(tmp_path / EVENTS, version(), points(0))
    records = points(*range(1, 20_000))
    followed = rf.open(tmp_path)
    seen = 1
    command = [sys.executable, "-c", WRITER, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0) as writer:
        for start in range(0, len(records), 10_000):
            writer.stdin.write(records[start : start + 10_000])
            followed.refresh()
            for runs in (followed, rf.open(tmp_path)):
                series = runs["."]["loss"]
                assert len(series) >= seen
                seen = len(series)
                assert series.steps.tolist() == series.values.tolist() == list(range(seen))
                assert codes(runs) == []
    assert writer.returncode == 0
    assert followed.refresh().reread == []
    assert steps(followed) == list(range(20_000))


# Fault 44: files that are deleted


@pytest.mark.fault(44)
def test_a_file_deleted_before_it_is_read_is_reported_and_hides_no_other(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name / EVENTS, points(1, 2))
    write(tmp_path / "a" / "z.tfevents", points(3))
    runs = rf.open(tmp_path)
    (tmp_path / "a" / EVENTS).unlink()
    assert (steps(runs, "a"), steps(runs, "b")) == ([3], [1, 2])
    assert codes(runs) == [("file-vanished", EVENTS)]
    assert runs.problems()["run"].tolist() == ["a"]


@pytest.mark.fault(44)
def test_a_file_deleted_while_it_is_open_is_read_to_its_end(tmp_path, monkeypatch, python_reads):
    path = write(tmp_path / EVENTS, points(*range(10)))
    preadv = os.preadv

    def delete_and_read(*args):
        path.unlink(missing_ok=True)
        return preadv(*args)

    monkeypatch.setattr(os, "preadv", delete_and_read)
    runs = rf.open(tmp_path)
    assert steps(runs) == list(range(10))
    assert runs.refresh().missing == [str(path)]


@pytest.mark.fault(44)
def test_points_of_a_file_deleted_after_reading_are_kept(tmp_path):
    path = write(tmp_path / EVENTS, points(1, 2), image(1, b"x"))
    runs = rf.open(tmp_path)
    [picture] = runs.images()["image"]
    path.unlink()
    changes = runs.refresh()
    assert changes
    assert (changes.missing, changes.points, changes.reread) == ([str(path)], 0, [])
    assert steps(runs) == [1, 2]
    assert codes(runs) == [("file-vanished", EVENTS)]
    assert "Data read earlier was kept." in runs.problems()["message"][0]
    with pytest.raises(FileChanged):
        _ = picture.data
    assert not runs.refresh()
    assert list(runs) == ["."]


# Faults 45 and 46: files that are replaced


@pytest.mark.fault(45)
def test_a_file_replaced_by_a_longer_copy_is_read_again_once(tmp_path):
    path = write(tmp_path / EVENTS, version(), points(1, 2))
    runs = rf.open(tmp_path).load()
    replace(path, version(), points(1, 2, 3))
    changes = runs.refresh()
    assert (changes.reread, changes.points) == ([str(path)], 1)
    assert steps(runs) == [1, 2, 3]
    assert not runs.refresh()
    append(path, points(4))
    assert runs.refresh().reread == []
    assert steps(runs) == [1, 2, 3, 4]
    assert codes(runs) == []


OTHERS = {
    "shorter": points(7),
    "longer": points(7, 8, 9, 10, 11),
    "of the same size": points(7, 8, 9),
    "of the same size, with the same end": points(1, 2, value=9) + points(3),
    "empty": b"",
    "torn": points(7, 8)[:-5],
}


@pytest.mark.fault(45)
@pytest.mark.fault(46)
@pytest.mark.parametrize("content", OTHERS)
@pytest.mark.parametrize("how", [write, replace], ids=["in place", "by another file"])
def test_a_rewritten_file_is_read_again(tmp_path, content, how):
    path = write(tmp_path / EVENTS, points(1, 2, 3))
    other = write(tmp_path / "z.tfevents", points(20))
    runs = rf.open(tmp_path).load()
    how(path, OTHERS[content])
    changes = runs.refresh()
    assert changes.reread == [str(path)]
    fresh = rf.open(tmp_path)
    assert steps(runs) == steps(fresh)
    assert runs["."]["loss"].values.tolist() == fresh["."]["loss"].values.tolist()
    assert steps(runs)[-1] == 20
    append(other, points(21))
    assert runs.refresh().reread == []
    assert steps(runs)[-1] == 21
    assert codes(runs) == []


@pytest.mark.fault(46)
def test_a_truncated_file_is_read_again_and_can_grow(tmp_path):
    path = write(tmp_path / EVENTS, version(), points(1, 2, 3))
    runs = rf.open(tmp_path).load()
    os.truncate(path, len(version() + points(1)) + 9)
    changes = runs.refresh()
    assert (changes.reread, changes.points) == ([str(path)], -2)
    assert steps(runs) == [1]
    os.truncate(path, len(version() + points(1)))
    append(path, points(5))
    runs.refresh()
    assert steps(runs) == [1, 5]


@pytest.mark.fault(46)
def test_cutting_off_a_torn_tail_is_not_a_rewrite(tmp_path):
    """A writer that continues the same file after a crash removes its own torn record."""
    path = write(tmp_path / EVENTS, version(), points(1, 2)[:-3])
    runs = rf.open(tmp_path).load()
    os.truncate(path, len(version() + points(1)))
    append(path, points(3))
    assert runs.refresh().reread == []
    assert steps(runs) == [1, 3]


@pytest.mark.fault(45)
def test_tags_missing_from_the_new_file_are_removed(tmp_path):
    path = write(tmp_path / EVENTS, points(1, tag="old"), image(1, b"x"))
    runs = rf.open(tmp_path).load()
    replace(path, points(1, tag="new"))
    runs.refresh()
    assert runs.tags == {"scalar": ["new"]}
