"""Event files that claim more bytes than they occupy on disk."""

import os

from helpers.faultfiles import points, version
from helpers.packs import pack, write

import runfold as rf
from runfold._pack.pack import unpack_logdir

NAME = "events.out.tfevents.1"


def test_zeros_that_were_never_written_are_not_packed(tmp_path):
    log = tmp_path / "logs" / "run" / NAME
    write(log, version(), points(1, 2))
    os.truncate(log, 50_000_000_000)
    path = pack(tmp_path / "logs")
    runs = rf.open(path)
    assert list(runs["run"]["loss"].steps) == [1, 2]
    message = "the rest of the file is zeros that were never written to disk. They were not packed."
    assert message in list(runs.problems()["message"])
    unpack_logdir(path, tmp_path / "again")
    again = (tmp_path / "again" / "run" / NAME).read_bytes()
    whole = version() + points(1, 2)
    assert again == whole + bytes(len(again) - len(whole))
    assert len(again) < 1 << 20


def test_a_few_zeros_are_unpacked_exactly(tmp_path):
    log = tmp_path / "logs" / "run" / NAME
    write(log, version(), points(1, 2))
    os.truncate(log, 1_000_000)
    unpack_logdir(pack(tmp_path / "logs"), tmp_path / "again")
    assert (tmp_path / "again" / "run" / NAME).read_bytes() == log.read_bytes()
