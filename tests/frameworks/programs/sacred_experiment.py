"""Sacred with RunfoldObserver and FileStorageObserver: all runs that the tests read.

With arguments, it is an experiment on the command line.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
from sacred import Experiment
from sacred.observers import FileStorageObserver, RunObserver
from sacred.utils import TimeoutInterrupt

import runfold as rf
from runfold.integrations.sacred import RunfoldObserver, import_runs, runfold_option

OPTIONS = {"system": False}
IS_COMMAND = len(sys.argv) > 1

experiment = Experiment("demo", save_git_info=False, additional_cli_options=[runfold_option])


@experiment.config
def configure():
    lr = 0.1  # noqa: F841
    model = {"width": 3, "sizes": (4, 1), "start": np.zeros(2)}  # noqa: F841
    api_key = "sk-1234567890abcdef"  # noqa: F841
    mode = "fit"  # noqa: F841


@experiment.main
def train(_run, lr, mode):
    print("epoch 1\repoch 2")
    for step in range(4):
        _run.log_scalar("train.loss", np.float32(lr / (step + 1)), step * 10)
    _run.log_scalar("counted", 1)
    _run.log_scalar("counted", 2.5)
    _run.info["best"] = {"step": 30}
    if mode == "fit":
        Path("weights.bin").write_bytes(b"1234")
        _run.add_artifact("weights.bin")
        _run.add_artifact("weights.bin", "copy.bin")
        with experiment.open_resource("data.txt") as file:
            file.read()
    elif mode == "bad":
        _run.log_scalar("text", "bad")
        _run.log_scalar("text", "bad")
        _run.log_scalar("nan", float("nan"))
        _run.log_scalar("list", [1, 2])
        _run.log_scalar("half", 1.0, 0.5)
        _run.add_artifact("missing.bin")
        _run.add_artifact("weights.bin", "../outside.bin")
        _run.log_scalar("last", 1.0)
        return np.arange(2)
    elif mode == "raise":
        raise ValueError("the data is gone")
    elif mode == "timeout":
        raise TimeoutInterrupt
    elif mode == "interrupt":
        raise KeyboardInterrupt
    elif mode == "stop":
        rf.stop(_run.observers[-1].folder, reason="enough", wait=False)
        for _ in range(600):  # wait in short pieces, because SIGINT may be ignored
            threading.Event().wait(0.1)
    elif mode == "kill":
        observer = _run.observers[-1]
        _run._emit_heartbeat()
        observer.tracker.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"accuracy": 0.75, "note": "good"}


class Nosy(RunObserver):
    """Calls a Runfold observer before Sacred does, and after the run."""

    priority = 50

    def __init__(self, observer):
        self.observer = observer

    def started_event(self, **event):
        self.observer.tracker.add_scalar("before", 1.0, 0)

    def join(self):
        self.observer.log_metrics({"x": {"steps": []}}, {})  # without values and times
        self.observer.log_metrics({"x": {}}, {})
        self.observer.completed_event(stop_time=None, result=None)


def run(mode, observers, capture="sys", **updates):
    experiment.observers[:] = observers
    options = {"--beat-interval": 0.05, "--capture": capture}
    with contextlib.suppress(Exception, KeyboardInterrupt):
        experiment.run(config_updates={"mode": mode, **updates}, options=options)


def main():
    Path("data.txt").write_text("data")
    for mode in ("fit", "raise", "timeout", "interrupt", "stop"):
        files, observer = FileStorageObserver("sacred"), RunfoldObserver("logs", **OPTIONS)
        run(mode, [files, observer])
    run("bad", [RunfoldObserver("bad", **OPTIONS)])
    run("bad", [FileStorageObserver("sacred_bad")])
    for lr in (0.1, 0.3):
        for seed in (0, 1):
            run("grid", [RunfoldObserver("sweep", code=False, **OPTIONS)], lr=lr, seed=seed)
    late = RunfoldObserver("late", code=False, **OPTIONS)
    run("late", [Nosy(late), late])
    observer = RunfoldObserver("all_output", code=False, output=True, **OPTIONS)
    run("raise", [observer], capture="no")

    run("fit", [RunfoldObserver(Path(__file__) / "logs", code=False, **OPTIONS)])
    Path("unwritable.txt").write_text(experiment.current_run.status)

    command = [sys.executable, __file__, "with", "mode=kill", "-R", "killed", "-F", "sacred_killed"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    for _ in range(2):
        import_runs("sacred", "imported")
    import_runs("sacred_killed", "imported_killed")


if __name__ == "__main__":
    if IS_COMMAND:
        experiment.run_commandline()
    else:
        main()
