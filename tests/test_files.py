import os
import socket
from pathlib import Path

import pytest

from runfold.files import is_inside, read_small, replace_small


def test_a_small_regular_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat"
    path.write_bytes(b"x" * 100)
    assert read_small(str(path), 100) == b"x" * 100


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat"
    path.write_bytes(b"x" * 101)
    with pytest.raises(OSError, match="Larger than 100 bytes"):
        read_small(str(path), 100)


def test_a_fifo_does_not_block_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat"
    os.mkfifo(path)
    with pytest.raises(OSError, match="Not a regular file"):
        read_small(str(path))


@pytest.mark.parametrize("target", ["/dev/zero", "/etc/hostname", "missing", "."])
def test_a_link_is_not_followed(tmp_path: Path, target: str) -> None:
    path = tmp_path / "heartbeat"
    path.symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"):
        read_small(str(path))


def test_a_folder_and_a_socket_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Not a regular file"):
        read_small(str(tmp_path))
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        with pytest.raises(OSError, match=path):
            read_small(path)


def test_a_file_is_replaced_whole_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "index.json"
    path.write_bytes(b"old")
    replace_small(str(path), b"new", 0o640)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["index.json"]


def test_a_link_is_replaced_and_its_target_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"private")
    path = tmp_path / "index.json"
    path.symlink_to("victim")
    replace_small(str(path), b"new", 0o666)
    assert not path.is_symlink()
    assert (tmp_path / "victim").read_bytes() == b"private"


def test_nothing_is_left_of_a_file_that_could_not_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "index.json").mkdir()
    with pytest.raises(OSError, match=r"index\.json"):
        replace_small(str(tmp_path / "index.json"), b"new")
    assert os.listdir(tmp_path) == ["index.json"]


def test_a_path_is_inside_only_after_its_links_are_resolved(tmp_path: Path) -> None:
    run, outside = tmp_path / "run", tmp_path / "run-2"
    run.mkdir()
    outside.mkdir()
    (run / "link").symlink_to(outside)
    assert is_inside(str(run), str(run))
    assert is_inside(str(run / "new" / "file"), str(run))
    assert not is_inside(str(outside), str(run))
    assert not is_inside(str(run / "link" / "file"), str(run))
    assert not is_inside(str(run / ".." / "other"), str(run))
