"""transformers with RunfoldCallback: all training runs that the tests read."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket

import numpy as np
import torch
from stopping import StopRequest
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from runfold.integrations.transformers import RunfoldCallback

QUIET = {"system": False, "code": False}
torch.set_num_threads(1)
random = torch.Generator().manual_seed(1)
ROWS = [
    {
        "input_ids": torch.randint(0, 32, (8,), generator=random),
        "labels": torch.tensor(index % 2),
    }
    for index in range(32)
]


class At(TrainerCallback):
    """Calls a function after one step."""

    def __init__(self, step, function):
        self.step = step
        self.function = function

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            self.function()


def make_model():
    config = BertConfig(
        vocab_size=32,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    return BertForSequenceClassification(config)


def make_trainer(*callbacks, output_dir="out", report_to="none", **options):
    """Return a trainer of 8 steps per epoch that logs every second step."""
    options = {"num_train_epochs": 1, "save_strategy": "no", "seed": 1, **options}
    arguments = TrainingArguments(
        output_dir=output_dir,
        per_device_train_batch_size=4,
        logging_steps=2,
        eval_strategy="epoch",
        report_to=report_to,
        use_cpu=True,
        disable_tqdm=True,
        **options,
    )
    return Trainer(
        model_init=make_model,
        args=arguments,
        train_dataset=ROWS,
        eval_dataset=ROWS[:8],
        compute_metrics=lambda result: {"accuracy": (result[0].argmax(1) == result[1]).mean()},
        callbacks=[*callbacks],
    )


def log(name, **options):
    return RunfoldCallback("logs", name, **QUIET, **options)


def train_until_killed():
    """Save checkpoints after 4 and 8 steps, and die after 11."""
    trainer = make_trainer(
        output_dir="killed", report_to="runfold", save_steps=4, save_strategy="steps",
        num_train_epochs=2, run_name="one",
    )  # fmt: skip
    (callback,) = [
        callback
        for callback in trainer.callback_handler.callbacks
        if isinstance(callback, RunfoldCallback)
    ]

    def kill_self():
        callback.tracker.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    trainer.add_callback(At(11, kill_self))
    trainer.train()


def stop_two_processes(rank, port):
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
    )  # fmt: skip
    callback = log("ranks")
    request = StopRequest(callback._run)
    stop = At(1, request.send) if rank == 0 else At(1, lambda: None)
    trainer = make_trainer(callback, stop, num_train_epochs=3)
    trainer.train()
    with open(f"rank-{rank}.json", "w") as file:
        json.dump(trainer.state.global_step, file)


def start(function, *arguments):
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    return child


def raise_error():
    raise ValueError("the data is gone")


def log_bad_values():
    callback = log("bad")
    callback.tracker.add_scalar("first", 1.0, 0)
    trainer = make_trainer(callback)
    trainer.log({"loss": 1.0})
    trainer.train()
    values = {"loss": "text", "nan": float("nan"), "object": object(), "nested": {"a": {"b": 1}}}
    trainer.log({**values, "tensor": torch.tensor(0.5), "array": np.zeros(3), "none": None})
    trainer.log({"loss": 0.25, "nan": 1.0, "object": object(), 7: 7.0})
    callback.on_train_end(trainer.args, trainer.state, trainer.control)


def search():
    trainer = make_trainer(log("search", log_model="end"))
    trainer.hyperparameter_search(
        backend="optuna",
        n_trials=2,
        hp_space=lambda trial: {"learning_rate": trial.suggest_float("learning_rate", 1e-4, 1e-2)},
        hp_name=lambda trial: f"number-{trial.number}",
    )


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = [start(stop_two_processes, rank, port) for rank in (0, 1)]
    killed = start(train_until_killed)
    for child in (*children, killed):
        child.join()
    assert [child.exitcode for child in (*children, killed)] == [0, 0, -signal.SIGKILL]

    os.environ["TENSORBOARD_LOGGING_DIR"] = "logs/own"
    trainer = make_trainer(log("both"), report_to="tensorboard", num_train_epochs=2)
    trainer.evaluate()
    trainer.train()
    trainer.evaluate()
    trainer.predict(ROWS[:8])
    del os.environ["TENSORBOARD_LOGGING_DIR"]

    make_trainer(output_dir="default", report_to=["runfold"]).train()

    for learning_rate in (1e-3, 1e-2):
        for seed in (0, 1):
            name = f"sweep/lr-{learning_rate}-seed-{seed}"
            make_trainer(log(name), learning_rate=learning_rate, seed=seed).train()

    with contextlib.suppress(ValueError), log("failed") as callback:
        make_trainer(callback, At(3, raise_error)).train()

    callback = log("stopped")
    request = StopRequest(callback._run)
    trainer = make_trainer(At(3, request.send), callback)
    trainer.train()
    trainer.evaluate()

    # With the same callback, each call to `train` is a run, which has failed if it did not finish.
    callback = log("again", log_model="checkpoint")
    trainer = make_trainer(callback, output_dir="again", save_steps=4, save_strategy="steps")
    failing = At(5, raise_error)
    trainer.add_callback(failing)
    with contextlib.suppress(ValueError):
        trainer.train()
    trainer.remove_callback(failing)
    trainer.train()
    trainer.train(resume_from_checkpoint=True)  # from the end of the second run

    # A log after the end of training continues the first run, which does not fail because of it.
    trainer = make_trainer(log("noted"))
    trainer.train()
    trainer.log({"note": 1.0})
    trainer.train()

    search()
    log_bad_values()
    # The names of event files contain the second of their creation, so do not resume too early.
    make_trainer(
        output_dir="killed", report_to="runfold", save_steps=4, save_strategy="steps",
        num_train_epochs=2, run_name="another",
    ).train(resume_from_checkpoint=True)  # fmt: skip


if __name__ == "__main__":
    main()
