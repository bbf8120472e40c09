"""A writer after `close`: like torch's and tensorboardX's, it opens a new file when used."""

import copy
import pickle
import subprocess
import sys
import textwrap

import pytest
import torch
from helpers.log_runs import logged, problems

import runfold as rf
from runfold.errors import WriterClosed


def test_a_closed_writer_continues_in_another_file(tmp_path):
    writer = rf.SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 1)
    writer.close()
    writer.flush()
    writer.close()
    assert len(list(tmp_path.iterdir())) == 1
    writer.add_scalar("loss", 0.5, 2)
    writer.add_text("note", "again", 2)
    writer.close()
    assert logged(tmp_path) == {1: 1.0, 2: 0.5}
    assert len(list(tmp_path.iterdir())) == 2
    assert problems(tmp_path) == []


def test_every_kind_of_call_reopens_a_closed_writer(tmp_path):
    calls = {
        "log": lambda writer: writer.log({"a": 1.0}, 1),
        "scalars": lambda writer: writer.add_scalars("a", {"b": 1.0}, 1),
        "histogram": lambda writer: writer.add_histogram("a", [1.0, 2.0], 1),
        "image": lambda writer: writer.add_image("a", torch.rand(3, 4, 4), 1),
        "hparams": lambda writer: writer.add_hparams({"lr": 0.1}, {"m": 1.0}),
        "layout": lambda writer: writer.add_custom_scalars_multilinechart(["a"]),
        "file writer": lambda writer: writer._get_file_writer(),
    }
    for name, call in calls.items():
        writer = rf.SummaryWriter(tmp_path / name)
        writer.close()
        call(writer)
        assert not writer.is_closed
        writer.close()
        assert len(list((tmp_path / name).iterdir())) == 2


def test_the_purge_step_and_the_hparams_of_the_constructor_are_written_once(tmp_path):
    with rf.SummaryWriter(tmp_path) as earlier:
        earlier.add_scalar("loss", 1.0, 1)
    writer = rf.SummaryWriter(tmp_path, purge_step=1, hparams={"lr": 0.5})
    assert writer.purge_step is None
    writer.add_scalar("loss", 2.0, 1)
    writer.close()
    writer.add_scalar("loss", 3.0, 2)
    writer.close()
    assert logged(tmp_path) == {1: 2.0, 2: 3.0}
    assert len(rf.open(tmp_path).sessions()) == 1


def test_a_writer_used_after_its_block_loses_nothing_at_exit(tmp_path):
    program = textwrap.dedent("""
        import atexit, sys
        atexit.register(lambda: writer.add_scalar("loss", 3.0, 3))  # after those of runfold
        from runfold import SummaryWriter
        with SummaryWriter(sys.argv[1]) as writer:
            writer.add_scalar("loss", 1.0, 1)
        writer.add_scalar("loss", 2.0, 2)
    """)
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert logged(tmp_path) == {1: 1.0, 2: 2.0, 3: 3.0}


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda writer: pickle.loads(pickle.dumps(writer))]
)
def test_a_closed_writer_can_be_copied_and_pickled(tmp_path, copied):
    writer = rf.SummaryWriter(tmp_path, filename_suffix=".mine", hparams={"lr": 0.5})
    writer.add_scalar("loss", 1.0, 1)
    writer.close()
    other = copied(writer)
    assert (other.log_dir, other.is_closed, other.last_step) == (tmp_path, True, 1)
    other.add_scalar("loss", 0.5, 2)
    writer.add_scalar("loss", 0.25, 3)
    other.close()
    writer.close()
    assert logged(tmp_path) == {1: 1.0, 2: 0.5, 3: 0.25}
    assert len(list(tmp_path.glob("*.mine"))) == 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_open_writer_cannot_be_copied(tmp_path, copied):
    with (
        rf.SummaryWriter(tmp_path) as writer,
        pytest.raises(TypeError, match="Close the writer first, or open a new writer"),
    ):
        copied(writer)


def test_a_tracked_run_cannot_be_reopened(tmp_path):
    with rf.track(tmp_path / "run", system=False, code=False) as run:
        run.log({"loss": 1.0}, 1)
    run.flush()
    run.close()
    for call in (
        lambda: run.log({"loss": 1.0}, 2),
        lambda: run.add_scalar("loss", 1.0, 2),
        lambda: run.add_text("note", "late"),
        lambda: run.batch({"loss": 1.0}),
        lambda: run._get_file_writer(),
    ):
        with pytest.raises(WriterClosed, match="start a new run"):
            call()
    assert logged(tmp_path / "run") == {1: 1.0}
