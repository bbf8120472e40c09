"""Unpacking restores the event files: the same bytes, and the same view in TensorBoard."""

import pytest
from helpers import writers
from helpers.decoding import every_kind
from helpers.eventfiles import corrupt
from helpers.packs import pack, write, write_odd_runs
from helpers.tensorboard_readers import READERS, provider, read_everything
from hypothesis import given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._pack import file_parts as parts
from runfold._pack import pack_rows as rows
from runfold._pack.pack import unpack_logdir
from runfold.errors import OutputExists


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if "tfevents" in path.name or path.name == "projector_config.pbtxt"
    }


def assert_is_restored(logdir, **options):
    path = pack(logdir, "packed" if options else "logs.parquet", **options)
    unpack_logdir(path, logdir.parent / "again")
    assert contents(logdir.parent / "again") == contents(logdir)


@pytest.mark.parametrize(
    "writer",
    [writers.torch, writers.tensorboardx, writers.tensorflow_1, writers.tensorflow_2],
)
def test_files_of_every_writer_are_restored(tmp_path, writer):
    writer(tmp_path / "logs" / "run")
    assert_is_restored(tmp_path / "logs")


@pytest.mark.parametrize("partition", [False, True])
def test_unusual_and_broken_files_are_restored(tmp_path, partition):
    write_odd_runs(tmp_path / "logs")
    assert_is_restored(tmp_path / "logs", **({"partition": True} if partition else {}))


def test_files_are_restored_from_many_small_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "_BATCH_POINTS", 7)
    monkeypatch.setattr(rows, "_MOST_POINTS", 3)
    monkeypatch.setattr(rows, "_BATCH_BYTES", 700)
    monkeypatch.setattr(rows, "_GROUP_BYTES", 300)
    monkeypatch.setattr(parts, "CHUNK", 64)
    write_odd_runs(tmp_path / "logs")
    assert_is_restored(tmp_path / "logs")
    frame = rf.open(tmp_path / "logs").scalars()
    assert rf.open(tmp_path / "logs.parquet").scalars().equals(frame)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_damage_is_restored(tmp_path_factory, data):
    logdir = tmp_path_factory.mktemp("any") / "logs"
    records = data.draw(st.lists(st.sampled_from(every_kind()), max_size=12))
    whole = b"".join(records)
    for at in data.draw(st.lists(st.integers(0, max(len(whole) - 1, 0)), max_size=3)):
        whole = corrupt(whole, at) if whole else whole
    write(logdir / "run" / "events.out.tfevents.1", whole[: data.draw(st.integers(0, 2000))])
    assert_is_restored(logdir)


@pytest.mark.parametrize("reader", READERS)
def test_tensorboard_shows_every_kind_the_same_way(tmp_path, reader):
    writers.torch(tmp_path / "logs" / "run")
    unpack_logdir(pack(tmp_path / "logs"), tmp_path / "again")
    shown = []
    for folder in ("logs", "again"):
        with provider(reader, tmp_path / folder) as source:
            shown.append(read_everything(source))
    assert shown[0] == shown[1]
    plugins = {plugin for plugin, *_ in shown[0]}
    assert plugins >= {"scalars", "images", "audio", "histograms", "text", "graphs", "hparams"}


def test_files_keep_their_modification_time(tmp_path):
    write_odd_runs(tmp_path / "logs")
    unpack_logdir(pack(tmp_path / "logs"), tmp_path / "again")
    torn = "broken/torn/events.out.tfevents.1"
    assert (tmp_path / "again" / torn).stat().st_mtime == (tmp_path / "logs" / torn).stat().st_mtime


def test_an_existing_folder_is_unchanged(tmp_path):
    writers.torch(tmp_path / "logs" / "run")
    before = contents(tmp_path / "logs")
    with pytest.raises(OutputExists, match="Choose a new folder"):
        unpack_logdir(pack(tmp_path / "logs"), tmp_path / "logs")
    assert contents(tmp_path / "logs") == before
