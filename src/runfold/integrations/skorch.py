"""skorch: RunfoldCallback, a callback that tracks the training of a net as a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runfold._log.track.config import as_plain
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import AFTER_EVERY_STEP, FrameworkRun
from runfold.integrations._support.run_owner import WithBlock

with importing("skorch", "skorch", "1.4"):
    from skorch.callbacks import Callback, Checkpoint, TrainEndCheckpoint
    from skorch.callbacks.logging import filter_log_keys, rename_tensorboard_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from runfold._log.track.tracker import Tracker

__all__ = ["RunfoldCallback"]

# The folders that this program requested for runs. The clones of a net share one.
_requested: set[str] = set()
# Parameters of a net that say nothing about its training.
_NOT_HPARAMS = ("callbacks", "verbose", "torch_load_kwargs")
# Parameters of the callback that are not options of the run.
_NOT_OPTIONS = (
    "logdir",
    "name",
    "hparams",
    "keys_ignored",
    "key_mapper",
    "log_batches",
    "save_checkpoints",
)


class RunfoldCallback(WithBlock, Callback):
    """A skorch callback that tracks the training of a net as a run, as `rf.track` does.

    Logs what skorch's own `TensorBoard` callback logs, with the same tags and steps: the values
    of the net's history after each epoch, such as `Loss/train_loss`, `Loss/valid_loss` and `dur`.
    It also logs the learning rate of the epoch as `learning_rate`. The net's parameters are logged
    as hparams. A stop request ends training after the current epoch, as `EarlyStopping` does.

    `fit` starts a new run, and `partial_fit` continues it. Each clone of a net, for example in
    `GridSearchCV`, has its own run.

    skorch does not report exceptions to callbacks. If the program catches them, use the callback
    in a `with` block: an exception that leaves the block marks the run as failed.

    Args:
        logdir: the logdir or the run's folder, or a URL such as `s3://bucket/runs`. Default:
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`. If this folder already contains a run, the
            new run's folder gets the suffix `-2`.
        hparams: further hparams, of any type that `rf.track` accepts.
        keys_ignored: key or keys of the history that are not logged. Keys that start with `event_`
            or end in `_best` or `_batch_count` are never logged.
        key_mapper: a function that returns the tag for a key of the history.
        log_batches: whether to log the values of each training batch, such as
            `Batch/train_loss`. The step is the number of the batch, from 1.
        save_checkpoints: whether to save the last files of `Checkpoint` and `TrainEndCheckpoint`
            as artifacts. Place this callback after `Checkpoint` and `TrainEndCheckpoint`.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run at the epoch where training continues, and discards everything at or
            after that epoch. With `log_batches=True`, it discards nothing.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from skorch import NeuralNetClassifier
        >>> from runfold.integrations.skorch import RunfoldCallback
        >>> net = NeuralNetClassifier(Model, callbacks=[RunfoldCallback("runs", name="seed-1")])
        >>> net.fit(inputs, targets)
        >>> rf.open("runs")["seed-1"]["Loss/valid_loss"].values[-1]
        0.1875
    """

    # scikit-learn clones the callback: its parameters are the attributes without a trailing
    # underscore, and they must be the objects that were passed.
    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        hparams: Any = None,
        keys_ignored: str | Sequence[str] | None = None,
        key_mapper: Callable[[str], str] = rename_tensorboard_key,
        log_batches: bool = False,
        save_checkpoints: bool = False,
        **options: Any,
    ) -> None:
        self.logdir = logdir
        self.name = name
        self.hparams = hparams
        self.keys_ignored = keys_ignored
        self.key_mapper = key_mapper
        self.log_batches = log_batches
        self.save_checkpoints = save_checkpoints
        self.__dict__.update(options)
        self.run_ = self._make_run()
        self.is_training_ = False
        self.has_trained_ = False
        self.logged_epoch_ = 0
        self.learning_rates_: dict[str, Any] = {}
        self.batch_count_ = 0

    def _leave(self, error: BaseException | None) -> None:
        self.run_.finish(error)

    @property
    def tracker(self) -> Tracker:
        """The run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self.run_.tracker

    @property
    def folder(self) -> str | None:
        """The run's folder; None before the run starts."""
        return self.run_.folder

    def initialize(self) -> Self:
        """Prepare a new run, which the first epoch starts. skorch calls this before `fit`."""
        self._end_earlier_training()
        if self.has_trained_:
            self.run_ = self._make_run(resume=False)
        return self

    def on_train_begin(self, net: Any, *args: Any, **kwargs: Any) -> None:
        """Note that training begins. The first epoch starts or continues the run."""
        self._end_earlier_training()

    def on_epoch_begin(self, net: Any, *args: Any, **kwargs: Any) -> None:
        """Start or continue the run in the first epoch, and log the net's parameters."""
        epoch = net.history[-1, "epoch"]
        if not self.is_training_:
            self._start(net, epoch)
        self.learning_rates_ = dict(read_learning_rates(net))

    def on_batch_end(self, net: Any, *args: Any, training: bool = False, **kwargs: Any) -> None:
        """Log the values of a training batch if requested."""
        if not (self.log_batches and training):
            return
        self.batch_count_ += 1
        for key, value in net.history[-1]["batches"][-1].items():
            if not key.endswith("_batch_size"):
                self.run_.log({f"Batch/{key}": value}, self.batch_count_)

    def on_epoch_end(self, net: Any, *args: Any, **kwargs: Any) -> None:
        """Log the values of an epoch.

        Raises:
            KeyboardInterrupt: the run has been asked to stop. skorch handles this exception.
        """
        self._log_epoch(net.history[-1])
        if any(net.history[-1].get(event) for event in _list_checkpoint_events(net)):
            self.run_.flush()  # so that the log is not older than the checkpoint
        if self.run_.should_stop and self.is_training_:
            raise KeyboardInterrupt

    def on_train_end(self, net: Any, *args: Any, **kwargs: Any) -> None:
        """Save the checkpoints if requested, and end the run."""
        error: BaseException | None = None
        if self.is_training_ and net.history and self.logged_epoch_ < net.history[-1, "epoch"]:
            if "dur" in net.history[-1]:
                # An earlier callback, such as EarlyStopping, stopped training after this epoch.
                self._log_epoch(net.history[-1])
            else:
                error = KeyboardInterrupt("Training was interrupted during an epoch.")
        if self.save_checkpoints:
            for path in _list_checkpoint_files(net):
                self.run_.save(path)
        self.is_training_ = False
        self.run_.finish(error)

    def _end_earlier_training(self) -> None:
        """End the run if its training did not reach `on_train_end`."""
        if self.is_training_:
            self.is_training_ = False
            self.run_.finish(RuntimeError("Training did not finish."))

    def _make_run(self, **changes: Any) -> FrameworkRun:
        options = {
            name: value
            for name, value in vars(self).items()
            if not name.endswith("_") and name not in _NOT_OPTIONS
        }
        return FrameworkRun(self.logdir, self.name, **{**options, **changes})

    def _start(self, net: Any, epoch: int) -> None:
        run = self.run_
        # Everything at or after this step is from epochs that training repeats. Numbers of batches
        # cannot be compared with numbers of epochs.
        step = AFTER_EVERY_STEP if self.log_batches else epoch
        if run.folder is None:
            folder = os.path.abspath(os.path.join(run.logdir or "", run.name or ""))
            run.is_one_of_many = folder in _requested
            _requested.add(folder)
        if self.has_trained_:
            # `partial_fit`. The net may have loaded an earlier checkpoint.
            run.continue_at(step)
        elif run.options.get("resume") is True:
            run.options["resume"] = step
        self.is_training_ = self.has_trained_ = run.is_training = True
        self.logged_epoch_ = epoch - 1
        self.batch_count_ = sum(row.get("train_batch_count", 0) for row in net.history[:-1])
        plain = as_plain(self.hparams if self.hparams is not None else {})
        hparams = plain if isinstance(plain, dict) else {"hparams": plain}
        run.log_config({**read_params(net), **hparams})

    def _log_epoch(self, row: Mapping[str, Any]) -> None:
        """Log a row of the history."""
        keys = self.keys_ignored or ()
        ignored = {"batches", *([keys] if isinstance(keys, str) else keys)}
        epoch = row["epoch"]
        values = {self.key_mapper(key): row[key] for key in filter_log_keys(row, ignored)}
        self.run_.log({**values, **self.learning_rates_}, epoch)
        self.logged_epoch_ = epoch


def read_params(net: Any) -> dict[str, Any]:
    """Return the parameters of a net by name, except those that are not set."""
    return {
        name: value
        for name, value in net.get_params(deep=False).items()
        if value is not None and not name.startswith("_") and name not in _NOT_HPARAMS
    }


def read_learning_rates(net: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tag and the learning rate of each parameter group of the net's optimizer."""
    groups = getattr(getattr(net, "optimizer_", None), "param_groups", [])
    for index, group in enumerate(groups):
        if "lr" in group:
            yield (
                f"learning_rate/group_{index}" if len(groups) > 1 else "learning_rate",
                group["lr"],
            )


def _list_checkpoints(net: Any) -> Iterator[Checkpoint]:
    for _, callback in net.callbacks_:
        checkpoint = callback.checkpoint_ if isinstance(callback, TrainEndCheckpoint) else callback
        if isinstance(checkpoint, Checkpoint):
            yield checkpoint


def _list_checkpoint_events(net: Any) -> Iterator[str]:
    return (checkpoint.event_name for checkpoint in _list_checkpoints(net) if checkpoint.event_name)


def _list_checkpoint_files(net: Any) -> Iterator[str]:
    """Yield the paths of the last files that the net's checkpoints saved."""
    for checkpoint in _list_checkpoints(net):
        event = checkpoint.event_name
        if event is None or any(row.get(event) for row in net.history):
            files = checkpoint.get_formatted_files(net).values()
            yield from (path for path in files if isinstance(path, str))
