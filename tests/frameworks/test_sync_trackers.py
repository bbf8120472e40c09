"""MLflow, SwanLab, ClearML and Comet get the same data from Runfold's writer as from torch's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tracker_logs import (
    Stored,
    read_clearml,
    read_comet,
    read_mlflow,
    read_swanlab,
    run_program,
)

POINTS = [(step, pytest.approx(1 / (step + 1))) for step in range(20)]


@dataclass
class Tracker:
    """How to start and end a tracker's run in a program, and how to read its data."""

    start: str
    end: str
    read: Callable[[Path], list[Stored]]


TRACKERS = {
    "mlflow": Tracker(
        """
import mlflow, mlflow.pytorch
mlflow.pytorch.autolog(log_every_n_step=1)
mlflow.start_run()
""",
        "mlflow.end_run()",
        read_mlflow,
    ),
    "swanlab": Tracker(
        """
import swanlab
swanlab.sync_tensorboard_torch()
swanlab.init(project="p", mode="offline", logdir="swanlog")
""",
        "swanlab.finish()",
        read_swanlab,
    ),
    "clearml": Tracker(
        """
import torch
from clearml import Task
Task.set_offline(True)
task = Task.init("p", "t", auto_resource_monitoring=False)
""",
        "task.close()",
        read_clearml,
    ),
    "comet": Tracker(
        """
import comet_ml
experiment = comet_ml.OfflineExperiment(
    workspace="w", project_name="p", offline_directory="comet", display_summary_level=0
)
""",
        "experiment.end()",
        read_comet,
    ),
}

HEAD = """
import numpy as np

def log(writer, steps):
    for step in steps:
        writer.add_scalar("train/loss", 1 / (step + 1), step)

"""


def run_tracked(folder: Path, tracker: Tracker, code: str) -> list[Stored]:
    """Run a program after HEAD, and return the tracker's data."""
    errors = run_program(folder, HEAD + code)
    assert "did not receive" not in errors
    return tracker.read(folder)


@pytest.fixture(params=TRACKERS)
def tracker(request: pytest.FixtureRequest) -> Tracker:
    """Return each tracker in turn."""
    return TRACKERS[request.param]


def test_a_tracker_receives_the_same_as_from_torch(tmp_path: Path, tracker: Tracker) -> None:
    """Scalars, hparams, text and images arrive, as far as the tracker supports them with torch."""
    code = """
from {module} import SummaryWriter
writer = SummaryWriter("runs/a")
log(writer, range(20))
writer.add_text("note", "hello", 3)
writer.add_image("picture", np.full((3, 8, 8), 0.5, np.float32), 2)
writer.add_hparams({{"lr": 0.5, "epochs": 3, "kind": "adam"}}, {{"best": 0.25}})
writer.close()
"""
    stored = []
    for module in ("torch.utils.tensorboard", "runfold"):
        folder = tmp_path / module
        folder.mkdir()
        program = tracker.start + code.format(module=module) + tracker.end
        (run,) = run_tracked(folder, tracker, program)
        stored.append(run)
    original, ours = stored
    assert original.series["train/loss"] == POINTS
    assert ours.series["train/loss"] == POINTS
    # Some trackers receive the hparams metric twice from torch.
    assert {value for _, value in ours.series["best"]} == {0.25}
    assert ours.series.keys() == original.series.keys()
    assert ours.hparams == original.hparams
    assert ours.texts == original.texts
    assert ours.images == original.images


def test_pending_points_arrive_if_the_run_ends_before_the_writer_is_closed(
    tmp_path: Path, tracker: Tracker
) -> None:
    """Points that the background thread has not forwarded yet are forwarded first."""
    code = f"""{tracker.start}
from runfold import SummaryWriter
writer = SummaryWriter("runs/a", flush_secs=600)
log(writer, range(20))
{tracker.end}
writer.close()
"""
    (run,) = run_tracked(tmp_path, tracker, code)
    assert run.series["train/loss"] == POINTS


def test_every_point_arrives_if_the_run_starts_later_and_nothing_is_closed(
    tmp_path: Path, tracker: Tracker
) -> None:
    """This includes points logged before the run starts, and just before the program ends."""
    # Comet ends its experiment first, perhaps before the background thread has noticed it.
    notice = "writer.flush()" if tracker is TRACKERS["comet"] else ""
    code = f"""
from runfold import SummaryWriter
writer = SummaryWriter("runs/a", flush_secs=600)
log(writer, range(10))
{tracker.start}
{notice}
log(writer, range(10, 20))
"""
    (run,) = run_tracked(tmp_path, tracker, code)
    assert run.series["train/loss"] == POINTS


def test_a_writer_with_sync_trackers_false_is_not_seen(tmp_path: Path) -> None:
    """The tracker still sees another writer next to it."""
    code = """
from runfold import SummaryWriter
hidden = SummaryWriter("runs/a", sync_trackers=False)
hidden.add_scalar("hidden/loss", 1.0, 0)
hidden.close()
seen = SummaryWriter("runs/b")
log(seen, range(20))
seen.close()
"""
    swanlab = TRACKERS["swanlab"]
    (run,) = run_tracked(tmp_path, swanlab, swanlab.start + code + swanlab.end)
    assert run.series == {"train/loss": POINTS}


def test_mlflow_receives_each_point_in_the_run_in_which_it_was_logged(tmp_path: Path) -> None:
    """This holds even if writers stay open until all runs have ended."""
    code = """
import mlflow, mlflow.pytorch
from runfold import SummaryWriter
mlflow.pytorch.autolog(log_every_n_step=1)
writers = []
for number in range(3):
    with mlflow.start_run():
        writers.append(SummaryWriter(f"runs/{number}", flush_secs=600))
        writers[-1].add_scalar(f"loss/{number}", number, 0)
for writer in writers:
    writer.close()
"""
    runs = run_tracked(tmp_path, TRACKERS["mlflow"], code)
    assert [run.series for run in runs] == [
        {f"loss/{number}": [(0, number)]} for number in range(3)
    ]


def test_mlflow_receives_only_the_steps_that_it_is_configured_to_log(tmp_path: Path) -> None:
    """Without `log_every_n_step`, MLflow records no steps at all."""
    code = """
import mlflow, mlflow.pytorch
from runfold import SummaryWriter
for every in (5, None):
    mlflow.pytorch.autolog(log_every_n_step=every)
    with mlflow.start_run(), SummaryWriter(f"runs/{every}") as writer:
        log(writer, range(20))
        writer.add_hparams({"lr": 0.5}, {})
"""
    some, none = run_tracked(tmp_path, TRACKERS["mlflow"], code)
    assert some.series == {"train/loss": POINTS[::5]}
    assert none.series == {}
    assert some.hparams == none.hparams == {"lr": "0.5"}


def test_a_tag_that_mlflow_rejects_does_not_block_the_others(tmp_path: Path) -> None:
    """MLflow does not allow a `?` in a name; a single warning reports the failure."""
    code = """
import mlflow, mlflow.pytorch
from runfold import SummaryWriter
mlflow.pytorch.autolog(log_every_n_step=1)
with mlflow.start_run(), SummaryWriter("runs/a") as writer:
    for step in range(20):
        writer.add_scalar("loss?", 1.0, step)
        log(writer, [step])
"""
    errors = run_program(tmp_path, HEAD + code)
    (run,) = read_mlflow(tmp_path)
    assert run.series == {"train/loss": POINTS}
    assert errors.count("MLflow did not receive everything that was logged") == 1


def test_swanlab_starts_a_run_for_a_writer_if_there_is_none(tmp_path: Path) -> None:
    """SwanLab's patch of torch's writer does the same; only the requested kinds are synced."""
    code = """
import swanlab
from runfold import SummaryWriter
swanlab.sync_tensorboard_torch(types=["scalar"])
with SummaryWriter("runs/a") as writer:
    log(writer, range(20))
    writer.add_text("note", "hello", 3)
"""
    (run,) = run_tracked(tmp_path, TRACKERS["swanlab"], code)
    assert run.series["train/loss"] == POINTS
    assert run.texts == set()


def test_a_tracker_that_fails_warns_once_and_the_event_file_is_complete(tmp_path: Path) -> None:
    """Training continues, here with an MLflow server that does not exist."""
    code = """
import mlflow, mlflow.pytorch, os
from runfold import SummaryWriter
mlflow.pytorch.autolog(log_every_n_step=1)
mlflow.start_run()
os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
mlflow.set_tracking_uri("http://127.0.0.1:9")
writer = SummaryWriter("runs/a")
for _ in range(3):
    log(writer, range(20))
    writer.close()
"""
    errors = run_program(tmp_path, HEAD + code)
    assert errors.count("MLflow did not receive everything that was logged") == 1
    assert len(list(tmp_path.glob("runs/a/*tfevents*"))) == 3
    (run,) = read_mlflow(tmp_path)
    assert run.series == {}
