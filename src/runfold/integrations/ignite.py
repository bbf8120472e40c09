"""Ignite: RunfoldLogger, a logger that tracks a run, and the handlers of Ignite's own logger."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from runfold._log.track.tracker import Tracker
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun

with importing("PyTorch Ignite", "pytorch-ignite", "0.5.5"):
    import ignite.distributed as idist
    from ignite.engine import Engine, Events
    from ignite.handlers.tensorboard_logger import (
        GradsHistHandler,
        GradsScalarHandler,
        OptimizerParamsHandler,
        OutputHandler,
        TensorboardLogger,
        WeightsHistHandler,
        WeightsScalarHandler,
        global_step_from_engine,
    )

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from runfold._story.stop_files import StopRequest

__all__ = [
    "GradsHistHandler",
    "GradsScalarHandler",
    "OptimizerParamsHandler",
    "OutputHandler",
    "RunfoldLogger",
    "WeightsHistHandler",
    "WeightsScalarHandler",
    "global_step_from_engine",
]


class RunfoldLogger(TensorboardLogger):
    """An Ignite logger that tracks a run, as `rf.track` does.

    It replaces Ignite's `TensorboardLogger`: the handlers, the tags, the steps, and the methods
    `attach`, `attach_output_handler` and `attach_opt_params_handler` are the same. This logger
    also has all methods of `SummaryWriter`, such as `add_figure`.

    The first value that is logged starts the run. `close`, or the end of a `with` block, ends it.
    If an exception ends an engine to which the logger is attached, the run is marked as failed with
    that exception. After a stop request, the outermost of the logger's engines terminates when its
    current iteration ends. In a distributed job, only rank zero logs, and a stop request is
    ignored.

    Args:
        logdir: the logdir or the run's folder, or a URL such as `s3://bucket/runs`. Default:
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`. If this folder already contains a run, the
            new run's folder gets the suffix `-2`, unless `resume` is set.
        options: options of `rf.track`, such as `hparams=` or `system=False`. `resume=True`
            continues the run and discards nothing. Pass a step to discard everything at or after
            that step, such as `resume=trainer.state.iteration + 1`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from ignite.engine import Events
        >>> from runfold.integrations.ignite import RunfoldLogger
        >>> with RunfoldLogger("runs", name="seed-1", hparams={"lr": 0.1}) as logger:
        ...     logger.attach_output_handler(
        ...         trainer,
        ...         event_name=Events.ITERATION_COMPLETED,
        ...         tag="training",
        ...         output_transform=lambda loss: {"loss": loss},
        ...     )
        ...     trainer.run(data, max_epochs=5)
        >>> rf.open("runs")["seed-1"]["training/loss"].values[-1]
        0.1875
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        # Do not call `super().__init__`, which creates a writer of tensorboardX or torch.
        if idist.get_world_size() > 1:
            options.setdefault("is_main", idist.get_rank() == 0)
        self._run = _LoggerRun(self, logdir, name, **options)
        self._engines: weakref.WeakSet[Any] = weakref.WeakSet()
        self._running: list[Any] = []
        self._handled_request: StopRequest | None = None

    def __getattr__(self, attr: str) -> Any:
        """Return a method of the run. Accessing an unknown name does not start the run."""
        if attr.startswith("_") or not hasattr(Tracker, attr):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attr}'")
        return getattr(self.writer, attr)

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._run.finish(value)

    @property
    def writer(self) -> Tracker:
        """The run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        # Ignite reads this for each metric. A second property takes as long as logging a number.
        tracker = self._run._tracker
        if tracker is None or tracker._event_writer.is_closed:
            return self._run.tracker
        return tracker

    @property
    def folder(self) -> str | None:
        """The run's folder; None before the run starts."""
        return self._run.folder

    def attach(
        self, engine: Any, log_handler: Any, event_name: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a handler at an event of an engine, as Ignite's loggers do.

        Returns:
            A handle that removes the handler.
        """
        if engine not in self._engines:
            self._engines.add(engine)
            engine.add_event_handler(Events.STARTED, self._note_start)
            engine.add_event_handler(Events.EXCEPTION_RAISED, self._note_exception)
            for event in (Events.TERMINATE, Events.INTERRUPT, Events.COMPLETED):
                engine.add_event_handler(event, self._note_end)
        return super().attach(engine, log_handler, event_name, *args, **kwargs)

    def save(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Copy a file or folder into the run as an artifact. A failure causes a warning.

        Examples:
            >>> checkpoint = ModelCheckpoint("checkpoints", require_empty=False)
            >>> trainer.add_event_handler(Events.EPOCH_COMPLETED, checkpoint, {"model": model})
            >>> trainer.add_event_handler(
            ...     Events.COMPLETED, lambda: logger.save(checkpoint.last_checkpoint)
            ... )
        """
        self._run.save(path, name)

    def close(self) -> None:
        """End the run. Logging another value continues the run."""
        self._run.finish()

    def _note_start(self, engine: Engine) -> None:
        if engine not in self._running:
            self._running.append(engine)
        self._terminate()

    def _note_end(self, engine: Engine) -> None:
        if engine in self._running:
            self._running.remove(engine)

    def _note_exception(self, engine: Engine, error: BaseException) -> None:
        """End the run as failed.

        Raises:
            BaseException: the exception, if no other handler decides what to do with it.
        """
        self._note_end(engine)
        self._run.finish(error)
        # Ignite itself raises the exception only if no handler is attached. Let the handlers of
        # other loggers run first.
        owners = [getattr(handler, "__self__", None) for handler, *_ in _list_handlers(engine)]
        if owners[-1:] == [self] and all(isinstance(owner, RunfoldLogger) for owner in owners):
            raise error

    def _terminate(self) -> None:
        """Terminate the outermost engine, once for each stop request.

        A nested evaluator continues, and so does an evaluation after training.
        """
        request = self._run.stop_request
        if request is None or request is self._handled_request or idist.get_world_size() > 1:
            return
        if self._running:
            self._handled_request = request
            self._running[0].terminate()


class _LoggerRun(FrameworkRun):
    """A run that terminates the running engine as soon as it receives a stop request."""

    def __init__(self, logger: RunfoldLogger, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._logger = weakref.ref(logger)

    def _note_stop(self, request: StopRequest) -> None:
        super()._note_stop(request)
        if (logger := self._logger()) is not None:
            logger._terminate()


def _list_handlers(engine: Engine) -> list[tuple[Any, ...]]:
    """Return the exception handlers, with their arguments."""
    return list(engine._event_handlers[Events.EXCEPTION_RAISED])
