"""Sacred: RunfoldObserver, which tracks runs, and import_runs, which imports older runs."""

from __future__ import annotations

import functools
import os
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from runfold._log.capture.transcript import Transcript
from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._story.stop_request import interrupt_main
from runfold._warnings import warn_caller
from runfold.errors import CannotLog
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun
from runfold.integrations._support.recorded_run import RecordedRun
from runfold.integrations._support.sacred_folder import (
    add_result,
    as_json,
    describe_experiment,
    simplify,
)
from runfold.integrations._support.sacred_import import ImportReport, import_runs

with importing("Sacred", "sacred", "0.8.7"):
    from sacred.commandline_options import cli_option
    from sacred.dependencies import get_digest
    from sacred.observers import RunObserver
    from sacred.serializer import flatten as pickle_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runfold._log.track.tracker import Tracker
    from runfold._story.stop_files import StopRequest

    Method = TypeVar("Method", bound=Callable[..., None])

__all__ = ["ImportReport", "RunfoldObserver", "import_runs", "runfold_option"]

_LONGEST_OUTPUT = 1_000_000


def _never_raise(method: Method) -> Method:
    """Make a method warn instead of raising: Sacred stops calling an observer that raises."""

    @functools.wraps(method)
    def call(self: RunfoldObserver, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            if method.__name__ not in self._failed:
                self._failed.add(method.__name__)
                warn_caller(
                    f"Runfold could not record Sacred's `{method.__name__}`: "
                    f"{type(error).__name__}: {error}. Further failures are not reported."
                )

    return call  # type: ignore[return-value]


class RunfoldObserver(RunObserver):
    """A Sacred observer that tracks each run of an experiment, as `rf.track` does.

    The run's folder is `<logdir>/<experiment>/<id>`. The id is the one from Sacred's first
    observer, or else the next free number. The event file contains the configuration as hparams,
    the code, the machine, the packages, the status with the traceback of a failure, and the output
    that Sacred captured. Metrics from `_run.log_scalar` have their steps and times. A number that
    the experiment returns is logged as the series `result`. Artifacts are copied into the run's
    folder. `_run.info`, the resources, and the comment are logged as text, with the tags
    `sacred/info`, `sacred/resources` and `sacred/comment`.

    If a run fails, Sacred drops the output since its last heartbeat. To record all output, pass
    `output=True`, and set `sacred.SETTINGS.CAPTURE_MODE = "no"`.

    A stop request interrupts the run as Ctrl-C does. The run's status is then
    INTERRUPTED in Sacred, and stopped in Runfold.

    Args:
        logdir: the logdir. Default: `runs` or, under `runfold run`, the folder that it created.
        priority: Sacred calls observers with a higher priority first.
        options: options of `rf.track`, such as `system=False` or `storage=`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from sacred import Experiment
        >>> from runfold.integrations.sacred import RunfoldObserver
        >>> experiment = Experiment("mnist")
        >>> experiment.observers.append(RunfoldObserver("runs"))
    """

    def __init__(
        self, logdir: str | os.PathLike[str] | None = None, priority: int = 10, **options: Any
    ) -> None:
        self.priority = priority
        self._is_guest = logdir is None and bool(os.environ.get(LOGDIR_VARIABLE))
        self._logdir = os.fspath(logdir) if logdir is not None else "runs"
        self._options = {"on_stop": self._interrupt, **options}
        self._failed: set[str] = set()
        # Used only if the program logs before Sacred starts a run.
        self._run = FrameworkRun(logdir, None if self._is_guest else "sacred", **self._options)
        self._transcript: Transcript | None = None
        self._feed: Callable[[str], object] | None = None
        self._output_size = 0
        self._result: Any = None
        self._info, self._info_count = "", 0
        self._resources: list[dict[str, Any]] = []

    @property
    def tracker(self) -> Tracker:
        """The run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self._run.tracker

    @property
    def folder(self) -> str | None:
        """The run's folder; None before the run starts."""
        return self._run.folder

    def started_event(
        self,
        ex_info: Mapping[str, Any],
        command: str,
        host_info: Mapping[str, Any],
        start_time: datetime,
        config: Mapping[str, Any],
        meta_info: Mapping[str, Any],
        _id: Any,
    ) -> Any:
        """Start the run; return its id, or None if neither Sacred nor Runfold has chosen one."""
        name = str(ex_info.get("name") or "sacred").replace(os.sep, "-").lstrip(".") or "sacred"
        options = {**self._options, "config": simplify(as_plain_json(config))}
        folder = os.path.join(self._logdir, name)
        self._run.finish()
        if self._is_guest:
            self._run = FrameworkRun(None, **options)
        else:
            try:
                _id = claim_number(folder) if _id is None else _id
            except OSError as error:  # Sacred would end the experiment
                warn_caller(f"The experiment continues without a log: {error}")
                options["is_main"] = False
            self._run = FrameworkRun(folder, str(_id).replace(os.sep, "-"), **options)
        run = self._run.tracker
        if not self._options.get("output"):
            self._transcript = Transcript(run._event_writer, _LONGEST_OUTPUT)
            self._feed = self._transcript.feed()
        self._output_size, self._result, self._resources = 0, None, []
        self._info, self._info_count = "", 0
        facts = {**describe_experiment(ex_info), "command": command}
        facts["dependencies"] = list(ex_info.get("dependencies") or ())
        facts["sources"] = [source for source, _ in ex_info.get("sources") or ()]
        run.add_text("sacred/experiment", as_json(facts), 0)
        if comment := meta_info.get("comment"):
            run.add_text("sacred/comment", str(comment), 0)
        return _id

    @_never_raise
    def log_metrics(self, metrics_by_name: Mapping[str, Any], info: Mapping[str, Any]) -> None:
        """Log the new points of each metric."""
        if not metrics_by_name:
            return
        add_scalar = self._run.tracker.add_scalar
        for name, metric in metrics_by_name.items():
            times = as_seconds(metric["timestamps"])
            points = zip(metric["steps"], metric["values"], times, strict=True)
            for step, value, wall_time in points:
                add_scalar(name, value, step, wall_time)

    @_never_raise
    def heartbeat_event(
        self, info: Mapping[str, Any], captured_out: str, beat_time: datetime, result: Any
    ) -> None:
        """Log the new output, and `info` if it has changed."""
        self._result = result
        if self._transcript is not None and self._feed is not None:
            self._feed(captured_out[self._output_size :])
            self._output_size = len(captured_out)
            self._transcript.log()
        if info and (shown := as_json(simplify(as_plain_json(info)))) != self._info:
            self._info = shown
            self._info_count += 1
            self._run.tracker.add_text("sacred/info", shown, self._info_count)

    @_never_raise
    def resource_event(self, filename: str) -> None:
        """Record the path, size and MD5 of a file that the experiment opened."""
        path = os.path.abspath(filename)
        size = os.path.getsize(path)
        self._resources.append({"path": path, "size": size, "md5": get_digest(path)})
        text = as_json(self._resources)
        self._run.tracker.add_text("sacred/resources", text, len(self._resources))

    @_never_raise
    def artifact_event(
        self,
        name: str,
        filename: str,
        metadata: Mapping[str, Any] | None = None,
        content_type: str | None = None,
    ) -> None:
        """Copy a file that the experiment produced into the run's folder."""
        try:
            self._run.tracker.save(filename, name)
        except CannotLog:  # the name is a path outside the folder
            self._run.tracker.save(filename, os.path.basename(name) or None)

    @_never_raise
    def completed_event(self, stop_time: datetime, result: Any) -> None:
        """End the run as finished, with its result."""
        self._end(None, result)

    @_never_raise
    def interrupted_event(self, interrupt_time: datetime, status: str) -> None:
        """End the run as interrupted, or as stopped if it has been asked to stop."""
        run = self._run.tracker
        if not self._run.should_stop:
            if status != "INTERRUPTED":
                run.mark(f"Sacred's status is {status}.")
            run.fail(1, "interrupted")
        self._end(None, self._result)

    @_never_raise
    def failed_event(self, fail_time: datetime, fail_trace: list[str]) -> None:
        """End the run as failed, with the exception."""
        self._end(sys.exception() or RuntimeError("".join(fail_trace)), self._result)

    def _end(self, error: BaseException | None, result: Any) -> None:
        run = self._run.tracker
        if self._transcript is not None:
            self._transcript.log(is_last=True)
        recorded = RecordedRun(time.time())
        add_result(recorded, as_plain_json(result))
        for tag, points in recorded.scalars.items():
            for step, wall_time, value in points:
                run.add_scalar(tag, value, step, wall_time)
        for tag, text in recorded.texts.items():
            run.add_text(tag, text, 0)
        self._transcript = self._feed = None
        self._run.finish(error)

    def _interrupt(self, request: StopRequest) -> None:
        self._run.stop_request = request
        interrupt_main()


@cli_option("-R", "--runfold")
def runfold_option(args: str, run: Any) -> None:
    """Add a RunfoldObserver that logs to this folder."""
    run.observers.append(RunfoldObserver(args))


def claim_number(folder: str) -> int:
    """Create a folder, and in it a folder named after the next free number; return the number."""
    os.makedirs(folder, exist_ok=True)
    numbers = [int(name) for name in os.listdir(folder) if name.isascii() and name.isdigit()]
    number = max(numbers, default=0) + 1
    while True:
        try:
            os.mkdir(os.path.join(folder, str(number)))
        except FileExistsError:
            number += 1
        else:
            return number


def as_seconds(times: Sequence[datetime]) -> list[float]:
    """Return Sacred's times, which are in UTC without a time zone, as seconds since 1970."""
    if not times:
        return []
    epoch = datetime(1970, 1, 1, tzinfo=times[0].tzinfo and UTC)
    return [(moment - epoch).total_seconds() for moment in times]


def as_plain_json(value: Any) -> Any:
    """Return a value as Sacred's FileStorageObserver would store it."""
    try:
        return pickle_to_json(value)
    except Exception:  # a value that jsonpickle does not support
        return str(value)
