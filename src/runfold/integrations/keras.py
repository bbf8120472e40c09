"""Keras on any backend: RunfoldCallback, which replaces `keras.callbacks.TensorBoard`."""

from __future__ import annotations

import os
import sys
import time
import uuid
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from runfold._events import value_encoding
from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain
from runfold._warnings import warn_caller
from runfold.errors import RunfoldError
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import AFTER_EVERY_STEP, FrameworkRun
from runfold.integrations._support.run_owner import WithBlock
from runfold.integrations._support.tensor_values import log_histogram, log_images

with importing("Keras", "keras", "3.15.1"):
    from keras import ops
    from keras.callbacks import Callback
    from keras.layers import Embedding

    from runfold.integrations._support import keras_model

if TYPE_CHECKING:
    from runfold._log.track.tracker import Tracker

__all__ = ["RunfoldCallback", "TFKerasTensorBoard"]

_TRAIN, _VALIDATION = "train", "validation"
_VALIDATION_PREFIX = "val_"
_EPOCH, _BATCH = "epoch_", "batch_"
# TensorFlow logs this many images per tag and step.
_MOST_IMAGES = 3
# The ids of trained models. A copy of a callback identifies its model by the id.
_model_ids: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


class RunfoldCallback(WithBlock, Callback):
    """A Keras callback that tracks a run, and logs what `keras.callbacks.TensorBoard` logs.

    It works on every backend and does not need TensorFlow. The arguments, tags, steps and folders
    match those of Keras's callback: training metrics in the `train` folder, and validation metrics
    in the `validation` folder. Each of the two folders is a run that records the configuration:
    the optimizer's settings, the loss, the numbers of epochs and batches, and the backend.

    The end of `fit` ends the runs, and the next `fit` or `evaluate` with the same callback
    continues them. A stop request sets `model.stop_training`. In a distributed job, only rank
    zero logs.

    Keras does not report exceptions to callbacks. An exception that ends the program marks the runs
    as failed. If your program catches exceptions, use the callback as a context manager around
    `fit`.

    Args:
        log_dir: the folder of the two runs, or a URL such as `s3://bucket/runs/seed-1`. Default:
            `logs` or, under `runfold run`, the folder that it created. If the folder already
            contains runs, the folders of the new runs get the suffix `-2`.
        histogram_freq: number of epochs between histograms of the weights; 0 for none.
        write_graph: whether to log the layers of a functional or sequential model for TensorBoard's
            Graphs page.
        write_images: whether to also log the weights as images, as often as histograms.
        write_steps_per_second: whether to log training steps per second.
        update_freq: "epoch", "batch", or a number of batches: how often to log training metrics.
            Metrics per epoch are always logged.
        profile_batch: ignored with a warning. Profiling needs TensorFlow.
        embeddings_freq: how often, in epochs, to log the weights of embedding layers; 0 for
            none.
        embeddings_metadata: labels of the embedded points: the path of a file with one label per
            line, a list of labels, or a mapping from layer names to either. A relative path is
            looked up in `log_dir`, then in the current folder.
        single_run: log to one run in `log_dir` itself, with the tags `epoch_loss` and
            `epoch_val_loss`. Default: False, except under `runfold run` without `log_dir`.
        save_model: save the model as the artifact `model.keras` after training.
        hparams: further hparams, of any type that `rf.track` accepts.
        config: further configuration, of any type that `rf.track` accepts.
        options: other options of `rf.track`, such as `system=False`. With `resume=True`, training
            that Keras continues from a checkpoint continues the runs: everything logged after the
            checkpoint is discarded, except the values of epochs, which are not logged a second
            time.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from runfold.integrations.keras import RunfoldCallback
        >>> model.fit(x, y, validation_split=0.1, callbacks=[RunfoldCallback("runs/seed-1")])
        >>> rf.open("runs")["seed-1/validation"]["epoch_loss"].steps
        array([0, 1, 2])
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: Literal["batch", "epoch"] | int = "epoch",
        profile_batch: Any = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: Any = None,
        *,
        single_run: bool | None = None,
        save_model: bool = False,
        hparams: Any = None,
        config: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        host_folder = os.environ.get(LOGDIR_VARIABLE) if log_dir is None else None
        self.log_dir = os.fspath(log_dir if log_dir is not None else host_folder or "logs")
        self.histogram_freq = histogram_freq
        self.write_graph = write_graph
        self.write_images = write_images
        self.write_steps_per_second = write_steps_per_second
        self.update_freq = _read_update_freq(update_freq)
        self.embeddings_freq = embeddings_freq
        self.embeddings_metadata = embeddings_metadata
        self.save_model = save_model
        self.single_run = bool(host_folder) if single_run is None else single_run
        if profile_batch:
            warn_caller("RunfoldCallback ignores profile_batch: profiling needs TensorFlow.")
        self._config = {**_as_config(hparams), **_as_config(config)}
        self._resume = options.get("resume", False)
        self._options = options
        self._train, self._validation = self._make_runs(options)
        self._model_id: str | None = None
        self._is_training = False
        self._has_begun = False
        self._train_batch = 0
        self._labels: dict[str, tuple[Any, list[str] | None]] = {}
        # For each run that was resumed, the first epoch that is not in its log.
        self._next_epochs: dict[FrameworkRun, int] = {}
        self._batch_start = self._epoch_start = 0.0
        self._iterations_before = 0

    def _make_runs(self, options: dict[str, Any]) -> tuple[FrameworkRun, FrameworkRun]:
        logdir, prefix = self.log_dir, ""
        if options.get("storage") is not None:
            # The name of the run is its path in the storage.
            logdir, prefix = os.path.split(os.path.normpath(logdir))
            logdir = logdir or os.curdir
        if self.single_run:
            run = FrameworkRun(logdir, prefix or None, **options)
            return run, run
        brief = {**options, "code": False, "system": False, "output": False}
        return (
            FrameworkRun(logdir, os.path.join(prefix, _TRAIN), **options),
            FrameworkRun(logdir, os.path.join(prefix, _VALIDATION), **brief),
        )

    def _leave(self, error: BaseException | None) -> None:
        self._is_training = False
        self._finish(error)

    @property
    def tracker(self) -> Tracker:
        """The run that contains the training metrics, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.

        Examples:
            >>> callback.tracker.add_text("note", "a wider model")
        """
        return self._open(self._train)

    @property
    def folder(self) -> str | None:
        """The folder of the run with the training metrics; None before it starts."""
        return self._train.folder

    @property
    def should_stop(self) -> bool:
        """Whether one of the runs has been asked to stop."""
        return self._train.should_stop or self._validation.should_stop

    @property
    def async_safe(self) -> bool:
        """Whether Keras may call `on_train_batch_end` in a thread, which is faster.

        Keras may do so if that method does nothing: no metrics are logged per batch, and no
        subclass overrides it.
        """
        is_own = type(self).on_train_batch_end is RunfoldCallback.on_train_batch_end
        return is_own and not self.update_freq

    def on_train_begin(self, logs: Any = None) -> None:
        """Prepare for the first epoch, which starts the run. Each model gets separate runs."""
        model_id = _model_ids.setdefault(self.model, uuid.uuid4().hex)
        if self._model_id not in (None, model_id):
            self._finish(RuntimeError("Training did not finish.") if self._is_training else None)
            self._resume, self._train_batch, self._next_epochs = False, 0, {}
            self._train, self._validation = self._make_runs({**self._options, "resume": False})
        self._model_id = model_id
        self._is_training, self._has_begun = True, False
        self._train.stop_request = self._validation.stop_request = None
        if self.embeddings_freq:
            self._labels = self._read_labels()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Start the run in the first epoch, when other callbacks have restored checkpoints."""
        if not self._has_begun:
            self._has_begun = True
            self._begin(epoch)
        if self.write_steps_per_second:
            self._iterations_before = keras_model.count_iterations(self.model)
            self._epoch_start = time.monotonic()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Count the batch. If a stop has been requested, training stops after this batch."""
        self._train_batch += 1
        if self.write_steps_per_second:
            self._batch_start = time.monotonic()
        if self.should_stop:
            self._stop_training()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Log the metrics of the batch if they are due."""
        if not self.update_freq or self._train_batch % self.update_freq:
            return
        metrics = logs if isinstance(logs, dict) else {}
        if self.write_steps_per_second:
            seconds = time.monotonic() - self._batch_start
            metrics = {**metrics, "steps_per_second": 1 / max(seconds, 1e-9)}
        if not self._train.log_plain(metrics, self._train_batch, _BATCH):
            self._open(self._train)
            self._train.log(metrics, self._train_batch, _BATCH)

    def on_test_end(self, logs: Any = None) -> None:
        """Log the metrics of an evaluation by the number of optimizer iterations."""
        if isinstance(logs, Mapping) and keras_model.find_optimizer(self.model) is not None:
            self._open(self._validation)
            metrics = {f"evaluation_{name}_vs_iterations": value for name, value in logs.items()}
            self._validation.log(metrics, keras_model.count_iterations(self.model))
        if not self._is_training:
            self._finish()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Log the metrics, learning rates and weights of the epoch."""
        if isinstance(logs, Mapping) and logs:
            self._log_epoch(epoch, logs)
        if self._is_new(epoch, self._train):
            if self.histogram_freq and epoch % self.histogram_freq == 0:
                self._log_weights(epoch)
            if self.embeddings_freq and epoch % self.embeddings_freq == 0:
                self._log_embeddings(epoch)
        if self.should_stop:
            self._stop_training()

    def on_train_end(self, logs: Any = None) -> None:
        """End the runs as finished, or as stopped if a stop has been requested."""
        self._is_training = False
        if self.save_model:
            self._open(self._train)
            self._train.save_as("model.keras", self.model.save)
        self._finish()

    def _begin(self, epoch: int) -> None:
        """Start or continue the training run at an epoch.

        TensorBoard discards the points of all tags at or after one step, but the steps of some tags
        are epochs, and those of others are batches or iterations. There are at least as many
        batches as epochs, so discarding from the next batch keeps earlier epochs.
        """
        iterations = keras_model.count_iterations(self.model)
        self._train_batch = max(self._train_batch, keras_model.count_batches(self.model))
        if self._resume is True and self._train.folder is None:
            last = {self._train: self._train_batch, self._validation: iterations}
            if self.single_run:
                last = {self._train: max(self._train_batch, iterations)}
            for run, step in last.items():
                # A model without iterations is either new, or restored without its optimizer.
                unknown = AFTER_EVERY_STEP if epoch else 0
                run.options = {**run.options, "resume": step + 1 if step else unknown}
        self._open(self._train)
        self._train.is_training = self._validation.is_training = True

    def _open(self, run: FrameworkRun) -> Tracker:
        """Return the tracker of a run; a new run logs its configuration and the model's layers."""
        if run.folder is None:
            self._follow_suffix(run)
            run.log_config(
                {**keras_model.describe_training(self.model, self.params), **self._config}
            )
            if self._resume is not False:
                self._next_epochs[run] = _count_epochs(run.tracker.folder)
            layers = keras_model.encode_layers(self.model) if self.write_graph else None
            if run is self._train and layers is not None:
                array = np.asarray(layers, dtype=object)
                message = value_encoding.tensor("keras", array, "graph_keras_model", b"1")
                run.tracker.add_value("keras", message, 0)
        return run.tracker

    def _follow_suffix(self, run: FrameworkRun) -> None:
        """Give the second run the suffix that the first run's folder may have."""
        other = self._validation if run is self._train else self._train
        if other.folder is not None and other.name is not None and run.name is not None:
            name = os.path.basename(other.name)
            run.name += os.path.basename(other.folder).removeprefix(name)

    def _is_new(self, epoch: int, run: FrameworkRun) -> bool:
        """Whether an epoch is not yet in the log of a resumed run."""
        return epoch >= self._next_epochs.get(run, 0)

    def _log_epoch(self, epoch: int, logs: Mapping[str, Any]) -> None:
        train: dict[str, Any] = {}
        validation: dict[str, Any] = {}
        for name, value in logs.items():
            if self.single_run or not str(name).startswith(_VALIDATION_PREFIX):
                train[name] = value
            else:
                validation[str(name).removeprefix(_VALIDATION_PREFIX)] = value
        train |= keras_model.read_learning_rates(self.model)
        if self.write_steps_per_second:
            seconds = max(time.monotonic() - self._epoch_start, 1e-9)
            count = keras_model.count_iterations(self.model) - self._iterations_before
            train["steps_per_second"] = count / seconds
        for run, metrics in ((self._train, train), (self._validation, validation)):
            if metrics:
                self._open(run)
                if self._is_new(epoch, run):
                    run.log(metrics, epoch, _EPOCH)

    def _log_weights(self, epoch: int) -> None:
        run = self._open(self._train)
        for layer in self.model.layers:
            for weight in layer.weights:
                name, array = weight.path.replace(":", "_"), ops.convert_to_numpy(weight)
                log_histogram(run, f"{name}/histogram", array, epoch)
                images = keras_model.draw_weight(array) if self.write_images else None
                if images is not None:
                    log_images(run, f"{name}/image", images[:_MOST_IMAGES], epoch)

    def _find_embeddings(self) -> list[Any]:
        return [layer for layer in self.model.layers if isinstance(layer, Embedding)]

    def _read_labels(self) -> dict[str, tuple[Any, list[str] | None]]:
        """Return the labels of each embedding layer, and the names of their columns."""
        names = [layer.name for layer in self._find_embeddings()]
        given = self.embeddings_metadata
        if isinstance(given, Mapping):
            if unknown := sorted(set(given) - set(names)):
                layers = ", ".join(unknown)
                warn_caller(f"embeddings_metadata: no embedding layer is named {layers}.")
        else:
            given = dict.fromkeys(names, given)
        return {
            name: keras_model.read_labels(given[name], self.log_dir)
            for name in names
            if name in given
        }

    def _log_embeddings(self, epoch: int) -> None:
        run = self._open(self._train)
        for layer in self._find_embeddings():
            if not layer.built:
                continue  # the model does not use the layer
            metadata, header = self._labels.get(layer.name, (None, None))
            points = ops.convert_to_numpy(layer.embeddings)
            run.add_embedding(points, metadata, None, epoch, layer.name, header)

    def _stop_training(self) -> None:
        request = self._train.stop_request or self._validation.stop_request
        self._train.stop_request = self._validation.stop_request = request
        self.model.stop_training = True

    def _finish(self, error: BaseException | None = None) -> None:
        self._train.finish(error)
        self._validation.finish(error)


class TFKerasTensorBoard(RunfoldCallback):
    """Replaces Determined's callback of the same name: RunfoldCallback without `log_dir`.

    As in Determined, `log_dir` is ignored with a warning, and the run is in the trial's folder. If
    the program has not imported `determined.tensorboard`, the default of `RunfoldCallback` applies.
    All other arguments are the same as for `RunfoldCallback`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.
    """

    def __init__(self, *, log_dir: Any = None, **options: Any) -> None:
        tensorboard = sys.modules.get("determined.tensorboard")
        super().__init__(tensorboard and tensorboard.get_base_path({}), **options)
        if log_dir is not None:
            warn_caller(f"TFKerasTensorBoard ignores log_dir, and logs to {self.log_dir}.")


def _read_update_freq(given: Any) -> int:
    """Return the number of batches between logs; 0 for none. Raises ValueError."""
    if isinstance(given, str) and given in ("batch", "epoch"):
        return int(given == "batch")
    if isinstance(given, int) and given >= 0:
        return given
    raise ValueError(
        f"update_freq: expected 'batch', 'epoch' or a number of batches, got {given!r}"
    )


def _as_config(given: Any) -> dict[str, Any]:
    """Return a configuration of any type as a dict."""
    plain = as_plain(given if given is not None else {})
    return plain if isinstance(plain, dict) else {"config": plain}


def _count_epochs(folder: str) -> int:
    """Return the number after the last logged epoch in a run's folder; 0 if there is none."""
    import runfold as rf

    try:
        frame = rf.open(folder)["."].scalars()
    except (RunfoldError, OSError):
        return 0
    epochs = frame.loc[frame["tag"].str.startswith(_EPOCH), "step"]
    return int(epochs.max()) + 1 if len(epochs) else 0
