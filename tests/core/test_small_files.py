"""Small files are read whole; everything unusual is left to Python code."""

import os
from pathlib import Path

import pytest

from runfold._core.small_files import read_small_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows reads all files in Python")


def state(path: Path) -> tuple[int, int, int, int, int]:
    status = path.stat()
    return (
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_dev,
    )


def test_files_follow_each_other_in_the_buffer_with_their_states(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    paths = [tmp_path / name for name in ("a", odd, "empty", "\N{SNOWMAN}")]
    for path, content in zip(paths, (b"one", b"three", b"", b"4"), strict=True):
        path.write_bytes(content)
    buffer = bytearray(20)
    assert read_small_files([str(path) for path in paths], buffer, 5) == list(map(state, paths))
    assert buffer.startswith(b"onethree4\0")


def test_reading_stops_at_the_first_file_that_does_not_fit(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in "abc"]
    for path in paths:
        Path(path).write_bytes(b"12345")
    buffer = bytearray(12)
    assert len(read_small_files(paths, buffer, 5)) == 2
    assert buffer == b"1234512345\0\0"
    assert read_small_files(paths, bytearray(4), 5) == []
    assert read_small_files([], buffer, 5) == []


def test_whatever_is_unusual_is_left_out(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(b"abc")
    (tmp_path / "large").write_bytes(b"abcd")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to("nowhere")
    names = ["large", "folder", "fifo", "dangling", "missing", "small\0more", "small"]
    buffer = bytearray(8)
    found = read_small_files([f"{tmp_path}/{name}" for name in names], buffer, 3)
    assert found == [None] * 6 + [state(small)]
    assert buffer == b"abc\0\0\0\0\0"
    assert read_small_files(["/dev/null", "/dev/zero"], buffer, 3) == [None, None]


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    read_small_files([str(path), str(tmp_path), "missing"] * 50, bytearray(1000), 3)
    read_small_files([str(path)], bytearray(1), 3)
    after = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    assert len(after) == len(before)
