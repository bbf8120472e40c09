"""Determined's classes in Runfold, compared with torch's writer; with Determined if installed."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from readings import read_run

import runfold as rf

PROGRAM = """
import os, sys, time
sys.modules["tensorflow"] = None  # torch's writer would import it, which takes seconds
import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter
import runfold as rf
from runfold.integrations.determined import BatchMetricWriter, TorchWriter

OPTIONS = {"system": False, "code": False}

class Context:
    # The part of PyTorchTrialContext that stops a trial.
    stop_requested = False

    def set_stop_requested(self, stop_requested):
        self.stop_requested = stop_requested

def train(writer, steps, rate=0.1):
    metrics = BatchMetricWriter(writer)
    for step in steps:
        batches = [{"loss": rate / (2 * step + number + 1)} for number in range(2)]
        metrics.on_train_step_end(2 * step + 2, {"loss": 0.0, "average": step}, batches)
        metrics.on_validation_step_end(2 * step + 2, {"accuracy": 0.5, "val_loss": np.float32(2)})

with SummaryWriter("torch") as original:
    train(original, range(3))
with TorchWriter("logs/fit", hparams={"lr": 0.1}, **OPTIONS) as writer:
    train(writer, range(3))
    writer.writer.add_image("image", np.zeros((3, 4, 5), np.float32), 1)

child = os.fork()
if child == 0:
    writer = TorchWriter("logs/killed", hparams={"lr": 0.2}, **OPTIONS)
    train(writer, range(3), 0.2)
    os.kill(os.getpid(), 9)
os.wait()
with TorchWriter("logs/killed", resume=4, hparams={"lr": 0.2}, **OPTIONS) as writer:
    train(writer, range(2, 4), 0.2)

context = Context()
writer = TorchWriter("logs/stopped", context=context, **OPTIONS)
writer.add_scalar("loss", 1.0, 0)
rf.stop("logs/stopped", wait=False)
while not context.stop_requested:
    time.sleep(0.01)
writer.close()

try:
    with TorchWriter("logs/failed", **OPTIONS) as writer:
        writer.add_scalar("loss", 1.0, 0)
        raise ValueError("the data is gone")
except ValueError:
    pass

writer = TorchWriter("logs/bad", **OPTIONS)
writer.flush(); writer.reset(); writer.close()
metrics = BatchMetricWriter(writer)
metrics.on_train_step_end(1, {"text": "x", "list": [1], "none": None, "tensor": torch.ones(2)})
metrics.on_train_step_end(1, {"nan": float("nan"), "mixed": 1}, [{"mixed": np.array(0.5)}])
for value in ("x", {"a": 1}, torch.ones(2)):
    writer.add_scalar("wrong", value, 0)
writer.close()
writer.add_scalar("after", torch.tensor(1.0, requires_grad=True), 3)
first, second = (TorchWriter("logs/two", **OPTIONS) for _ in range(2))
for number, other in enumerate((first, second)):
    other.add_scalar("loss", number, 0)
"""

PACKAGE = """
import determined.tensorboard
from determined.tensorboard.metric_writers.callback import BatchMetricWriter
from runfold.integrations.determined import TorchWriter

writer = TorchWriter(system=False, code=False)
metrics = BatchMetricWriter(writer)
for step in range(3):
    metrics.on_train_step_end(step, {"loss": float(step)})
writer.close()
with TorchWriter(system=False, code=False) as writer:
    writer.add_scalar("second", 1.0, 0)
print(determined.tensorboard.get_base_path({}))
"""


def run_code(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-W", "default::UserWarning", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("determined")
    done = run_code(folder, PROGRAM)
    (folder / "errors").write_text(done.stderr)
    return folder


@pytest.fixture(scope="module")
def runs(folder):
    return rf.open(folder / "logs")


def read_scalars(folder):
    return {tag: points for (kind, tag), points in read_run(folder).items() if kind == "scalar"}


def test_batch_metrics_have_determineds_names_and_steps(folder, runs):
    """TensorBoard reads the same as from torch's writer."""
    ours = read_scalars(folder / "logs/fit")
    assert ours == read_scalars(folder / "torch")
    assert {tag: [step for step, _ in points] for tag, points in ours.items()} == {
        "Determined/loss": [0, 1, 2, 3, 4, 5],
        "Determined/average": [2, 4, 6],
        "Determined/val_accuracy": [2, 4, 6],
        "Determined/val_loss": [2, 4, 6],
    }
    assert ("image", "image") in read_run(folder / "logs/fit")
    assert runs["fit"].status.state == "finished"


def test_a_killed_trial_is_resumed(runs):
    run = runs["killed"]
    assert run["Determined/loss"].steps.tolist() == list(range(8))
    assert run.status.state == "finished"


def test_runs_are_grouped_by_a_hyperparameter(runs):
    folded = runs.reduce("mean", runs=["fit", "killed"], by="lr", align="union")
    assert {group.key["lr"] for group in folded.groups.values()} == {0.1, 0.2}


def test_a_stop_request_reaches_the_trials_context(runs):
    assert runs["stopped"].status.state == "stopped"


def test_an_exception_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


def test_bad_values_do_not_affect_other_values(folder, runs):
    scalars = read_scalars(folder / "logs/bad")
    assert scalars == {
        "Determined/mixed": [(0, "0.5")],
        "Determined/nan": [(1, "nan")],
        "after": [(3, "1.0")],
    }
    errors = (folder / "errors").read_text()
    assert errors.count("UserWarning: Tag 'wrong'") == 1
    assert [runs[name]["loss"].values.tolist() for name in ("two", "two-2")] == [[0.0], [1.0]]


@pytest.mark.skipif(find_spec("determined") is None, reason="Determined is missing")
def test_determineds_own_batch_writer_logs_to_determineds_folder(tmp_path, monkeypatch):
    """Both writers of the trial use the same folder, which Determined uploads."""
    monkeypatch.setenv("DET_ALLOCATION_ID", tmp_path.name + str(id(tmp_path)))
    done = run_code(tmp_path, PACKAGE)
    run = rf.open(done.stdout.strip())["."]
    assert run["Determined/loss"].steps.tolist() == [0, 1, 2]
    assert run["second"].values.tolist() == [1.0]
