"""runs.refresh() with packs: a replaced pack is opened again."""

import os
import resource

import pytest
from helpers.faultfiles import points
from helpers.packs import answers, pack, write

import runfold as rf
from runfold.errors import BadPack, FileChanged


@pytest.fixture
def logdir(tmp_path):
    write(tmp_path / "logs" / "a" / "events.out.tfevents.1", points(1, 2))
    return tmp_path / "logs"


@pytest.mark.parametrize("partition", [False, True])
def test_a_replaced_pack_is_read_again(logdir, partition):
    name = "packed" if partition else "logs.parquet"
    path = pack(logdir, name, partition=partition)
    runs = rf.open(path)
    run = runs["a"]
    assert run["loss"].steps.tolist() == [1, 2]
    write(logdir / "a" / "events.out.tfevents.1", points(5, 6, 7), points(1, tag="new"))
    write(logdir / "b" / "events.out.tfevents.1", points(9))
    pack(logdir, name, partition=partition, overwrite=True)
    assert run["loss"].steps.tolist() == [1, 2]
    changes = runs.refresh()
    assert changes.runs == ["b"]
    assert [path.endswith("a/events.out.tfevents.1") for path in changes.reread] == [True]
    assert run["loss"].steps.tolist() == [5, 6, 7]
    assert answers(runs, path) == answers(rf.open(logdir), logdir)


def test_unread_values_of_a_replaced_pack_raise_file_changed(logdir):
    path = pack(logdir)
    runs = rf.open(path)
    write(logdir / "a" / "events.out.tfevents.1", points(5, 6, 7))
    pack(logdir, overwrite=True)
    with pytest.raises(
        FileChanged, match=r"Read the log again \(runs\.refresh\(\), or Reload\(\)\)"
    ):
        runs["a"]["loss"]
    runs.refresh()
    assert runs["a"]["loss"].steps.tolist() == [5, 6, 7]


def test_a_folder_can_have_more_packs_than_a_process_can_open_files(logdir):
    for number in range(40):
        write(logdir / f"run-{number}" / "events.out.tfevents.1", points(number))
    folder = pack(logdir, "packed", partition=True)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 20, limit[1]))
    try:
        assert len(rf.open(folder).scalars()) == 42
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def test_an_unchanged_pack_is_not_opened_again(logdir):
    runs = rf.open(pack(logdir))
    series = runs["a"]["loss"]
    assert not runs.refresh()
    assert runs["a"]["loss"] is series


def test_replacing_a_pack_with_an_invalid_file_keeps_the_runs(logdir):
    path = pack(logdir)
    runs = rf.open(path).load()
    series = runs["a"]["loss"]
    path.unlink()
    path.write_bytes(b"PAR1, still being copied")
    with pytest.raises(BadPack):
        runs.refresh()
    assert runs["a"]["loss"] is series
