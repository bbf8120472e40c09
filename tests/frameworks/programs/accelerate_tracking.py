"""accelerate with RunfoldTracker: all training runs that the tests read."""

import contextlib
import multiprocessing
import os
import signal
import socket
import threading

import numpy as np
import torch
from accelerate import Accelerator
from PIL import Image
from stopping import StopRequest

import runfold as rf
from runfold.integrations.accelerate import RunfoldTracker

QUIET = {"system": False, "code": False}
CONFIG = {"steps": 8, "name": "small", "fast": True}
torch.set_num_threads(1)


def log(name, **options):
    return RunfoldTracker(name, "logs", **QUIET, **options)


def train(
    log_with, steps=range(8), lr=0.05, seed=1, after=None, checkpoint=None, name="project", **config
):
    """Train in a loop as accelerate's documentation does, and return the accelerator."""
    torch.manual_seed(seed)
    accelerator = Accelerator(cpu=True, log_with=log_with, project_dir="logs")
    accelerator.init_trackers(name, config={**CONFIG, "lr": lr, **config})
    model = torch.nn.Linear(4, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=lr))
    if checkpoint is not None:
        accelerator.load_state(checkpoint)
    for step in steps:
        inputs = torch.randn(8, 4)
        loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.log({"loss": loss, "step": step, "note": f"step {step}"}, step=step)
        if after is not None:
            after(accelerator, step)
        if accelerator.check_trigger():
            break
    return accelerator


def train_until_killed():
    """Save the state after step 4, and die after step 7."""
    tracker = log("killed")

    def act(accelerator, step):
        if step == 4:
            accelerator.save_state("checkpoint")
        if step == 7:
            tracker.tracker.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    train(tracker, range(20), after=act)


def stop_two_processes(rank, port):
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
    )  # fmt: skip
    tracker = log("ranks", on_stop=lambda request: None)
    request = StopRequest(tracker._run)

    def act(accelerator, step):
        tracker.tracker.add_histogram("weights", np.arange(3), step)
        if step == 2 and accelerator.is_main_process:
            request.send()
        if tracker.should_stop:
            accelerator.set_trigger()

    train(tracker, after=act).end_training()


def start(function, *arguments):
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    return child


def log_media(accelerator, step):
    pictures = np.random.default_rng(step).random((2, 3, 8, 8))
    for tracker in accelerator.trackers:
        tracker.log_images({"pictures": pictures}, step=step)
    accelerator.log({"both": {"train": step, "half": step / 2}}, step=step)


def log_tables_and_artifacts():
    tracker = log("media")
    tracker.log_images({"icon": [Image.new("L", (4, 4), 9), Image.new("RGBA", (2, 2))]}, 3)
    tracker.log_table("table", ["a", "b"], [[1, "x|y"], [2, "two\nlines"]], step=3)
    tracker.log_table("first-row", data=[["a"], [1]])
    tracker.log_table("empty", step=1)
    with open("model.bin", "wb") as file:
        file.write(b"model")
    tracker.log_artifact("model.bin")
    tracker.log_artifact("missing.bin")
    tracker.finish()


def log_bad_values():
    tracker = log("bad")
    tracker.log({"loss": 1.0}, step=0)
    tracker.start()
    tracker.log({"loss": "text", "nan": float("nan"), "object": object(), "none": None}, step=1)
    tracker.log({"nested": {"a": {"b": torch.tensor(1)}}, "half": torch.tensor(0.5).half()}, 1)
    tracker.log({"loss": 0.25, "nan": 1.0, "object": object(), "array": np.zeros(3)}, step=2)
    other = log("other")
    other.log({"loss": 2.0}, step=0)
    tracker.finish()
    tracker.log({"loss": 0.125}, step=3)
    tracker.finish()
    tracker.finish()
    other.finish()


def raise_error(accelerator, step):
    if step == 3:
        raise ValueError("the data is gone")


def interrupt(accelerator, step):
    if step == 3:
        rf.stop("logs/stopped", wait=False)
        threading.Event().wait(60)


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = [start(stop_two_processes, rank, port) for rank in (0, 1)]
    children.append(start(train_until_killed))
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, -signal.SIGKILL]

    accelerator = train([log("both"), "tensorboard"], after=log_media)
    assert isinstance(accelerator.get_tracker("runfold", unwrap=True), rf.SummaryWriter)
    accelerator.end_training()

    train("runfold", name="registered", optim={"momentum": 0.9}).end_training()

    for lr in (0.05, 0.1):
        for seed in (0, 1):
            train(log(f"sweep/lr-{lr}-seed-{seed}"), lr=lr, seed=seed).end_training()

    with contextlib.suppress(ValueError), log("failed") as tracker:
        train(tracker, after=raise_error)
    tracker = log("finally")
    try:
        train(tracker, after=raise_error)
    except ValueError:
        tracker.finish()

    tracker = log("stopped")
    try:
        train(tracker, after=interrupt)
    except KeyboardInterrupt:
        tracker.finish()

    log_tables_and_artifacts()
    log_bad_values()
    # The names of event files contain the second of their creation, so do not resume too early.
    train(log("killed", resume=5), range(5, 10), checkpoint="checkpoint").end_training()


if __name__ == "__main__":
    main()
