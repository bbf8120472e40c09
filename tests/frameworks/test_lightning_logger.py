"""Lightning and Fabric with RunfoldLogger, compared with Lightning's own loggers."""

import json
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from conftest import run_program

import runfold as rf

HPARAMS = {
    "lr": 0.05,
    "layers": {"width": 4, "sizes": [4, 1]},
    "name": "small",
    "is_wide": False,
}
ROOT = Path(__file__).parents[2]


def train_with_entry_points(folder, *arguments):
    """Run the program with the entry points of `pyproject.toml`, as if Runfold were installed."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    metadata = folder / "site" / "runfold-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: runfold\nVersion: 0\n")
    lines = []
    for group, factories in groups.items():
        lines += [f"[{group}]", *(f"{name} = {factory}" for name, factory in factories.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    path = os.pathsep.join([str(folder / "site"), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path.rstrip(os.pathsep))
        return run_program(folder / "run", "original", "lightning_logger", *arguments)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train_with_entry_points(tmp_path_factory.mktemp("lightning"))


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


@pytest.fixture(scope="module")
def results(trained):
    return json.loads((trained.folder / "results.json").read_text())


def read_scalars(run):
    """Return the points of each tag, without system metrics."""
    return {
        tag: list(zip(run[tag].steps.tolist(), run[tag].values.tolist(), strict=True))
        for tag in sorted(set(run.scalars()["tag"]))
        if not tag.startswith("system/")
    }


def read_steps(run, tag):
    return run[tag].steps.tolist()


def select(series, *kinds):
    """Return what TensorBoard read of these kinds, without Runfold's own tags."""
    return {
        key: value
        for key, value in series.items()
        if key[0] in kinds and not key[1].startswith(("system/", "_"))
    }


def test_tensorboard_reads_what_lightnings_own_logger_logs(trained, runs):
    run = runs["runfold/version_0"]
    kinds = ("scalar", "histogram", "graph")
    logged = select(trained.logs["logs/runfold/version_0"], *kinds)
    assert logged == select(trained.logs["logs/lightning/version_0"], *kinds)
    assert ("graph", "") in logged
    assert [step for step, _ in logged["scalar", "val/loss"]] == [7, 15, 16]
    assert [step for step, _ in logged["scalar", "test/loss"]] == [16, 16]
    assert run.hidden == 0
    assert run.status.state == "finished"
    assert run.config == HPARAMS
    assert run.code is not None
    assert len(list(Path(run.path).glob("checkpoints/*.ckpt"))) == 2


def test_nothing_is_reported_but_bad_values_and_a_second_run(trained):
    messages = ("Tag '", "this run goes to", "unfold")
    lines = trained.errors.splitlines()
    reported = [line for line in lines if any(message in line for message in messages)]
    reported = [line for line in reported if "callbacks from entry point" not in line]
    text, nan, folder = reported
    assert "Tag 'run-loss': scalar_value cannot be str 'not a number'" in text
    assert "Tag 'run-nan' is NaN at step 2" in nan
    assert "this run goes to logs/one-2" in folder


def test_a_killed_training_is_resumed_at_its_checkpoint(runs):
    run = runs["killed"]
    assert read_steps(run, "train/loss_step") == list(range(1, 32, 2))
    assert read_steps(run, "val/loss") == [7, 15, 23, 31]
    assert run.hidden > 0
    assert run.status.state == "finished"


def test_resuming_at_the_last_step_or_without_a_checkpoint_discards_nothing(runs):
    run = runs["kept"]
    assert read_steps(run, "val/loss") == [7, 15, 23, 31]
    assert run.hidden == 0
    run = runs["refitted"]
    assert read_steps(run, "train/loss_step") == 2 * [1, 3, 5, 7]
    assert run.hidden == 0


def test_a_resumed_run_without_a_version_is_the_latest(results):
    assert results["versions"] == [0, 1]


def test_a_run_that_was_also_tested_starts_with_fit(runs):
    run = runs["runfold/version_0"]
    assert run.status.started <= run["train/loss_step"].wall_times[0]
    assert run.status.ended >= run["test/loss"].wall_times[-1]


def test_runs_are_grouped_by_an_hparam(trained):
    sweep = rf.open(trained.folder / "logs" / "sweep")
    assert list(sweep.reduce("mean", by="lr").groups) == ["lr=0.05", "lr=0.1"]


def test_an_exception_in_fit_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the loss is NaN\n")


def test_ctrl_c_ends_the_run_as_interrupted(runs):
    assert runs["interrupted"].status.state == "interrupted"


def test_a_stop_request_stops_fit_and_later_stages_keep_the_status(runs, results):
    run = runs["stopped"]
    assert results["stopped"] == 4
    assert run.status.state == "stopped"
    assert read_steps(run, "test/loss") == [4]


def test_a_stop_request_does_not_stop_the_next_fit(runs):
    run = runs["two-fits"]
    assert run.status.state == "finished"
    assert read_steps(run, "train/loss_step") == [1, 3, 1, 3, 5, 7]


def test_all_ranks_stop_after_the_same_batch_and_only_rank_zero_logs(trained, runs):
    run = runs["ddp"]
    assert run.status.state == "stopped"
    assert read_steps(run, "val/loss") == [3]  # the first of two epochs
    assert len([path for path in trained.event_files if path.parent.name == "ddp"]) == 1


def test_checkpoints_are_saved_if_requested(runs):
    names = [artifact.name for artifact in runs["all"].artifacts]
    assert names[:2] == ["epoch=0-step=8.ckpt", "last.ckpt"]
    assert len(names) == 4
    # Checkpoints are saved at the end, even if training fails.
    names = [artifact.name for artifact in runs["failed"].artifacts]
    assert names == ["epoch=0-step=8.ckpt", "last.ckpt"]
    assert not list(runs["killed"].artifacts)


def test_fast_dev_run_logs_nothing(trained):
    assert not (trained.folder / "logs" / "dev").exists()


def test_fabric_logs_what_its_own_logger_logs(trained, runs):
    run = runs["fabric"]
    logged = select(trained.logs["logs/fabric"], "scalar")
    assert logged == select(trained.logs["logs/fabric-own"], "scalar")
    assert [step for step, _ in logged["scalar", "loss"]] == list(range(10))
    assert run.config == {"lr": 0.05, "name": "small"}
    assert run.status.state == "finished"


def test_a_stop_request_interrupts_a_loop_with_fabric(runs):
    assert runs["fabric-stopped"].status.state == "stopped"


def test_a_trainer_has_no_other_callback_without_the_variable(results):
    assert results["callbacks"] == ["ModelCheckpoint"]


def test_the_variable_tracks_trainers_without_a_change_to_the_program(trained, runs, results):
    assert results["entry"] == ["RunfoldCallback", "ModelCheckpoint"]
    run = runs["entry/lightning_logs/version_0"]
    own = read_scalars(rf.open(trained.folder / "root" / "lightning_logs")["version_0"])
    assert own.pop("hp_metric")
    assert read_scalars(run) == own
    assert run.status.state == "finished"
    # The trainer's own logger is the first, so its folder has the checkpoints.
    assert not (Path(run.path) / "checkpoints").exists()
    failed = runs["entry/lightning_logs/version_1"]
    assert failed.status.state == "failed"
    # "explicit" has a RunfoldLogger, so the variable added none.
    assert [name for name in runs if name.startswith("entry/")] == [
        "entry/lightning_logs/version_0",
        "entry/lightning_logs/version_1",
    ]
    default = rf.open(trained.folder / "root" / "runs")
    assert list(default) == ["lightning_logs/version_0"]


def test_hparams_of_any_type_are_logged_and_bad_values_do_not_affect_other_values(runs, results):
    run = runs["one"]
    assert run.config == {"lr": 0.1, "data": {"path": "data", "api_key": "***"}, "seed": 1}
    points = read_scalars(run)
    (first, _), (second, last) = points.pop("run-nan")
    assert (first, second, last) == (2, 3, 1.0)
    assert np.isnan(run["run-nan"].values[0])
    assert points == {
        "hp/loss": [(0, 0.5)],
        "run-loss": [(1, 0.5), (0, 0.25)],
        "run-losses/a": [(1, 1.0)],
        "run-losses/b/c": [(1, 2.0)],
    }
    assert run.status.state == "failed"
    assert "Lightning reported the status 'aborted'" in run.status.traceback
    assert results["again"] == ["one-2", "logs/one-2", 0]
    assert read_scalars(runs["other"]) == {"loss": [(1, 1.0), (2, 0.5)]}


def test_the_package_pytorch_lightning_works_too(tmp_path):
    trained = train_with_entry_points(tmp_path, "pytorch_lightning")
    runs = rf.open(trained.folder / "logs")
    run, own = runs["lightning_logs/version_0"], runs["lightning/version_0"]
    assert read_scalars(run) == read_scalars(own)
    assert run.status.state == "finished"
    assert run.config == HPARAMS
