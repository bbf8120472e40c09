"""Hydra jobs with RunfoldCallback, compared with the configuration that Hydra saves."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from conftest import ENVIRONMENT, HERE
from run_points import read_hparams, read_points

import runfold as rf

PROGRAM = HERE / "programs" / "hydra_jobs.py"
# A folder in which nobody can create files, and in which Hydra creates none.
UNWRITABLE = (
    "hydra.run.dir=/proc/self",
    "hydra.output_subdir=null",
    "hydra/job_logging=none",
    "hydra/hydra_logging=none",
)
LOSS = [(0, 0.1), (1, 0.05), (2, 0.1 / 3)]


class Jobs:
    """The result of each program, by the name of its output folder."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, name, *overrides):
        command = [sys.executable, PROGRAM, *overrides]
        environment = {**os.environ, **ENVIRONMENT}
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def run(self, name, *overrides):
        return self.start(name, f"hydra.run.dir=runs/{name}", *overrides)

    def open(self, name):
        (run,) = rf.open(self.folder / "runs" / name).values()
        return run


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """Run all programs, two at a time, because importing Hydra takes most of the time."""
    jobs = Jobs(tmp_path_factory.mktemp("hydra"))
    with ThreadPoolExecutor(2) as pool:
        calls = {
            "fit": pool.submit(jobs.run, "fit", "model.width=5"),
            "writers": pool.submit(jobs.run, "writers", "mode=writers"),
            "numpy": pool.submit(jobs.run, "numpy", "mode=numpy"),
            "unwritable": pool.submit(jobs.start, "unwritable", *UNWRITABLE),
            "raise": pool.submit(jobs.run, "raise", "mode=raise"),
            "stop": pool.submit(jobs.run, "stop", "mode=stop"),
            "leave": pool.submit(
                jobs.run, "leave", "mode=leave", "+hydra.callbacks.runfold.interrupt=false"
            ),
            "kill": pool.submit(jobs.run, "kill", "mode=kill"),
            "options": pool.submit(jobs.start, "options", "options"),
            "multirun": pool.submit(
                jobs.start, "multirun", "-m", "hydra.sweep.dir=sweep", "lr=0.1,0.3", "seed=0,1"
            ),
        }
    jobs.ended = {name: call.result() for name, call in calls.items()}
    jobs.ended["resume"] = jobs.run("kill", "mode=resume")
    return jobs


def test_a_job_has_the_configuration_that_hydra_composed(jobs):
    run = jobs.open("fit")
    assert jobs.ended["fit"].returncode == 0, jobs.ended["fit"].stderr
    saved = yaml.safe_load((jobs.folder / "runs/fit/.hydra/config.yaml").read_text())
    expected = {**saved, "api_key": "***", "model": {"width": 5, "depth": 8}}
    assert run.config == {**expected, "hydra": {"overrides": ["model.width=5"]}}
    hparams = read_hparams(run)
    assert (hparams["lr"], hparams["model.depth"], hparams["api_key"]) == (0.1, 8, "***")
    assert run.status.state == "finished"


def test_the_job_logs_to_the_run(jobs):
    points = read_points(jobs.open("fit"))
    assert [step for step, _ in points["loss"]] == [0, 1, 2]
    assert [value for _, value in points["loss"]] == pytest.approx([v for _, v in LOSS])
    assert [value for _, value in points["return_value"]] == pytest.approx([0.2])
    assert "text" not in points
    assert jobs.ended["fit"].stderr.count("Tag 'text'") == 1


def test_other_writers_in_the_job_log_to_the_same_run(jobs):
    assert jobs.ended["writers"].returncode == 0, jobs.ended["writers"].stderr
    run = jobs.open("writers")
    points = read_points(run)
    assert (points["writer"], points["inner"]) == ([(0, 1.0)], [(0, 2.0)])
    assert "return_value" not in points
    assert run.status.state == "finished"


def test_numbers_of_numpy_that_a_job_returns_are_logged(jobs):
    assert jobs.ended["numpy"].returncode == 0, jobs.ended["numpy"].stderr
    assert read_points(jobs.open("numpy"))["return_value"] == [(0, 0.25)]


def test_a_job_continues_without_a_log_if_its_folder_cannot_be_written_to(jobs):
    ended = jobs.ended["unwritable"]
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("The job continues without a log: ") == 1


def test_an_exception_ends_the_run_as_failed(jobs):
    assert jobs.ended["raise"].returncode == 1
    status = jobs.open("raise").status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


def test_a_stop_request_interrupts_the_job(jobs):
    assert jobs.ended["stop"].returncode != 0
    assert jobs.open("stop").status.state == "stopped"


def test_a_stop_request_does_not_interrupt_a_job_that_ends_by_itself(jobs):
    assert jobs.ended["leave"].returncode == 0, jobs.ended["leave"].stderr
    run = jobs.open("leave")
    assert run.status.state == "stopped"
    assert read_points(run)["last"] == [(3, 1.0)]


def test_a_job_in_the_folder_of_a_killed_one_continues_its_run(jobs):
    assert jobs.ended["kill"].returncode == -signal.SIGKILL
    assert jobs.ended["resume"].returncode == 0, jobs.ended["resume"].stderr
    run = jobs.open("kill")
    assert run.status.state == "finished"
    # The resumed job starts again at step 0, so it replaces the earlier points.
    assert run["loss"].steps.tolist() == [0, 1, 2, 2, 3, 4]
    assert run.hidden > 0


def test_each_job_of_a_multirun_is_a_run_and_runs_are_grouped_by_a_parameter(jobs):
    assert jobs.ended["multirun"].returncode == 0, jobs.ended["multirun"].stderr
    runs = rf.open(jobs.folder / "sweep")
    assert list(runs) == ["0", "1", "2", "3"]
    overrides = [run.config["hydra"]["overrides"] for run in runs.values()]
    assert overrides == [[f"lr={lr}", f"seed={seed}"] for lr in (0.1, 0.3) for seed in (0, 1)]
    folded = runs.reduce("mean", by="lr")
    means = {name: folded[name, "loss"]["mean"][0] for name in folded.groups}
    assert means == {"lr=0.1": pytest.approx(0.1), "lr=0.3": pytest.approx(0.3)}
    assert {run.status.state for run in runs.values()} == {"finished"}


def test_wrong_options_and_a_missing_run_are_explained(jobs):
    messages = jobs.ended["options"].stderr.splitlines()
    assert messages[0].startswith("rf.track has no option 'cod'. Did you mean 'code'")
    assert messages[1] == "system: expected a non-negative number of seconds, got -1"
    assert messages[2].startswith("There is no current run. Add `hydra.callbacks.runfold._target_=")
