"""Optuna with RunfoldCallback: all studies that the tests read, or one that kills itself."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading

import optuna

import runfold as rf
from runfold.integrations.optuna import RunfoldCallback

OPTIONS = {"system": False, "code": False}
STORAGE = "sqlite:///study.db"


def log(**options):
    return RunfoldCallback("logs", **OPTIONS, **options)


def descend(trial):
    """Descend a parabola; trial 2 is pruned, and trial 3 fails."""
    lr = trial.suggest_float("lr", 0.01, 0.4, log=True)
    trial.suggest_categorical("kind", ["a", "b"])
    trial.set_user_attr("note", {"deep": [1, trial.number]})
    position = 1.0
    for step in range(4):
        position -= lr * 2 * position
        trial.report(position**2, step)
        if trial.number == 2 and step == 2:
            raise optuna.TrialPruned
    if trial.number == 3:
        raise ValueError("the data is gone")
    return position**2


def make_study(name, **options):
    return optuna.create_study(
        study_name=name, sampler=optuna.samplers.RandomSampler(seed=1), **options
    )


def describe(study):
    """Return what Optuna knows about each trial."""
    return [
        {
            "state": trial.state.name,
            "params": trial.params,
            "values": trial.values,
            "reported": [list(item) for item in trial.intermediate_values.items()],
        }
        for trial in study.trials
    ]


def save(name, value):
    with open(f"{name}.json", "w") as file:
        json.dump(value, file)


def load_killed():
    return make_study("killed", storage=STORAGE, load_if_exists=True)


def optimize_killed(is_killed, count):
    """Optimize a stored study. Trial 3 logs a step and, the first time, kills this process."""
    callback = log()

    def objective(trial):
        run = callback.run(trial)
        run.add_scalar("train/loss", 1.0, 0)
        value = trial.suggest_float("x", 0, 1)
        if is_killed and trial.number == 3:
            callback.tracker.flush()
            run.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        run.add_scalar("train/loss", 0.5, 1)
        return value

    load_killed().optimize(objective, n_trials=count, callbacks=[callback])
    callback.finish()


def run_self(mode, status, **environment):
    ended = subprocess.run(
        [sys.executable, __file__, mode],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ended.returncode == status, ended.stderr


def optimize_together():
    """Optimize a stored study in two processes, whose callbacks start at the same moment."""
    study = make_study("together", storage=STORAGE)
    command = [sys.executable, __file__, "together"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("start\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    save("together", describe(study))


def optimize_after_start():
    """Optimize the study of `optimize_together` after a line on stdin."""
    study, callback = optuna.load_study(study_name="together", storage=STORAGE), log()
    print("ready", flush=True)
    sys.stdin.readline()
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 3, callbacks=[callback])
    callback.finish()


def log_one_trial(name, logdir="logs"):
    callback = RunfoldCallback(logdir, **OPTIONS)
    with callback:
        study = make_study(name)
        study.optimize(lambda trial: 1.0, n_trials=1, callbacks=[callback])


def stop_study():
    """Request a stop in trial 2, and wait until the callback has received it."""
    is_received = threading.Event()

    def receive(request):
        callback._run._note_stop(request)
        is_received.set()

    callback = log(on_stop=receive)

    def objective(trial):
        if trial.number == 2:
            rf.stop(callback.folder, reason="enough", wait=False)
            assert is_received.wait(60)
        return trial.suggest_float("x", 0, 1)

    make_study("stopped").optimize(objective, n_trials=50, callbacks=[callback])


def optimize_parallel():
    """Optimize in two threads, whose first trials wait for each other."""
    both = threading.Barrier(2)

    def objective(trial):
        if trial.number < 2:
            both.wait(60)
        return trial.suggest_float("x", 0, 1)

    study = make_study("parallel")
    with log() as callback:
        study.optimize(objective, n_trials=8, n_jobs=2, callbacks=[callback])
    save("parallel", describe(study))


def optimize_two_objectives():
    study = make_study("two", directions=["minimize", "maximize"])
    study.set_metric_names(["loss", "accuracy"])
    with log() as callback:
        study.optimize(
            lambda trial: (trial.suggest_float("x", 0, 1), 0.5), n_trials=2, callbacks=[callback]
        )
    study = make_study("numbered", directions=["minimize", "maximize"])
    with log(metric_name="score") as callback:
        study.optimize(lambda trial: (1.0, 2.0), n_trials=1, callbacks=[callback])


def log_bad_values():
    """Log before the first trial, return values that Optuna rejects, and log after the end."""
    callback = log(name="bad")
    callback.tracker.add_scalar("before", 1.0, 0)
    results = iter([float("nan"), "text", None, float("inf"), 0.5])

    def objective(trial):
        run = callback.run(trial)
        run.log({"text": "bad", "nan": float("nan"), "none": [None]}, 0)
        run.log({"text": "bad"}, 1)
        return next(results)

    study = make_study("bad")
    study.optimize(objective, n_trials=5, callbacks=[callback], catch=(Exception,))
    callback.finish()
    callback.tracker.add_scalar("after", 1.0, 9)
    callback.finish()
    save("bad", describe(study))


def main():
    study = make_study("fit")
    with log() as callback:
        study.optimize(descend, n_trials=6, callbacks=[callback], catch=(ValueError,))
    save("fit", describe(study))

    run_self("killed", -signal.SIGKILL)
    optimize_killed(is_killed=False, count=3)
    save("killed", describe(load_killed()))

    grid = optuna.samplers.GridSampler({"lr": [0.1, 0.3], "seed": [0, 1]}, seed=0)
    study = optuna.create_study(study_name="sweep", sampler=grid)
    with log() as callback:
        study.optimize(
            lambda trial: trial.suggest_float("lr", 0, 1) + trial.suggest_int("seed", 0, 1),
            callbacks=[callback],
        )

    with contextlib.suppress(ValueError), log() as callback:
        make_study("failed").optimize(descend, n_trials=6, callbacks=[callback])

    stop_study()
    optimize_parallel()
    optimize_together()
    optimize_two_objectives()

    # A study without the callback, logged later, and twice.
    study = make_study("later", direction="maximize")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    for _ in range(2):
        with log() as callback:
            callback.log_study(study)
    save("later", describe(study))

    # Another study of the same name, with the same callback.
    with log() as callback:
        for _ in range(2):
            make_study("again").optimize(lambda trial: 1.0, n_trials=1, callbacks=[callback])

    log_bad_values()

    run_self("rank", 0, RANK="1", LOCAL_RANK="1", WORLD_SIZE="2")
    for _ in range(2):
        with contextlib.suppress(OSError):
            log_one_trial("unwritable", logdir=__file__)


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    if sys.argv[1:] == ["killed"]:
        optimize_killed(is_killed=True, count=50)
    elif sys.argv[1:] == ["together"]:
        optimize_after_start()
    elif sys.argv[1:] == ["rank"]:
        log_one_trial("rank")
    else:
        main()
