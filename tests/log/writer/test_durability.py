"""Durability: which calls wait until data is on disk."""

import errno
import os
import stat

import pytest
from helpers.cli_runs import losses, write
from helpers.log_runs import logged

import runfold as rf
from runfold._cli import main


@pytest.fixture
def synced(monkeypatch):
    """The kind and path of everything that is synced."""
    found = []
    real = os.fsync

    def fsync(file):
        descriptor = file if isinstance(file, int) else file.fileno()
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        found.append((kind, os.readlink(f"/proc/self/fd/{descriptor}")))
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_logging_flushing_and_closing_do_not_wait_for_the_disk(tmp_path, synced):
    with rf.track(tmp_path / "run", hparams={"lr": 0.1}, code=False, system=False) as run:
        run.log({"loss": 1.0}, step=1)
        run.flush()
    with rf.SummaryWriter(tmp_path / "plain") as writer:
        writer.add_scalar("loss", 1.0, 1)
        writer.flush()
    assert synced == []


@pytest.mark.parametrize("make", [rf.SummaryWriter, rf.track])
def test_a_flush_with_fsync_syncs_the_event_file_and_its_folder(tmp_path, synced, make):
    options = {"code": False, "system": False} if make is rf.track else {}
    with make(tmp_path / "run", **options) as writer:
        writer.add_scalar("loss", 1.0, 1)
        writer.flush(fsync=True)
        assert synced == [("file", writer.path), ("folder", str(tmp_path / "run"))]
        # Everything had been written before that.
        assert logged(tmp_path / "run") == {1: 1.0}


def test_a_disk_that_cannot_be_synced_is_reported(tmp_path, monkeypatch):
    def fail(file):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with rf.SummaryWriter(tmp_path / "warns") as writer:
        writer.add_scalar("loss", 1.0, 1)
        with pytest.warns(UserWarning, match="may be lost in a power failure"):
            writer.flush(fsync=True)
    with rf.SummaryWriter(tmp_path / "raises", on_error="raise") as writer:
        writer.add_scalar("loss", 1.0, 1)
        with pytest.raises(OSError, match="Input/output error"):
            writer.flush(fsync=True)
    assert logged(tmp_path / "raises") == {1: 1.0}


def test_a_silent_or_closed_writer_has_nothing_to_sync(tmp_path, synced):
    with rf.SummaryWriter(tmp_path, write_to_disk=False) as silent:
        silent.add_scalar("loss", 1.0, 1)
        silent.flush(fsync=True)
    silent.flush(fsync=True)
    assert synced == []


@pytest.mark.parametrize(
    "command",
    [
        ["edit", "runs", "--in-place", "--rename-tag", "train/loss=loss"],
        ["repair", "runs", "-o", "out"],
        ["pack", "runs", "-o", "out.parquet"],
        ["export", "runs", "-o", "out.csv"],
        ["reduce", "runs", "-o", "out"],
    ],
    ids=lambda command: command[0],
)
def test_command_output_is_synced_before_it_is_renamed(
    tmp_path, synced, monkeypatch, capsys, command
):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        path = write(tmp_path / "runs" / name, losses(1.0, 2.0))
        with path.open("ab") as file:
            file.write(b"torn")
    assert main(command) == 0, capsys.readouterr().err
    files = [path for kind, path in synced if kind == "file"]
    assert files
    assert all(".runfold-" in path for path in files)
