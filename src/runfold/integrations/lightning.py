"""Lightning: RunfoldLogger, a logger that tracks a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runfold._conventions import STORY_PREFIX
from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain, flatten
from runfold._log.track.tracker import Tracker
from runfold._storage.url import is_url
from runfold._story import story_parts

try:
    from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
    from lightning.pytorch.utilities import rank_zero_only
except ModuleNotFoundError:
    try:
        from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
        from pytorch_lightning.utilities import rank_zero_only
    except ModuleNotFoundError as error:
        raise ImportError(
            "runfold.integrations.lightning needs Lightning, which could not be imported "
            f"({error}). Install it with `pip install lightning` or "
            "`pip install pytorch-lightning`."
        ) from error

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["RunfoldLogger"]

# The statuses of a run without errors: "finished" is that of a Slurm job before it is requeued.
_FINISHED = ("success", "finished")
_VERSION = "version_"
# Resuming at a step discards everything logged at or after it. No step is this large.
_AFTER_EVERY_STEP = 2**63 - 1


class RunfoldLogger(Logger):
    """A Lightning logger that tracks a run, as `rf.track` does.

    The run's folder is `<save_dir>/<name>/version_<number>`, as with Lightning's own loggers, and
    `ModelCheckpoint` saves to `checkpoints` in it. The first call of `fit`, `validate`,
    `test` or `predict` starts the run. Each call ends it as finished or failed, and the next call
    continues it. In a distributed job, only rank zero logs. `fast_dev_run=True` logs nothing.

    Works with the packages lightning and pytorch-lightning.

    Args:
        save_dir: the logdir, or a URL such as `s3://bucket/runs`. Default: `runs`, or the run's
            folder itself under `runfold run`.
        name: the folder of the experiment below `save_dir`. "" for none.
        version: number of the run, or name of its folder. "" logs to the experiment's folder.
            Default: the next free number. If the folder already contains a run, `-2` is added to
            its name, unless `resume` is set.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run and discards nothing. Pass a step to discard everything at or after
            that step.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from lightning import Trainer
        >>> from runfold.integrations.lightning import RunfoldLogger
        >>> trainer = Trainer(logger=RunfoldLogger("runs", name="mnist"))
        >>> trainer.fit(model)
        >>> rf.open("runs")["mnist/version_0"].status.state
        'finished'
    """

    def __init__(
        self,
        save_dir: str | os.PathLike[str] | None = None,
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if save_dir is None and (folder := os.environ.get(LOGDIR_VARIABLE)):
            save_dir, name, version = folder, "", ""
        self._save_dir = os.fspath(save_dir if save_dir is not None else "runs")
        self._name = name or ""
        self._version = version
        self._options = {"is_main": True, **options}
        self._run: Tracker | None = None
        self._has_started = False
        self._config: dict[str, Any] = {}
        # Report wrong options here, not when training starts. A tracker is lazy.
        Tracker(self._save_dir, name=self._name, **self._options)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the run, which another process resumes."""
        return {**vars(self), "_run": None}

    @property
    def save_dir(self) -> str:
        """The logdir."""
        return self._save_dir

    @property
    def name(self) -> str:
        """The folder of the experiment below `save_dir`."""
        return self._name

    @property
    def version(self) -> int | str:
        """Number of the run, or name of its folder."""
        if self._version is None:
            self._version = _find_next_version(self.root_dir)
        return self._version

    @property
    def root_dir(self) -> str:
        """The folder of all versions."""
        return os.path.join(self.save_dir, self.name) if self.name else self.save_dir

    @property
    def log_dir(self) -> str:
        """The run's folder."""
        folder = _name_folder(self.version)
        return os.path.join(self.root_dir, folder) if folder else self.root_dir

    @property
    @rank_zero_experiment
    def experiment(self) -> Tracker:
        """The tracked run, with all methods of `SummaryWriter`. Starts or continues the run.

        On ranks other than zero, it is an object that accepts all calls and does nothing.

        Examples:
            >>> self.logger.experiment.add_histogram("weights", self.layer.weight, step)
        """
        if self._run is None or self._run.is_closed:
            self._run = self._start()
        return self._run

    @rank_zero_only
    def log_hyperparams(
        self,
        params: Mapping[str, Any] | Namespace | Any = None,
        metrics: Mapping[str, Any] | float | None = None,
        step: int | None = None,
        **more: Any,
    ) -> None:
        """Log hparams, with secrets replaced by `***`. Later calls add to earlier ones.

        Args:
            params: a mapping, a namespace, a dataclass, or a Hydra or pydantic configuration.
                Nested names are joined by dots.
            metrics: metrics for TensorBoard's HPARAMS page. A number is logged as `hp_metric`.
            step: the step of the metrics. Default: the last logged step.
            more: further hparams by name.

        Examples:
            >>> logger.log_hyperparams({"lr": 0.1, "model": {"width": 64}}, seed=1)
        """
        run = self.experiment
        plain = as_plain(params if params is not None else {})
        config = {**self._config, **(plain if isinstance(plain, dict) else {"params": plain})}
        config |= as_plain(more)
        if metrics is not None and not isinstance(metrics, Mapping):
            metrics = {"hp_metric": metrics}
        if config:
            run.add_hparams(flatten(config), metrics, run_name=os.curdir, global_step=step)
        elif metrics:
            run.log(metrics, step)
        if config != self._config:
            self._config = config
            message = story_parts.encode_story(story_parts.CONFIG, config)
            run.add_value(STORY_PREFIX + story_parts.CONFIG, message)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log numbers by tag. A value that is a mapping becomes one series per key: `tag/key`.

        A value that cannot be logged causes one warning per tag and does not stop training.
        """
        run = self.experiment
        for tag, value in metrics.items():
            if isinstance(value, Mapping):
                run.add_scalars(tag, value, step)
            else:
                run.add_scalar(tag, value, step)

    def save(self) -> None:
        """Do nothing: a background thread writes the log at least every two seconds.

        Lightning calls this after each `log_metrics`.
        """

    @rank_zero_only
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Write all pending events, so that the log is not older than the checkpoint."""
        if self._run is not None and not self._run.is_closed:
            self._run.flush()

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Record how the run ended, with the exception that ended it, and close its file.

        Args:
            status: "success" or "finished"; any other status is a failure.
        """
        run, self._run = self._run, None
        if run is None or run.is_closed:
            return
        failure: BaseException | None = None
        if status not in _FINISHED:
            failure = sys.exception() or RuntimeError(f"Lightning reported the status '{status}'.")
        run.__exit__(type(failure), failure, None)

    def _start(self) -> Tracker:
        """Return the run, with an open event file. Raises OSError."""
        requested = self.log_dir
        options = dict(self._options)
        if self._has_started:
            options["code"] = False  # it is already recorded
        if self._has_started or options.get("resume") is True:
            # `rf.track` would discard everything at or after the first step that is logged now.
            # That can be an epoch, or step 0 of a `test` without `fit`.
            options["resume"] = _AFTER_EVERY_STEP
        name = os.path.join(self.name, _name_folder(self.version)).rstrip("/")
        run = Tracker(self.save_dir, name=name or None, **options).__enter__()
        self._has_started = True
        # The folder may have another suffix, because it already contained a run.
        suffix = os.fspath(run.log_dir).removeprefix(requested)
        if suffix.startswith("-"):
            self._add_suffix(suffix)
        return run

    def _add_suffix(self, suffix: str) -> None:
        """Add a suffix to the name of the run's folder."""
        if self.version != "":
            self._version = _name_folder(self.version) + suffix
        elif self.name:
            self._name += suffix
        else:
            self._save_dir += suffix


def _name_folder(version: int | str) -> str:
    """Return the folder of a version, as Lightning names it."""
    return version if isinstance(version, str) else f"{_VERSION}{version}"


def _find_next_version(folder: str) -> int:
    """Return the number after the highest version in a folder; 0 if there is none.

    A URL is not listed. The tracker gives a second run there another name.
    """
    try:
        names = [] if is_url(folder) else os.listdir(folder)
    except OSError:
        names = []
    numbers = [name.removeprefix(_VERSION) for name in names if name.startswith(_VERSION)]
    # `version_1-2` is a second run with the same version.
    numbers = [number.partition("-")[0] for number in numbers]
    return max((int(number) + 1 for number in numbers if number.isdecimal()), default=0)
