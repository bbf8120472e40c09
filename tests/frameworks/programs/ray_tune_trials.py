"""Experiments of Ray Tune with RunfoldLoggerCallback, in the mode of the first argument.

`kill` starts an experiment with checkpoints, and kills its own process. `train` restores that
experiment, and runs the others. The second argument is the folder for Ray's session.
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import ray
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem
from ray import tune
from ray.tune.logger import TBXLoggerCallback

import runfold as rf
from runfold.integrations.ray_tune import RunfoldLoggerCallback

STORAGE = os.path.abspath("experiments")


def train(config):
    for index in range(3):
        tune.report(
            {
                "loss": config["lr"] / (index + 1),
                "nested": {"deep": {"value": index}},
                "flag": True,
                "weights": [0.5, 1.5, index],
                "array": np.arange(4.0) * config["seed"],
                "image": np.full((3, 4, 5), 40 * index, np.uint8),
                "text": "not logged",
                "timesteps_total": 10 * (index + 1),
            }
        )


def end(config):
    """Report results, and end as the configuration specifies."""
    if config["ending"] == "bad":
        for changing in (1.0, "text now"):
            tune.report(
                {
                    "loss": 0.5,
                    "nan": float("nan"),
                    "object": object(),
                    "none": None,
                    "empty": [],
                    "mixed": ["a", 1],
                    "nested": {"a": {"b": 2.0}, 3: 4.0},
                    "half": np.float16(0.5),
                    "changing": changing,
                }
            )
        return
    tune.report({"loss": 1.0})
    if config["ending"] == "fail":
        raise ValueError("the loss is NaN")
    while config["ending"] == "stop":
        tune.report({"loss": 0.5})  # waits until the driver has read the last result
    tune.report({"loss": 0.25})


def resume(config):
    start = 0
    checkpoint = tune.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            start = json.loads(Path(folder, "state.json").read_text())
    # Train until the process is killed or, after a restart, for four iterations.
    for iteration in range(start + 1, start + 5 if start else 2000):
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if iteration % 2 == 0:
                Path(folder, "state.json").write_text(json.dumps(iteration))
                checkpoint = tune.Checkpoint.from_directory(folder)
            tune.report({"loss": 1 / iteration}, checkpoint=checkpoint)
        if config.get("fails") and iteration == 3 and start == 0:
            raise ValueError("only the first time")


class StopTrial(tune.Callback):
    """Asks one trial's run to stop at its second result."""

    def on_trial_result(self, iteration, trials, trial, result, **info):
        if trial.config["ending"] == "stop" and result["training_iteration"] == 2:
            folder = Path(trial.storage.trial_fs_path)
            rf.stop(folder, reason="enough", wait=False)


class StopAll(tune.Stopper):
    """Ends an experiment at the third result, as a time limit would."""

    count = 0

    def __call__(self, trial_id, result):
        self.count += 1
        return False

    def stop_all(self):
        return self.count >= 3


class LoseCheckpoints(RunfoldLoggerCallback):
    """Receives checkpoints that are missing from their storage."""

    def on_checkpoint(self, iteration, trials, trial, checkpoint, **info):
        storage = SubTreeFileSystem("no-such-folder", LocalFileSystem())
        lost = tune.Checkpoint("lost", filesystem=storage)
        super().on_checkpoint(iteration, trials, trial, lost, **info)


class KillDriver(tune.Callback):
    """Kills the driver between two checkpoints, when Ray has stored a state with a checkpoint."""

    def on_trial_result(self, iteration, trials, trial, result, **info):
        # Ray restores the callback with the experiment, but not the arguments of the program.
        if sys.argv[1] == "kill" and result["training_iteration"] % 2 and self.has_state():
            os.kill(os.getpid(), signal.SIGKILL)

    def has_state(self):
        """Whether Ray has stored the trial with a checkpoint to restore.

        Its last result names a checkpoint before that.
        """
        names = ("checkpoint_0000", b"checkpoint_0000".hex())
        for path in Path(STORAGE, "killed").glob("experiment_state-*.json"):
            try:
                trials = json.loads(path.read_text())["trial_data"]
            except ValueError:  # Ray is writing the file
                continue
            for _, progress in trials:
                stored = json.dumps(json.loads(progress)["checkpoint_manager"])
                if any(name in stored for name in names):
                    return True
        return False


def fit(train, space, name, *callbacks, **options):
    options = {"callbacks": list(callbacks), "storage_path": STORAGE, **options}
    config = tune.RunConfig(name=name, verbose=0, **options)
    return tune.Tuner(train, param_space=space, run_config=config).fit()


def describe(grid):
    """Return the iterations and the error that Ray reports for each trial, by its folder."""
    return {
        Path(result.path).name: [
            result.metrics["training_iteration"],
            result.error and str(result.error),
        ]
        for result in grid
    }


def main(mode, session):
    if mode == "kill":
        os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = "0"  # save the experiment's state at once
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=session)
    callback = RunfoldLoggerCallback(save_checkpoints=True, code=False)
    if mode == "kill":
        fit(resume, {"lr": 0.1}, "killed", callback, KillDriver())
    described = {"killed": describe(tune.Tuner.restore(f"{STORAGE}/killed", resume).fit())}
    grid = tune.grid_search
    space = {"lr": grid([0.1, 0.2]), "seed": grid([1, 2]), "model": {"width": 4, "act": len}}
    callback = RunfoldLoggerCallback("logs", code=False)
    described["sweep"] = describe(fit(train, space, "sweep", TBXLoggerCallback(), callback))
    space = {"ending": grid(["stop", "fail", "bad", "finish"])}
    callback = RunfoldLoggerCallback(code=False)
    described["endings"] = describe(fit(end, space, "endings", callback, StopTrial()))
    failures = tune.FailureConfig(max_failures=1)
    fit(resume, {"fails": True}, "retried", callback, failure_config=failures)
    fit(end, {"ending": "stop"}, "ended", callback, stop=StopAll())
    callback = LoseCheckpoints(save_checkpoints=True, code=False)
    fit(resume, {"lr": 0.1}, "lost", callback, stop={"training_iteration": 4})
    Path("described.json").write_text(json.dumps(described))
    ray.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
