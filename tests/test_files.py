import errno
import os
import socket
from pathlib import Path

import pytest

from runfold._files import (
    create_file,
    is_inside,
    open_draft,
    place_new,
    read_small,
    replace_small,
)


def test_a_small_regular_file_is_read_completely(tmp_path: Path) -> None:
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


def test_a_file_is_replaced_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "index.json"
    path.write_bytes(b"old")
    replace_small(str(path), b"new", 0o640)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["index.json"]


def test_a_link_is_replaced_and_its_target_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"private")
    path = tmp_path / "index.json"
    path.symlink_to("victim")
    replace_small(str(path), b"new", 0o666)
    assert not path.is_symlink()
    assert (tmp_path / "victim").read_bytes() == b"private"


def test_a_failed_replacement_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "index.json").mkdir()
    with pytest.raises(OSError, match=r"index\.json"):
        replace_small(str(tmp_path / "index.json"), b"new")
    assert os.listdir(tmp_path) == ["index.json"]


def test_the_name_of_a_draft_cannot_be_guessed(tmp_path: Path) -> None:
    (tmp_path / "index.json").mkdir()
    drafts = set()
    for _ in range(2):
        with pytest.raises(OSError, match=r"index\.json") as raised:
            replace_small(str(tmp_path / "index.json"), b"new")
        drafts.add(raised.value.filename)
    assert len(drafts) == 2


def test_a_link_with_the_name_of_a_draft_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runfold._files.name_temporary", lambda: ".guessed.tmp")
    victim = tmp_path / "victim"
    victim.write_bytes(b"private")
    (tmp_path / ".guessed.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        replace_small(str(tmp_path / "index.json"), b"new", 0o666)
    assert victim.read_bytes() == b"private"
    assert victim.stat().st_mode & 0o777 != 0o666


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


def test_a_failed_draft_is_deleted_and_the_old_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "index.json"
    path.write_bytes(b"old")

    def fail() -> None:
        with open_draft(str(path)) as file:
            file.write(b"half")
            assert len(os.listdir(tmp_path)) == 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["index.json"]


def test_a_draft_has_the_given_time(tmp_path: Path) -> None:
    path = tmp_path / "copy"
    with open_draft(str(path), time=17.5, is_synced=True) as file:
        file.write(b"x" * 100_000)
    assert path.stat().st_mtime == 17.5
    assert path.stat().st_size == 100_000


@pytest.mark.parametrize("target", ["missing", "victim"])
def test_a_new_file_is_not_created_through_a_link(tmp_path: Path, target: str) -> None:
    (tmp_path / "victim").write_bytes(b"private")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(FileExistsError):
        create_file(str(tmp_path / "link"))
    assert (tmp_path / "victim").read_bytes() == b"private"
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("can_link", [True, False])
def test_an_existing_file_is_not_replaced_by_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_link: bool
) -> None:
    if not can_link:  # like a file system without hard links

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
    draft, path = tmp_path / "draft", tmp_path / "path"
    draft.write_bytes(b"new")
    path.write_bytes(b"old")
    assert not place_new(str(draft), str(path))
    assert path.read_bytes() == b"old"
    path.unlink()
    assert place_new(str(draft), str(path))
    assert path.read_bytes() == b"new"


def test_an_existing_folder_is_not_replaced_by_a_new_folder(tmp_path: Path) -> None:
    draft, path = tmp_path / "draft", tmp_path / "path"
    draft.mkdir()
    path.mkdir()
    assert not place_new(str(draft), str(path))
    path.rmdir()
    assert place_new(str(draft), str(path))
    assert os.listdir(tmp_path) == ["path"]
