"""A pack gives the same results as the logdir that it contains."""

import pickle
import re

import pytest
from helpers import writers
from helpers.packs import answers, pack, write_odd_runs

import runfold as rf
from runfold._cli import main
from runfold.errors import BadLog

POLICIES = ["session", "step", "keep"]
WRITERS = [writers.torch, writers.tensorboardx, writers.tensorflow_1, writers.tensorflow_2]


@pytest.mark.parametrize("writer", WRITERS)
def test_every_kind_of_every_writer_is_the_same(tmp_path, writer):
    writer(tmp_path / "logs" / "run")
    path = pack(tmp_path / "logs")
    expected = answers(rf.open(tmp_path / "logs"), tmp_path / "logs")
    assert answers(rf.open(path), path) == expected


@pytest.mark.parametrize("restarts", POLICIES)
@pytest.mark.parametrize("partition", [False, True])
def test_unusual_and_broken_runs_are_the_same_under_every_policy(tmp_path, restarts, partition):
    write_odd_runs(tmp_path / "logs")
    path = pack(tmp_path / "logs", "packed" if partition else "logs.parquet", partition=partition)
    expected = answers(rf.open(tmp_path / "logs", restarts=restarts), tmp_path / "logs")
    assert answers(rf.open(path, restarts=restarts), path) == expected


def test_tracked_runs_keep_their_story(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with rf.track("logs/good", hparams={"lr": 0.1}) as run:
        run.log({"loss": 0.5, "accuracy": 0.25}, step=1)
        run.log({"loss": 0.25}, step=2)
        run.add_text("note", "a word")
    with pytest.raises(ZeroDivisionError), rf.track("logs/bad", hparams={"lr": 0.2}):
        raise ZeroDivisionError
    path = pack(tmp_path / "logs")
    expected = answers(rf.open(tmp_path / "logs"), tmp_path / "logs")
    assert answers(rf.open(path), path) == expected
    assert rf.open(path)["bad"].status.state == "failed"


@pytest.mark.parametrize(
    "command",
    [
        ["ls", "--tags"],
        ["ls", "--json"],
        ["check", "--json"],
        ["reduce", "--align", "union", "--tags", "loss", "--duplicates", "last", "-o", "-.csv"],
    ],
)
def test_commands_print_the_same(tmp_path, capsys, monkeypatch, command):
    write_odd_runs(tmp_path / "logs")
    path = pack(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)

    def run_command(logdir):
        status = main([command[0], str(logdir), *command[1:]])
        printed = capsys.readouterr()
        text = (printed.out + printed.err).replace(str(logdir), "@")
        # PIL's message contains the memory address of the image.
        return status, re.sub(r"0x[0-9a-f]+", "0x", text)

    first = run_command(tmp_path / "logs")
    (tmp_path / "-.csv").unlink(missing_ok=True)
    assert run_command(path) == first


def test_names_are_relative_to_the_common_folder_of_packs_and_folders(tmp_path):
    writers.torch(tmp_path / "logs" / "run")
    pack(tmp_path / "logs", "a.parquet")
    pack(tmp_path / "logs", "b.parquet")
    pack(tmp_path / "logs", "c", partition=True)
    trial = f"run/{writers.TRIAL}"
    every = [f"{part}/{name}" for part in "abc" for name in ("run", trial)]
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "c"]
    assert list(rf.open(*paths)) == every
    assert list(rf.open(tmp_path / "?.parquet")) == every[:4]
    assert list(rf.open(tmp_path / "logs", tmp_path / "a.parquet")) == [
        *every[:2],
        "logs/run",
        f"logs/{trial}",
    ]


def test_a_pickled_pack_is_restored_without_changes(tmp_path):
    writers.torch(tmp_path / "logs" / "run")
    runs = rf.open(pack(tmp_path / "logs"))
    again = pickle.loads(pickle.dumps(runs))
    assert again.scalars().equals(runs.scalars())
    assert not runs.refresh()


def test_strict_mode_raises_the_problems_of_the_packed_logs(tmp_path):
    write_odd_runs(tmp_path / "logs")
    runs = rf.open(pack(tmp_path / "logs"), strict=True)
    with pytest.raises(BadLog, match="bad length checksum"):
        runs["broken/length"].scalars()


def test_reading_one_tag_does_not_decode_others(tmp_path, monkeypatch):
    from runfold._pack import pack_rows as rows
    from runfold._pack.pack_file import Pack

    monkeypatch.setattr(rows, "_LEAST_POINTS", 1)
    writers.torch(tmp_path / "logs" / "run")
    path = pack(tmp_path / "logs")
    read = []
    plain = Pack.read
    monkeypatch.setattr(Pack, "read", lambda self, *args: read.append(args) or plain(self, *args))
    runs = rf.open(path)
    assert len(runs) == 2
    assert read == []
    tag = next(iter(writers.SCALARS))
    assert len(runs["run"][tag]) == len(writers.STEPS)
    runs.scalars(tag)
    assert len(read) == 1
