"""Temporary folders of instances on a node."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runfold._serve.clusters.node_folder import make_folder, remove_unused


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def make_old(folder: str) -> None:
    os.utime(folder, (0, 0))


def test_a_folder_is_kept_while_a_process_has_its_lock(place: Path) -> None:
    folder, lock = make_folder()
    assert Path(folder).parent == place
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock]
    )
    os.close(lock)
    make_old(folder)
    try:
        remove_unused()
        assert os.path.isdir(folder)
    finally:
        process.kill()
        process.communicate()
    remove_unused()
    assert os.listdir(place) == []


def test_only_folders_that_are_old_and_complete_are_removed(place: Path) -> None:
    new, lock = make_folder()
    os.close(lock)
    without_lock = place / "runfold-tensorboard-1"
    without_lock.mkdir()
    other = place / "other"
    other.mkdir()
    (other / "lock").touch()
    file = place / "runfold-tensorboard-2"
    file.touch()
    link = place / "runfold-tensorboard-3"
    link.symlink_to(other)
    kept = sorted(os.listdir(place))
    for path in (without_lock, other, file):
        make_old(str(path))
    remove_unused()
    assert sorted(os.listdir(place)) == kept
    make_old(new)
    remove_unused()
    assert sorted(os.listdir(place)) == sorted(set(kept) - {os.path.basename(new)})


def test_links_in_a_folder_are_not_followed(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    logs = tmp_path_factory.mktemp("logs")
    (logs / "events").write_text("kept")
    folder, lock = make_folder()
    os.close(lock)
    os.symlink(logs, os.path.join(folder, "tree"))
    make_old(folder)
    remove_unused()
    assert os.listdir(place) == []
    assert (logs / "events").read_text() == "kept"
