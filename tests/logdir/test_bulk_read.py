"""Bulk reads with buffers that are too small for some files and records."""

import os

import pytest
from helpers.faultfiles import image, points, version, write
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.decoder import decode
from runfold._core.tag_table import Tags
from runfold._events.event_file import EventFile
from runfold._logdir import bulk_read as read
from runfold._logdir.bulk_read import Reader

RECORD = len(points(1))


def read_files(*paths):
    """Read files of separate runs through one reader."""
    files = [EventFile(str(path), Tags()) for path in paths]
    reader = Reader()
    for file in files:
        reader.read(file)
    reader.finish()
    return files


def steps(file, tag=0):
    return file.columns.scalars[tag][0].tolist()


def item_steps(file):
    return file.columns.items["step"].tolist()


@pytest.fixture
def buffer_size(monkeypatch):
    """Shrink the reader's buffer, which has the same effect as larger files."""

    def set_size(size, smallest_read=1):
        monkeypatch.setattr(read, "BUFFER_SIZE", size)
        monkeypatch.setattr(read, "_SMALLEST_READ", smallest_read)

    return set_size


@pytest.mark.parametrize("size", [16, 17, RECORD - 1, RECORD, RECORD + 1, 100, 1000, 10_000])
def test_files_larger_than_the_buffer_are_read_completely(tmp_path, buffer_size, size):
    buffer_size(size)
    path = write(tmp_path / "a.tfevents", version(), points(*range(1, 101)))
    [file] = read_files(path)
    assert steps(file) == list(range(1, 101))
    assert file.decoder.offset == path.stat().st_size
    assert list(file.problems([])) == []


@pytest.mark.parametrize("length", [0, 1, 200, 255, 256, 257, 5000])
def test_records_larger_than_the_buffer_are_read(tmp_path, buffer_size, length):
    buffer_size(256)
    path = write(tmp_path / "a.tfevents", points(0), image(1, b"x" * length), points(2))
    [file] = read_files(path)
    assert steps(file) == [0, 2]
    assert item_steps(file) == [1]


def test_the_buffer_shrinks_again_after_a_large_record(tmp_path, buffer_size):
    buffer_size(256)
    path = write(tmp_path / "a.tfevents", image(1, b"x" * 5000), points(*range(1, 21)))
    reader = Reader()
    file = EventFile(str(path), Tags())
    reader.read(file)
    reader.finish()
    assert steps(file, tag=1) == list(range(1, 21))
    assert len(reader._buffer) == 256


def test_a_record_that_does_not_fit_after_other_files_is_read(tmp_path):
    """After 3.9 MB of other files, the buffer is too small for the image."""
    first = write(tmp_path / "a.tfevents", image(0, b"x" * 3_900_000))
    second = write(tmp_path / "b.tfevents", image(1, b"x" * 1_000_000), points(2))
    files = read_files(first, second)
    assert [item_steps(file) for file in files] == [[0], [1]]
    assert steps(files[1], tag=1) == [2]


def test_many_small_files_share_the_buffer(tmp_path, buffer_size, monkeypatch):
    buffer_size(10 * RECORD)
    paths = [write(tmp_path / f"{number}.tfevents", points(number)) for number in range(1, 36)]
    sizes = []

    def count_and_decode(decoders, *rest):
        sizes.append(len(decoders))
        decode(decoders, *rest)

    monkeypatch.setattr(read, "decode", count_and_decode)
    files = read_files(*paths)
    assert [steps(file) for file in files] == [[number] for number in range(1, 36)]
    assert sizes == [10, 10, 10, 5]


def test_a_file_that_ends_exactly_at_the_end_of_the_buffer_is_read(tmp_path, buffer_size):
    buffer_size(10 * RECORD)
    whole = write(tmp_path / "a.tfevents", points(*range(1, 11)))
    twice = write(tmp_path / "b.tfevents", points(*range(1, 21)))
    after = write(tmp_path / "c.tfevents", points(7))
    files = read_files(whole, twice, after)
    assert [steps(file) for file in files] == [list(range(1, 11)), list(range(1, 21)), [7]]


@pytest.mark.parametrize("cut", range(1, RECORD))
def test_a_torn_tail_is_left_for_the_next_read(tmp_path, buffer_size, cut):
    buffer_size(4 * RECORD)
    whole = points(*range(1, 11))
    path = write(tmp_path / "a.tfevents", whole[:-cut])
    other = write(tmp_path / "b.tfevents", points(5))
    file, second = read_files(path, other)
    assert (steps(file), steps(second)) == (list(range(1, 10)), [5])
    assert file.decoder.offset == 9 * RECORD
    path.write_bytes(whole)
    reader = Reader()
    reader.read(file)
    reader.finish()
    assert steps(file) == list(range(1, 11))
    assert file.rereads == 0


def test_truncating_a_file_while_it_is_read_ends_the_read(tmp_path, buffer_size, monkeypatch):
    buffer_size(4 * RECORD)
    path = write(tmp_path / "a.tfevents", points(*range(1, 101)))
    preadv = os.preadv

    def cut_and_read(descriptor, views, offset):
        if offset >= 20 * RECORD:
            os.truncate(path, 22 * RECORD + 5)
        return preadv(descriptor, views, offset)

    monkeypatch.setattr(os, "preadv", cut_and_read)
    [file] = read_files(path)
    assert steps(file) == list(range(1, 23))


def test_bytes_appended_during_a_read_are_left_for_the_next(tmp_path, buffer_size, monkeypatch):
    buffer_size(4 * RECORD)
    path = write(tmp_path / "a.tfevents", points(*range(1, 11)))
    preadv = os.preadv

    def grow_and_read(descriptor, views, offset):
        with path.open("ab") as stream:
            stream.write(points(99))
        return preadv(descriptor, views, offset)

    monkeypatch.setattr(os, "preadv", grow_and_read)
    [file] = read_files(path)
    assert steps(file) == list(range(1, 11))


def test_short_reads_are_continued(tmp_path, monkeypatch):
    path = write(tmp_path / "a.tfevents", points(*range(50)))
    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, views, at: preadv(file, [views[0][:7]], at))
    [file] = read_files(path)
    assert steps(file) == list(range(50))


@given(
    lengths=st.lists(st.lists(st.integers(0, 300), max_size=6), min_size=1, max_size=6),
    size=st.integers(64, 1000),
    smallest=st.sampled_from([1, 50, 1 << 16]),
)
def test_all_values_are_read_whatever_the_files_and_the_buffer(
    tmp_path_factory, lengths, size, smallest
):
    folder = tmp_path_factory.mktemp("files")
    paths = [
        write(
            folder / f"{number}.tfevents",
            *(image(step, b"x" * length) for step, length in enumerate(file)),
        )
        for number, file in enumerate(lengths)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "BUFFER_SIZE", size)
        patch.setattr(read, "_SMALLEST_READ", smallest)
        files = read_files(*paths)
    assert [item_steps(file) for file in files] == [list(range(len(file))) for file in lengths]
