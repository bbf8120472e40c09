"""runs.refresh(): new data is read, and results returned earlier do not change."""

import os

import numpy as np
import pytest
from helpers.faultfiles import (
    EVENTS,
    append,
    codes,
    image,
    points,
    replace,
    restart,
    steps,
    version,
    write,
)

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values
from runfold.errors import FileChanged


@pytest.fixture
def bytes_read(monkeypatch, python_reads):
    """The sizes of all reads of event files, in bytes."""
    counts = []
    preadv = os.preadv

    def count(descriptor, views, offset):
        counts.append(preadv(descriptor, views, offset))
        return counts[-1]

    monkeypatch.setattr(os, "preadv", count)
    return counts


def test_only_new_data_is_read(tmp_path, bytes_read):
    path = write(tmp_path / EVENTS, version(), points(*range(1000)))
    runs = rf.open(tmp_path).load()
    assert sum(bytes_read) == path.stat().st_size
    bytes_read.clear()
    grown = points(1000, 1001)
    append(path, grown)
    changes = runs.refresh()
    assert (changes.points, changes.runs, changes.reread, changes.missing) == (2, [], [], [])
    assert sum(bytes_read) == len(grown)
    assert steps(runs) == list(range(1002))


def test_a_refresh_without_changes_is_falsy_and_reads_nothing(tmp_path, bytes_read):
    write(tmp_path / "a" / EVENTS, version(), points(1, 2))
    write(tmp_path / "b" / EVENTS, version(), points(1, 2), image(3, b"x"))
    runs = rf.open(tmp_path).load()
    series = runs["a"]["loss"]
    bytes_read.clear()
    assert not runs.refresh()
    assert bytes_read == []
    assert runs["a"]["loss"] is series


def test_new_runs_are_listed_in_order_and_read_on_demand(tmp_path, bytes_read):
    for name in ("seed-1", "seed-10"):
        write(tmp_path / name / EVENTS, points(1))
    runs = rf.open(tmp_path).load()
    bytes_read.clear()
    write(tmp_path / "seed-2" / EVENTS, points(5))
    changes = runs.refresh()
    assert changes
    assert changes.runs == ["seed-2"]
    assert list(runs) == ["seed-1", "seed-2", "seed-10"]
    assert bytes_read == []
    assert steps(runs, "seed-2") == [5]


def test_a_refresh_does_not_read_runs_that_were_not_read_before(tmp_path, bytes_read):
    for name in ("a", "b"):
        write(tmp_path / name / EVENTS, points(1))
    runs = rf.open(tmp_path)
    assert steps(runs, "a") == [1]
    bytes_read.clear()
    append(tmp_path / "b" / EVENTS, points(2))
    assert not runs.refresh()
    assert bytes_read == []
    assert steps(runs, "b") == [1, 2]


def test_a_new_file_continues_the_run(tmp_path):
    write(tmp_path / "1.tfevents", version(), points(1, 2))
    runs = rf.open(tmp_path).load()
    write(tmp_path / "2.tfevents", version(), points(3), points(3, tag="accuracy"))
    assert runs.refresh().points == 2
    assert steps(runs) == [1, 2, 3]
    assert steps(runs, tag="accuracy") == [3]


def test_several_tags_and_kinds_grow(tmp_path):
    path = write(tmp_path / EVENTS, points(1, tag="a"), points(1, tag="b"), image(1, b"one"))
    runs = rf.open(tmp_path).load()
    assert runs.tags == {"scalar": ["a", "b"], "image": ["picture"]}
    append(path, points(2, 3, tag="b"), points(2, tag="c"), image(2, b"two"), points(4, tag="a"))
    assert runs.refresh().points == 5
    assert {tag: steps(runs, tag=tag) for tag in "abc"} == {"a": [1, 4], "b": [1, 2, 3], "c": [2]}
    assert [image.data for image in runs.images()["image"]] == [b"one", b"two"]
    assert len(runs.scalars()) == 6


def test_a_torn_record_is_read_once_it_is_complete(tmp_path):
    record = points(2)
    path = write(tmp_path / EVENTS, points(1), record[:-3])
    runs = rf.open(tmp_path).load()
    assert steps(runs) == [1]
    append(path, record[-3:])
    assert runs.refresh().points == 1
    assert steps(runs) == [1, 2]


def test_results_returned_earlier_do_not_change(tmp_path):
    path = write(tmp_path / EVENTS, points(*range(100)))
    runs = rf.open(tmp_path)
    series, table = runs["."]["loss"], runs.scalars()
    arrays = (series.steps, series.wall_times, series.values)
    copies = [array.copy() for array in arrays]
    append(path, restart(50), points(*range(50, 60)))
    assert runs.refresh()
    assert steps(runs) == list(range(60))
    assert steps(runs) != series.steps.tolist()
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, copies, strict=True))
    assert table["step"].tolist() == list(range(100))


def test_a_restart_that_hides_as_much_as_it_adds_is_a_change(tmp_path):
    path = write(tmp_path / EVENTS, points(1, 2, 3, 4))
    runs = rf.open(tmp_path).load()
    append(path, restart(3), points(3, 4, value=0.5))
    changes = runs.refresh()
    assert changes
    assert changes.points == 2
    assert runs["."]["loss"].values.tolist() == [1, 2, 0.5, 0.5]
    assert runs.hidden == 2


# Values that are read from the file on demand


def test_images_are_fetched_after_growth(tmp_path):
    path = write(tmp_path / EVENTS, image(1, b"one" * 1000))
    runs = rf.open(tmp_path)
    before = runs.images()["image"][0]
    append(path, image(2, b"two"))
    assert before.data == b"one" * 1000
    runs.refresh()
    assert [image.data for image in runs.images()["image"]] == [b"one" * 1000, b"two"]


def test_images_are_fetched_after_an_older_file_came_before_theirs(tmp_path):
    write(tmp_path / "2.tfevents", image(1, b"two"))
    runs = rf.open(tmp_path)
    [before] = runs.images()["image"]
    write(tmp_path / "1.tfevents", image(0, b"one"))
    runs.refresh()
    assert before.data == b"two"
    assert [image.data for image in runs.images()["image"]] == [b"one", b"two"]


REPLACEMENTS = {
    "another file": replace,
    "the same file, rewritten": write,
}


@pytest.mark.parametrize("how", REPLACEMENTS)
def test_an_image_of_a_replaced_file_raises_file_changed(tmp_path, how):
    """The new file has a valid record of the same size at the same position."""
    path = write(tmp_path / EVENTS, version(1.0), image(1, b"old"))
    runs = rf.open(tmp_path)
    [old] = runs.images()["image"]
    REPLACEMENTS[how](path, version(2.0), image(1, b"new"))
    with pytest.raises(FileChanged) as caught:
        _ = old.data
    assert str(caught.value) == (
        f"{path}: the file has changed since it was indexed."
        " Read the log again (runs.refresh(), or Reload()) and retry."
    )
    with pytest.raises(FileChanged):
        runs.images()
    assert runs.refresh().reread == [str(path)]
    assert [image.data for image in runs.images()["image"]] == [b"new"]
    with pytest.raises(FileChanged):
        _ = old.data


def test_problems_of_a_replaced_file_are_dropped(tmp_path):
    buffer = EventBuffer()
    buffer.value(values.tensor("note", np.zeros(3), "text"), 1, 1.0)
    path = write(tmp_path / EVENTS, version(1.0), buffer.getvalue())
    runs = rf.open(tmp_path)
    assert len(runs.text()) == 0
    assert codes(runs) == [("bad-value", EVENTS)]
    replace(path, version(2.0), points(1))
    runs.refresh()
    assert codes(runs) == []


def test_a_lost_file_does_not_remove_other_values_from_the_table(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name / EVENTS, points(1), image(1, name.encode()))
    runs = rf.open(tmp_path).load()
    (tmp_path / "a" / EVENTS).rename(tmp_path / "kept")
    with pytest.raises(FileChanged):
        runs.images()
    runs.refresh()
    assert [image.data for image in runs.images()["image"]] == [b"b"]
    assert steps(runs, "a") == [1]
    assert codes(runs) == [("file-vanished", EVENTS)]
    (tmp_path / "kept").rename(tmp_path / "a" / EVENTS)
    runs.refresh()
    assert [image.data for image in runs.images()["image"]] == [b"a", b"b"]
    assert codes(runs) == []
