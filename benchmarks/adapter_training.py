"""Small training programs that log every step: through the adapters, by hand and not at all."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adapter_loggers import BRIEF
from benchmarks.adapters import PYTHON, find_installed
from benchmarks.contest import Contender, Contest
from benchmarks.measure import Cost, Undone, measure
from benchmarks.readings import Reading, Series, find_disagreement

# How a program logs, and the parts of the work: CPU time of the training thread per step.
NOTHING = "no logger"
BY_HAND = "by hand"
ADAPTER = "adapter"
ORIGINAL = "its logger"
WAYS = (NOTHING, BY_HAND, ADAPTER, ORIGINAL)
STEP = "{} us"
IN_LOGGER = "in {} us"
STEPS = 300
# The first steps of each training are not measured: libraries prepare themselves in them.
FIRST_STEP = 50
ROUNDS = 5
LOSS = "loss"


class Clock:
    """CPU time of the training thread: of all measured steps, and in the logger's calls."""

    def __init__(self, steps: int) -> None:
        self.last_step = steps - 1
        self.seconds = self.logger_seconds = 0.0
        self._start = self._step = 0.0
        self._calls = 0
        self._is_running = False

    def begin_step(self) -> None:
        """Note that a step begins."""
        if self._step == FIRST_STEP:
            self._is_running = True
            self._start = time.thread_time()

    def end_step(self) -> None:
        """Note that a step has ended, including its logging."""
        if self._step == self.last_step:
            self.seconds = time.thread_time() - self._start
            self.logger_seconds -= self._calls * _time_nothing()
            self._is_running = False
        self._step += 1

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, with the time of its calls added to `logger_seconds`."""

        def call(*args: Any, **options: Any) -> Any:
            start = time.thread_time()
            result = function(*args, **options)
            if self._is_running:
                self.logger_seconds += time.thread_time() - start
                self._calls += 1
            return result

        return call


def _time_nothing() -> float:
    """Return the time between two readings of the clock."""
    times = [-time.thread_time() + time.thread_time() for _ in range(1000)]
    return statistics.median(times)


@dataclass(frozen=True, slots=True)
class Program:
    """A training program: the module that it imports, and the tag of its loss."""

    module: str
    train: Callable[[str, str, Clock], object]
    tag: str


def make_contest(python: Path = PYTHON, steps: int = STEPS, rounds: int = ROUNDS) -> Contest:
    """Return the contest, which needs a Python with frameworks. Raises Undone without it."""
    if not python.exists():
        raise Undone("because `make test-frameworks` has not installed the frameworks yet")
    installed = find_installed(python, [program.module for program in PROGRAMS.values()])
    contenders = []
    for name, program in PROGRAMS.items():
        contender = _contender(name, python, steps, rounds)
        if program.module not in installed:
            contender.trouble = "not measured, because it is not installed"
        contenders.append(contender)
    names = [contender.name for contender in contenders if not contender.trouble]
    if not names:
        raise Undone("because none of the frameworks is installed")
    title = f"training: {steps:,} small training steps, each logged, time per step"
    return Contest(title, ("framework", "steps"), contenders, _compare, reference=names[0])


def prepare(name: str, steps: int, rounds: int, folder: str) -> Callable[[], Reading]:
    """Return the call that trains in each way in turn, several times."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="torch")
    import torch

    torch.set_num_threads(1)
    return partial(_train_in_turn, PROGRAMS[name], steps, rounds, folder)


def _train_in_turn(program: Program, steps: int, rounds: int, folder: str) -> Reading:
    import torch

    clocks: dict[str, list[Clock]] = {way: [] for way in WAYS}
    for turn in range(rounds):
        for way in WAYS:
            torch.manual_seed(0)
            clock = Clock(steps)
            program.train(way, f"{folder}/{turn}/{way}", clock)
            clocks[way].append(clock)
    count = steps - FIRST_STEP
    parts = {}
    for way in WAYS:
        parts[STEP.format(way)] = statistics.median(c.seconds for c in clocks[way]) / count * 1e6
    for way in WAYS[1:]:
        seconds = statistics.median(c.logger_seconds for c in clocks[way])
        parts[IN_LOGGER.format(way)] = seconds / count * 1e6
    return Reading(
        {}, parts=parts, complete=partial(_read_losses, program, f"{folder}/{rounds - 1}")
    )


def _read_losses(program: Program, folder: str) -> Series:
    """Return the losses that were logged in each way, by number of the logged step."""
    import runfold as rf

    series: Series = {}
    for way in WAYS[1:]:
        runs = rf.open(f"{folder}/{way}", progress=False)
        (found,) = (run[program.tag] for run in runs.values() if program.tag in run)
        series[way, LOSS] = (np.arange(len(found.steps)), None, found.values)
    return series


def _compare(contender: Contender, ours: Series, theirs: Series) -> str | None:
    """Return the first difference between the losses that were logged in each way."""
    expected = theirs[ADAPTER, LOSS]
    for way in WAYS[1:]:
        key = (way, LOSS)
        if difference := find_disagreement({key: expected}, {key: theirs[key]}):
            return f"{contender.name}: {difference}"
    return None


def _train_lightning(way: str, folder: str, clock: Clock) -> None:
    import logging
    import warnings

    import lightning.pytorch as pl
    import torch
    from lightning.pytorch.loggers import TensorBoardLogger

    import runfold as rf
    from runfold.integrations.lightning import RunfoldLogger

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")

    class Module(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers = _make_layers()

        def training_step(self, batch: Any, index: int) -> Any:
            inputs, targets = batch
            loss = torch.nn.functional.mse_loss(self.layers(inputs), targets)
            self.log(LOSS, loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    class Steps(pl.Callback):
        def on_train_batch_start(self, *args: Any) -> None:
            clock.begin_step()

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, *args: Any) -> None:
            if run is not None:
                write(LOSS, outputs["loss"].item(), trainer.global_step)

    class LastStep(pl.Callback):
        # Lightning logs after the callbacks of a batch.
        def on_train_batch_start(self, *args: Any) -> None:
            if self.has_begun:
                clock.end_step()
            self.has_begun = True

        has_begun = False

    logger: Any = False
    run = None
    if way == BY_HAND:
        run = rf.track(folder, **BRIEF).__enter__()
        write = clock.timed(run.add_scalar)
    elif way == ADAPTER:
        logger = RunfoldLogger(folder, name="", version="", **BRIEF)
    elif way == ORIGINAL:
        logger = TensorBoardLogger(folder, name="", version="")
    if logger:
        logger.log_metrics = clock.timed(logger.log_metrics)
    steps = clock.last_step + 1
    trainer = pl.Trainer(
        max_steps=steps + 1,
        logger=logger,
        log_every_n_steps=1,
        callbacks=[LastStep(), Steps()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
    )
    batches = [_make_batch() for _ in range(steps + 1)]
    trainer.fit(Module(), torch.utils.data.DataLoader(batches, batch_size=None))
    if run is not None:
        run.close()


def _train_transformers(way: str, folder: str, clock: Clock) -> None:
    from torch.utils.tensorboard import SummaryWriter
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        PrinterCallback,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )
    from transformers.integrations import TensorBoardCallback

    import runfold as rf
    from runfold.integrations.transformers import RunfoldCallback

    class Steps(TrainerCallback):
        has_begun = False

        # The Trainer logs a step after its last callback.
        def on_step_begin(self, *args: Any, **options: Any) -> None:
            if self.has_begun:
                clock.end_step()
            self.has_begun = True
            clock.begin_step()

    class ByHand(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any, **options: Any) -> None:
            for name, value in logs.items():
                run.add_scalar(f"train/{name}", value, state.global_step)

    config = BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
    )
    steps = clock.last_step + 1
    args = TrainingArguments(
        folder,
        max_steps=steps + 1,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        per_device_train_batch_size=8,
    )
    callback: Any = None
    run: Any = None
    if way == BY_HAND:
        run = rf.track(folder, **BRIEF).__enter__()
        callback = ByHand()
    elif way == ADAPTER:
        callback = RunfoldCallback(folder, **BRIEF)
    elif way == ORIGINAL:
        callback = TensorBoardCallback(SummaryWriter(folder))
    if callback is not None:
        callback.on_log = clock.timed(callback.on_log)
    words = {"input_ids": [1, 2, 3, 4, 5, 6, 7, 8], "labels": 1}
    trainer = Trainer(
        BertForSequenceClassification(config),
        args,
        train_dataset=[words] * 8 * (steps + 1),
        callbacks=[Steps(), *([callback] if callback is not None else [])],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    if run is not None:
        run.close()


def _train_keras(way: str, folder: str, clock: Clock) -> None:
    import keras

    import runfold as rf
    from runfold.integrations.keras import RunfoldCallback

    class Steps(keras.callbacks.Callback):
        has_begun = False

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if self.has_begun:
                clock.end_step()
            self.has_begun = True
            clock.begin_step()

    class ByHand(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            for name, value in (logs or {}).items():
                run.add_scalar(f"batch_{name}", value, batch)

    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callback: Any = None
    run: Any = None
    if way == BY_HAND:
        run = rf.track(folder, **BRIEF).__enter__()
        callback = ByHand()
    elif way == ADAPTER:
        callback = RunfoldCallback(folder, single_run=True, update_freq="batch", **BRIEF)
    elif way == ORIGINAL:
        callback = keras.callbacks.TensorBoard(folder, update_freq=1, write_graph=False)
    if callback is not None:
        callback.on_train_batch_begin = clock.timed(callback.on_train_batch_begin)
        callback.on_train_batch_end = clock.timed(callback.on_train_batch_end)
    rows = (clock.last_step + 2) * 32
    inputs = np.random.default_rng(0).standard_normal((rows, 32)).astype(np.float32)
    callbacks = [Steps(), *([callback] if callback is not None else [])]
    model.fit(inputs, inputs[:, :1], 32, shuffle=False, verbose=0, callbacks=callbacks)
    if run is not None:
        run.close()


def _train_sb3(way: str, folder: str, clock: Clock) -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat

    import runfold as rf
    from runfold.integrations.stable_baselines3 import RunfoldOutput

    class Steps(BaseCallback):
        # One step is one rollout of 16 environment steps, and one update. SB3 logs before the next.
        has_begun = False

        def _on_rollout_start(self) -> None:
            if self.has_begun:
                clock.end_step()
            self.has_begun = True
            clock.begin_step()

        def _on_step(self) -> bool:
            return True

    class ByHand(KVWriter):
        def write(self, key_values: Any, key_excluded: Any, step: int = 0) -> None:
            for key, value in key_values.items():
                if "tensorboard" not in key_excluded[key]:
                    run.add_scalar(key, value, step)

        def close(self) -> None:
            run.close()

    output: Any = None
    run: Any = None
    if way == BY_HAND:
        run = rf.track(folder, **BRIEF).__enter__()
        output = ByHand()
    elif way == ADAPTER:
        output = RunfoldOutput(folder, **BRIEF)
    elif way == ORIGINAL:
        output = TensorBoardOutputFormat(folder)
    if output is not None:
        output.write = clock.timed(output.write)
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=16, batch_size=16, n_epochs=1, seed=0)
    model.set_logger(Logger(None, [output] if output is not None else []))
    model.learn((clock.last_step + 2) * 16, callback=Steps())
    model.logger.close()


def _make_layers() -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))


def _make_batch() -> Any:
    import torch

    inputs = torch.randn(32, 32)
    return inputs, inputs[:, :1]


PROGRAMS = {
    "Lightning": Program("lightning", _train_lightning, "loss"),
    "transformers": Program("transformers", _train_transformers, "train/loss"),
    "Keras": Program("keras", _train_keras, "batch_loss"),
    "Stable-Baselines3": Program("stable_baselines3", _train_sb3, "train/loss"),
}


def _contender(name: str, python: Path, steps: int, rounds: int) -> Contender:
    def once(keep: Path | None) -> Cost:
        with tempfile.TemporaryDirectory() as folder:
            return measure(prepare, [name, steps, rounds, folder], keep, python)

    return Contender(name, once, steps, must_succeed=True)
