"""Hydra jobs with RunfoldCallback; the configuration says what a job does."""

import os
import signal
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

import hydra
import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

import runfold as rf
from runfold.integrations import hydra as adapter
from runfold.integrations.hydra import RunfoldCallback, current_run

# Set by a stop request that does not interrupt the job.
is_received = threading.Event()
adapter._ignore = lambda request: is_received.set()


@dataclass
class Model:
    width: int = 4
    depth: int = "${width_of_all}"  # type: ignore[assignment]


@dataclass
class Config:
    lr: float = 0.1
    seed: int = 0
    mode: str = "fit"
    width_of_all: int = 8
    api_key: str = "sk-1234567890abcdef"
    model: Model = field(default_factory=Model)
    later: Any = MISSING
    hydra: Any = field(
        default_factory=lambda: {
            "callbacks": {
                "runfold": {
                    "_target_": "runfold.integrations.hydra.RunfoldCallback",
                    "system": False,
                    "code": False,
                }
            }
        }
    )


@hydra.main(version_base=None, config_path=None, config_name="jobs")
def main(config):
    run = current_run()
    for step in range(3):
        run.log({"loss": config.lr / (step + 1)}, step)
    run.log({"text": "bad", "nan": float("nan")}, 0)
    if config.mode == "writers":
        with rf.SummaryWriter() as writer:
            writer.add_scalar("writer", 1.0, 0)
        with rf.track() as inner:
            inner.log({"inner": 2.0}, 0)
        return {"not": "a number"}
    if config.mode == "numpy":
        return np.float64(0.25)
    if config.mode == "kill":
        run.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if config.mode == "resume":
        for step in range(2, 5):
            run.log({"loss": 0.0}, step)
    if config.mode == "raise":
        raise ValueError("the data is gone")
    if config.mode == "stop":
        rf.stop(run.log_dir, reason="enough", wait=False)
        wait_for_interrupt()
    if config.mode == "leave":
        rf.stop(run.log_dir, reason="enough", wait=False)
        assert is_received.wait(60)
        assert run.should_stop
        run.log({"last": 1.0}, 3)
    return config.lr * 2


def wait_for_interrupt():
    # Wait in short pieces, because shells start background jobs with SIGINT ignored. Runfold then
    # raises KeyboardInterrupt between two instructions.
    for _ in range(600):
        threading.Event().wait(0.1)


def check_options():
    for options in ({"cod": True}, {"system": -1}):
        try:
            RunfoldCallback(**options)
        except (TypeError, ValueError) as error:
            print(error, file=sys.stderr)
    try:
        current_run()
    except RuntimeError as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["options"]:
        check_options()
    else:
        ConfigStore.instance().store("jobs", Config)
        main()
