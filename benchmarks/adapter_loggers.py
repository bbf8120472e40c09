"""Opens the loggers of frameworks, each with the call that logs the metrics of one step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Values = dict[str, Any]
# Options of `rf.track`. What the tracker records in addition is not part of the comparison.
BRIEF: dict[str, Any] = {"system": False, "code": False}


@dataclass(frozen=True, slots=True)
class Logger:
    """An open logger: the calls that log one step, write all pending events, and end the log."""

    log: Callable[[Values, int], object]
    flush: Callable[[], object]
    close: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework with an adapter, and how its loggers name a metric.

    Attributes:
        module: the module to import.
        open_adapter: opens Runfold's logger in a folder.
        open_original: opens the framework's own TensorBoard logger.
        prefix: what the loggers add to the names of metrics.
        first_step: the step that they log first.
        has_other: whether the framework's own logger can use Runfold's writer.
    """

    module: str
    open_adapter: Callable[[str], Logger]
    open_original: Callable[[str], Logger]
    prefix: str = ""
    first_step: int = 0
    has_other: bool = True


def open_by_hand(folder: str) -> Logger:
    """Open a tracked run whose `add_scalar` is called for each metric."""
    import runfold as rf

    run = rf.track(folder, **BRIEF).__enter__()

    def log(values: Values, step: int) -> None:
        add_scalar = run.add_scalar
        for tag, value in values.items():
            add_scalar(tag, value, step)

    return Logger(log, run.flush, run.close)


def open_log(folder: str) -> Logger:
    """Open a tracked run whose `log` is called for each step."""
    import runfold as rf

    run = rf.track(folder, **BRIEF).__enter__()
    return Logger(run.log, run.flush, run.close)


@contextmanager
def replaced_writers() -> Iterator[None]:
    """Replace the writers that frameworks use with Runfold's in the `with` block."""
    import runfold

    names = ("torch.utils.tensorboard", "tensorboardX", "stable_baselines3.common.logger")
    if "torch" in sys.modules:
        import torch.utils.tensorboard  # noqa: F401
    modules = [module for name in names if (module := sys.modules.get(name)) is not None]
    originals = [module.SummaryWriter for module in modules]
    for module in modules:
        module.SummaryWriter = runfold.SummaryWriter  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module, original in zip(modules, originals, strict=True):
            module.SummaryWriter = original  # type: ignore[attr-defined]


def _open_lightning(folder: str) -> Logger:
    from runfold.integrations.lightning import RunfoldLogger

    logger = RunfoldLogger(folder, name="", version="", **BRIEF)
    return Logger(logger.log_metrics, logger.experiment.flush, lambda: logger.finalize("success"))


def _open_original_lightning(folder: str) -> Logger:
    from lightning.pytorch.loggers import TensorBoardLogger

    logger = TensorBoardLogger(folder, name="", version="")
    return Logger(logger.log_metrics, logger.experiment.flush, lambda: logger.finalize("success"))


def _open_transformers(folder: str) -> Logger:
    from runfold.integrations.transformers import RunfoldCallback

    callback = RunfoldCallback(folder, **BRIEF)
    return _drive_transformers(callback, folder, lambda: callback.tracker.flush())


def _open_original_transformers(folder: str) -> Logger:
    from torch.utils.tensorboard import SummaryWriter
    from transformers.integrations import TensorBoardCallback

    writer = SummaryWriter(folder)
    return _drive_transformers(TensorBoardCallback(writer), folder, writer.flush)


def _drive_transformers(callback: Any, folder: str, flush: Callable[[], object]) -> Logger:
    from transformers import TrainerControl, TrainerState, TrainingArguments

    args = TrainingArguments(folder, report_to="none", use_cpu=True)
    state, control = TrainerState(), TrainerControl()
    callback.on_train_begin(args, state, control)

    def log(values: Values, step: int) -> None:
        state.global_step = step
        callback.on_log(args, state, control, logs=values, model=None)

    return Logger(log, flush, lambda: callback.on_train_end(args, state, control))


def _open_accelerate(folder: str) -> Logger:
    from runfold.integrations.accelerate import RunfoldTracker

    tracker = RunfoldTracker(folder, **BRIEF)
    tracker.start()
    return Logger(tracker.log, tracker.tracker.flush, tracker.finish)


def _open_original_accelerate(folder: str) -> Logger:
    from accelerate.tracking import TensorBoardTracker

    tracker = TensorBoardTracker("", folder)
    tracker.start()
    return Logger(tracker.log, tracker.writer.flush, tracker.finish)


def _open_keras(folder: str) -> Logger:
    from runfold.integrations.keras import RunfoldCallback

    callback = RunfoldCallback(
        folder, single_run=True, update_freq="batch", write_graph=False, **BRIEF
    )
    return _drive_keras(callback, lambda: callback.tracker.flush())


def _open_original_keras(folder: str) -> Logger:
    from keras.callbacks import TensorBoard

    callback = TensorBoard(folder, update_freq=1, write_graph=False)
    return _drive_keras(callback, lambda: callback._train_writer.flush())


def _drive_keras(callback: Any, flush: Callable[[], object]) -> Logger:
    import keras

    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callback.set_params({"epochs": 1, "steps": None})
    callback.set_model(model)
    callback.on_train_begin()
    callback.on_epoch_begin(0)

    def log(values: Values, step: int) -> None:
        callback.on_train_batch_begin(step)
        callback.on_train_batch_end(step, values)

    return Logger(log, flush, callback.on_train_end)


def _open_clu(folder: str) -> Logger:
    from runfold.integrations.clu import RunfoldWriter

    writer = RunfoldWriter(folder, **BRIEF)
    writer.tracker.flush()
    return _drive_clu(writer)


def _open_original_clu(folder: str) -> Logger:
    from clu.metric_writers import SummaryWriter

    return _drive_clu(SummaryWriter(folder))


def _drive_clu(writer: Any) -> Logger:
    write = writer.write_scalars
    return Logger(lambda values, step: write(step, values), writer.flush, writer.close)


def _open_sb3(folder: str) -> Logger:
    from runfold.integrations.stable_baselines3 import RunfoldOutput

    output = RunfoldOutput(folder, **BRIEF)
    return _drive_sb3(output, output.run.flush)


def _open_original_sb3(folder: str) -> Logger:
    from stable_baselines3.common.logger import TensorBoardOutputFormat

    output = TensorBoardOutputFormat(folder)
    return _drive_sb3(output, output.writer.flush)


def _drive_sb3(output: Any, flush: Callable[[], object]) -> Logger:
    excluded: dict[str, tuple[str, ...]] = {}

    def log(values: Values, step: int) -> None:
        for name in values.keys() - excluded.keys():
            excluded[name] = ("",)
        output.write(values, excluded, step)

    return Logger(log, flush, output.close)


def _open_ignite(folder: str) -> Logger:
    from runfold.integrations.ignite import RunfoldLogger

    return _drive_ignite(RunfoldLogger(folder, **BRIEF))


def _open_original_ignite(folder: str) -> Logger:
    from ignite.handlers import TensorboardLogger

    return _drive_ignite(TensorboardLogger(folder))


def _drive_ignite(logger: Any) -> Logger:
    from ignite.engine import Engine, Events
    from ignite.handlers.tensorboard_logger import OutputHandler

    handler = OutputHandler("training", output_transform=lambda values: values)
    engine = Engine(lambda engine, batch: None)

    def log(values: Values, step: int) -> None:
        engine.state.iteration, engine.state.output = step, values
        handler(engine, logger, Events.ITERATION_COMPLETED)

    return Logger(log, logger.writer.flush, logger.close)


def _open_mmengine(folder: str) -> Logger:
    from runfold.integrations.mmengine import RunfoldVisBackend

    backend = RunfoldVisBackend(folder, **BRIEF)
    return Logger(backend.add_scalars, backend.experiment.flush, backend.close)


def _open_original_mmengine(folder: str) -> Logger:
    from mmengine.visualization import TensorboardVisBackend

    backend = TensorboardVisBackend(folder)
    return Logger(backend.add_scalars, backend.experiment.flush, backend.close)


FRAMEWORKS = {
    "Lightning": Framework("lightning", _open_lightning, _open_original_lightning),
    "transformers": Framework(
        "transformers", _open_transformers, _open_original_transformers, "train/"
    ),
    "accelerate": Framework("accelerate", _open_accelerate, _open_original_accelerate),
    "Keras": Framework("keras", _open_keras, _open_original_keras, "batch_", 1, has_other=False),
    "clu": Framework("clu", _open_clu, _open_original_clu, has_other=False),
    "Stable-Baselines3": Framework("stable_baselines3", _open_sb3, _open_original_sb3),
    "Ignite": Framework("ignite", _open_ignite, _open_original_ignite, "training/"),
    "MMEngine": Framework("mmengine", _open_mmengine, _open_original_mmengine),
}
