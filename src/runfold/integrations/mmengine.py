"""MMEngine: RunfoldVisBackend and RunfoldHook, which track a runner's training as a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain
from runfold._story.stop_request import interrupt_main
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun

with importing("MMEngine", "mmengine", "0.10.7"):
    from mmengine.hooks import Hook
    from mmengine.registry import HOOKS, VISBACKENDS
    from mmengine.visualization import BaseVisBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runfold._log.track.tracker import Tracker
    from runfold._story.stop_files import StopRequest

__all__ = ["RunfoldHook", "RunfoldVisBackend"]


@VISBACKENDS.register_module()
class RunfoldVisBackend(BaseVisBackend):
    """An MMEngine visualization backend that tracks training as a run, as `rf.track` does.

    Logs the same tags and steps as MMEngine's `TensorboardVisBackend`, and the runner's
    configuration also as hparams. To register the backend, import `runfold.integrations.mmengine`,
    or list this module in `custom_imports` in a configuration. The run starts when the first value
    is logged and ends when the runner does. After an exception, the run is marked as failed when
    the program ends. If the program handles the exception, the run is marked as failed only with
    `RunfoldHook`.

    A stop request interrupts training, as Ctrl-C does. With `RunfoldHook`, training stops after
    the current epoch or, in an iteration-based loop, after the current iteration.

    Args:
        save_dir: the run's folder, which MMEngine sets to `<work_dir>/<time>/vis_data`. Ignored
            under `runfold run`, which creates a folder for the run.
        logdir: the run's folder, instead of `save_dir`, or a URL such as `s3://bucket/run`.
            (MMEngine itself uses a backend's `name` key.)
        hparams: hparams in addition to the configuration, of any type that `rf.track` accepts.
        options: options of `rf.track`, such as `system=False`. `resume=True` continues the run
            and discards nothing. It needs a `logdir`, because `save_dir` contains the time.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> import runfold.integrations.mmengine
        >>> backend = {"type": "RunfoldVisBackend", "logdir": "runs/seed-1"}
        >>> Runner(
        ...     visualizer={"type": "Visualizer", "vis_backends": [backend]},
        ...     custom_hooks=[{"type": "RunfoldHook"}],
        ...     ...,
        ... ).train()
    """

    def __init__(
        self,
        save_dir: str | None = None,
        *,
        logdir: str | os.PathLike[str] | None = None,
        hparams: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(save_dir)
        folder = logdir
        if folder is None and not os.environ.get(LOGDIR_VARIABLE):
            folder = save_dir
        self._run = FrameworkRun(folder, **{"on_stop": self._on_stop, **options})
        self._hparams = as_plain({} if hparams is None else hparams)
        # Whether a hook stops training after a stop request.
        self.has_hook = False

    @property
    def experiment(self) -> Tracker:
        """The tracked run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self._run.tracker

    @property
    def should_stop(self) -> bool:
        """Whether the run has been asked to stop."""
        return self._run.should_stop

    def add_config(self, config: Any, **kwargs: Any) -> None:
        """Log the configuration as text and as hparams, with secrets replaced by `***`."""
        self._run.tracker.add_text("config", config.pretty_text)
        self._run.log_config({**self._hparams, **config.to_dict()})

    def add_graph(self, model: Any, data_batch: Any, **kwargs: Any) -> None:
        """Log the model's graph, if there is a batch to trace it with."""
        if data_batch is not None:
            self._run.tracker.add_graph(model, data_batch)

    def add_image(self, name: str, image: Any, step: int = 0, **kwargs: Any) -> None:
        """Log an RGB image with the shape (height, width, 3)."""
        self._run.tracker.add_image(name, image, step, dataformats="HWC")

    def add_scalar(self, name: str, value: Any, step: int = 0, **kwargs: Any) -> None:
        """Log a number. A value that is not a number causes one warning per tag."""
        self._run.tracker.add_scalar(name, value, step)

    def add_scalars(
        self,
        scalar_dict: Mapping[str, Any],
        step: int = 0,
        file_path: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Log numbers by tag."""
        self._run.log(scalar_dict, step)

    def close(self) -> None:
        """End the run as finished, or as stopped if it has been asked to stop."""
        self._run.finish()

    def _init_env(self) -> None:
        """Do nothing: the run starts when the first value is logged."""

    def _on_stop(self, request: StopRequest) -> None:
        self._run.stop_request = request
        if not self.has_hook:
            interrupt_main()


@HOOKS.register_module()
class RunfoldHook(Hook):
    """An MMEngine hook that stops training when a run of `RunfoldVisBackend` is asked to stop.

    Training ends after the current epoch or, in an iteration-based loop, after the current
    iteration. The runner then calls its other hooks as usual. If an exception ends the runner, the
    hook marks the run as failed even if the program handles the exception.

    Examples:
        >>> Runner(custom_hooks=[{"type": "RunfoldHook"}], ...)
    """

    def before_run(self, runner: Any) -> None:
        """Make the backends leave stop requests to this hook, and note that the runner started."""
        for backend in _find_backends(runner):
            backend.has_hook = backend._run.is_training = True

    def after_run(self, runner: Any) -> None:
        """Note that the runner ended without an exception."""
        for backend in _find_backends(runner):
            backend._run.is_training = False

    def after_train_iter(
        self, runner: Any, batch_idx: int, data_batch: Any = None, outputs: Any = None
    ) -> None:
        """Stop training if a run has been asked to stop."""
        if any(backend.should_stop for backend in _find_backends(runner)):
            runner.train_loop.stop_training = True


def _find_backends(runner: Any) -> list[RunfoldVisBackend]:
    backends = runner.visualizer._vis_backends.values()
    return [backend for backend in backends if isinstance(backend, RunfoldVisBackend)]
