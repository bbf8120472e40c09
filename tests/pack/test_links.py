"""Links in a logdir: a pack never contains bytes of files outside the logdir that are not logs."""

import os
import shutil

import pyarrow.parquet as pq
import pytest
from helpers.faultfiles import points, version
from helpers.packs import pack, write

import runfold as rf
from runfold._conventions import PROJECTOR_CONFIG
from runfold._pack.pack import pack_logdir, unpack_logdir

SECRET = b"root:$6$salt$a-hash-that-nobody-may-read:19000:0:99999:7:::\n" * 20
NAME = "events.out.tfevents"


@pytest.fixture
def logdir(tmp_path):
    write(tmp_path / "logs" / "run" / f"{NAME}.1", version(), points(1, 2))
    (tmp_path / "secret").write_bytes(SECRET)
    return tmp_path / "logs"


def payloads(path):
    """Return all bytes in the rows of a pack."""
    return b"".join(data or b"" for data in pq.read_table(path)["payload"].to_pylist())


@pytest.mark.parametrize("partition", [False, True])
def test_linked_file_without_records_is_not_packed(logdir, partition):
    (logdir / "run" / f"{NAME}.2").symlink_to(logdir.parent / "secret")
    if partition:
        pack_logdir([logdir], logdir.parent / "packs", partition=True)
        (path,) = (logdir.parent / "packs").glob("*/*.parquet")
    else:
        path = pack(logdir)
    assert b"nobody-may-read" not in payloads(path)
    runs = rf.open(path)
    assert list(runs["run"]["loss"].values) == list(rf.open(logdir)["run"]["loss"].values)
    messages = list(runs.problems()["message"])
    assert (
        "a link to a file outside the logdir. Only the file's intact records were packed."
        in messages
    )
    unpack_logdir(path, logdir.parent / "again")
    assert os.listdir(logdir.parent / "again" / "run") == [f"{NAME}.1"]


def test_linked_log_with_other_bytes_keeps_its_records(logdir):
    log = logdir.parent / "log"
    log.write_bytes(version() + points(3, 4) + SECRET)
    (logdir / "run" / f"{NAME}.2").symlink_to(log)
    path = pack(logdir)
    assert b"nobody-may-read" not in payloads(path)
    unpack_logdir(path, logdir.parent / "again")
    assert (logdir.parent / "again" / "run" / f"{NAME}.2").read_bytes() == version() + points(3, 4)


def test_linked_run_is_unpacked_completely(logdir):
    elsewhere = logdir.parent / "elsewhere"
    write(elsewhere / f"{NAME}.1", version(), points(7, 8))
    (logdir / "linked").symlink_to(elsewhere)
    unpack_logdir(pack(logdir), logdir.parent / "again")
    again = logdir.parent / "again" / "linked" / f"{NAME}.1"
    assert again.read_bytes() == version() + points(7, 8)


def test_link_within_the_logdir_is_unpacked_exactly(logdir):
    torn = version() + points(3, 4)[:-5]
    (logdir / "kept").write_bytes(torn)
    (logdir / "run" / f"{NAME}.2").symlink_to(logdir / "kept")
    unpack_logdir(pack(logdir), logdir.parent / "again")
    assert (logdir.parent / "again" / "run" / f"{NAME}.2").read_bytes() == torn


def test_logdir_that_is_a_link_is_unpacked_exactly(logdir):
    torn = version() + points(3, 4)[:-5]
    write(logdir / "run" / f"{NAME}.2", torn)
    moved = logdir.parent / "moved"
    shutil.move(logdir, moved)
    logdir.symlink_to(moved)
    unpack_logdir(pack(logdir), logdir.parent / "again")
    assert (logdir.parent / "again" / "run" / f"{NAME}.2").read_bytes() == torn


def test_linked_projector_configuration_is_not_packed(logdir):
    (logdir / "run" / PROJECTOR_CONFIG).symlink_to(logdir.parent / "secret")
    path = pack(logdir)
    (message,) = rf.open(path).problems()["message"]
    assert message == f"the path '{PROJECTOR_CONFIG}' is outside the run's folder. Not packed."
    unpack_logdir(path, logdir.parent / "again")
    assert os.listdir(logdir.parent / "again" / "run") == [f"{NAME}.1"]


def test_projector_configuration_in_the_run_is_unpacked(logdir):
    text = b"embeddings {}\n"
    (logdir / "run" / PROJECTOR_CONFIG).write_bytes(text)
    unpack_logdir(pack(logdir), logdir.parent / "again")
    assert (logdir.parent / "again" / "run" / PROJECTOR_CONFIG).read_bytes() == text
