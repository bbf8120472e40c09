"""The run of a framework's logger or callback, which can be called in any order."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import tempfile
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runfold._conventions import STORY_PREFIX
from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain, flatten
from runfold._log.track.tracker import Tracker
from runfold._log.writer.exit_reason import raised_last
from runfold._storage.url import is_url
from runfold._story import story_parts
from runfold._warnings import warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runfold._story.stop_files import StopRequest

# Resuming at a step discards everything logged at or after it. No step is this large.
AFTER_EVERY_STEP = 2**63 - 1
_DEEPEST = 10
# The number of runs that this process has started in the folder of `runfold run`.
_guests: dict[str, int] = {}


class FrameworkRun:
    """A tracked run that a framework's callbacks start, log to and end.

    The first call that logs starts the run. After `finish`, the next such call continues it in
    the same folder, so a framework may log before its start event or after its end event.

    If the run's folder cannot be written to, training continues without a log, with a warning.

    A stop request does not interrupt the framework: it sets `should_stop`, and the adapter stops
    the framework in the framework's own way. Pass `on_stop` to do something else.

    Args:
        logdir: the logdir or the run's folder, as in `rf.track`. Default: `runs/<time>_<host>` or,
            under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`.
        options: options of `rf.track`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Attributes:
        resumes_at_first_step: whether `resume=True` discards everything at or after the first step
            that is logged, as `rf.track` does. Otherwise, it discards nothing, because the first
            step that a framework logs can be an epoch.
        is_one_of_many: whether the program is expected to start several runs in this folder, as a
            search does. Then a suffix in the name of the folder causes no warning.
        is_training: whether training has begun and not ended. If the program ends while this is
            True, the run is marked as failed. `finish` sets it to False.
    """

    resumes_at_first_step = False
    is_one_of_many = False

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        if logdir is None and (folder := os.environ.get(LOGDIR_VARIABLE)):
            logdir, name = folder, None
        self.logdir = logdir
        self.name = name
        self.options = options
        self.config: dict[str, Any] = {}
        self.stop_request: StopRequest | None = None
        self.is_training = False
        self._tracker: Tracker | None = None
        self._at_exit: Callable[[], object] | None = None
        self._folder: str | None = None
        self._resume_step = AFTER_EVERY_STEP
        self._began: float | None = None
        # Report wrong options here, not when training starts.
        Tracker(logdir, name=name, **options)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the open run, which the unpickled copy continues."""
        return {**vars(self), "_tracker": None, "_at_exit": None, "is_training": False}

    @property
    def tracker(self) -> Tracker:
        """The open run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        tracker = self._tracker
        # Do not use the property `is_closed`: it takes longer than logging a number.
        if tracker is None or tracker._event_writer.is_closed:
            tracker = self._tracker = self._start()
        return tracker

    @property
    def is_open(self) -> bool:
        """Whether the run has started and has not ended."""
        return self._tracker is not None and not self._tracker.is_closed

    @property
    def folder(self) -> str | None:
        """The run's folder; None before the run starts."""
        return self._folder

    @property
    def should_stop(self) -> bool:
        """Whether the run has been asked to stop."""
        return self.stop_request is not None

    def log(self, metrics: Mapping[Any, Any], step: Any = None, prefix: str = "") -> None:
        """Log numbers by tag; a nested mapping becomes one series per key: `tag/key`.

        None is skipped. A value that cannot be logged causes one warning per tag and does not
        stop training.
        """
        if self.log_plain(metrics, step, prefix):
            return
        add_scalar = self.tracker.add_scalar
        for name, value in metrics.items():
            kind = value.__class__
            # Most values are plain numbers, and every check takes time compared with logging one.
            if kind is not float and kind is not int and (value is None or _is_mapping(kind)):
                for tag, number in name_series({name: value}, prefix):
                    add_scalar(tag, number, step)
            else:
                tag = prefix + name if name.__class__ is str else f"{prefix}{name}"
                add_scalar(tag, value, step)

    def log_plain(self, metrics: Any, step: Any, prefix: str = "") -> bool:
        """Log a dict of plain numbers by tag in one call, if the run is open.

        Returns False, and logs nothing, if the run is not open or if a name, a value or the step
        needs a check or a conversion.
        """
        # In a closed run, and in a process that does not log, the tracker returns False.
        tracker = self._tracker
        return tracker is not None and tracker._log_plain(metrics, step, prefix)

    def log_config(
        self, config: Any, metrics: Mapping[str, Any] | None = None, step: int | None = None
    ) -> None:
        """Log hparams and configuration, with secrets replaced by `***`.

        Later calls add to earlier ones. Nested names are joined by dots. `metrics` are those of
        TensorBoard's HPARAMS page.
        """
        plain = as_plain(config if config is not None else {})
        merged = {**self.config, **(plain if isinstance(plain, dict) else {"config": plain})}
        if merged:
            options = {} if step is None else {"global_step": step}
            self.tracker.add_hparams(flatten(merged), metrics, run_name=os.curdir, **options)
        elif metrics:
            self.log(metrics, step)
        if merged != self.config:
            self.config = merged
            message = story_parts.encode_story(story_parts.CONFIG, merged)
            self.tracker.add_value(STORY_PREFIX + story_parts.CONFIG, message)

    def save(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Copy a file or folder into the run as an artifact. A failure causes a warning."""
        try:
            self.tracker.save(path, name)
        except Exception as error:  # a full disk, or a file that was removed in the meantime
            warn_unsaved(os.fspath(path), error)

    def save_as(self, name: str, write: Callable[[str], object]) -> None:
        """Save a file, which `write(path)` creates, as an artifact. A failure causes a warning."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, name)
                write(path)
                self.tracker.save(path)
        except Exception as error:  # a full disk, or a model that cannot be saved
            warn_unsaved(name, error)

    def flush(self) -> None:
        """Write all pending events, if the run is open."""
        if self._tracker is not None and not self._tracker.is_closed:
            self._tracker.flush()

    def finish(self, error: BaseException | None = None) -> None:
        """Record how the run ended, and close its file. Does nothing if the run is not open.

        Without an error, the run is recorded as finished, or as stopped if it has been asked to
        stop.
        """
        run, self._tracker = self._tracker, None
        self.is_training = False
        if self._at_exit is not None:
            atexit.unregister(self._at_exit)
            self._at_exit = None
        if run is None or run.is_closed:
            return
        if error is None and self.should_stop:
            run.fail(0, "stopped")
        try:
            run.__exit__(type(error), error, None)
        except OSError as failure:  # such as a quota error, which NFS reports when a file is closed
            if self.options.get("on_error") == "raise":
                raise
            warn_caller(f"The event file of the run could not be closed: {failure}")

    def finish_as(self, is_success: bool, reason: str) -> None:
        """End the run as `finish` does, for a framework that reports a status, not an exception.

        A failed run records the exception that is being handled, or else `reason`.
        """
        self.finish(None if is_success else sys.exception() or RuntimeError(reason))

    def continue_at(self, step: int) -> None:
        """End the run if it is open. If it continues, discard everything at or after the step."""
        self.finish()
        self.stop_request = None
        self._resume_step = step

    def discard_from(self, step: int) -> None:
        """Discard everything that was logged at or after the step so far."""
        writer = self.tracker._event_writer
        if writer.accepts():
            writer.put("session_start", step, writer.checks.time(None))

    def _start(self) -> Tracker:
        options = {"on_stop": self._note_stop, **self.options}
        logdir, name = self.logdir, self.name
        if self._folder is not None:
            # Continue in the same folder, even if it is not the requested one. By default, nothing
            # is discarded, because frameworks log steps and epochs to one run.
            logdir, name = self._split_folder(self._folder)
            options |= {"code": False, "resume": self._resume_step}
            self._resume_step = AFTER_EVERY_STEP
        elif options.get("resume") is True and not self.resumes_at_first_step:
            options["resume"] = AFTER_EVERY_STEP
        if self._folder is None and logdir is not None and _is_of_host(logdir, name):
            logdir, name = _choose_guest_folder(os.fspath(logdir), name), None
        try:
            run = Tracker(logdir, name=name, **options)
            run._tracked.began = self._began
            if run._location is not None:
                run._location.warns = not self.is_one_of_many
            run.__enter__()
        except OSError as error:
            warn_caller(f"Training continues without a log: {error}")
            run = Tracker(logdir, name=name, is_main=False).__enter__()
        self._folder = os.fspath(run.log_dir)
        heart = run._tracked.heart
        self._began = None if heart is None else heart.began
        self._at_exit = functools.partial(_fail_unfinished, weakref.ref(self), os.getpid())
        # Registered after the tracker's own function, so it runs before that function.
        atexit.register(self._at_exit)
        return run

    def _split_folder(self, folder: str) -> tuple[Any, str | None]:
        """Return the logdir and the name under which a storage already contains the run."""
        if self.name and self.logdir is not None and not is_url(folder):
            return self.logdir, os.path.relpath(folder, self.logdir)
        return folder, None

    def _note_stop(self, request: StopRequest) -> None:
        self.stop_request = request


def _is_of_host(logdir: Any, name: str | None) -> bool:
    """Return whether a run's folder is the one that `runfold run` created."""
    host = os.environ.get(LOGDIR_VARIABLE)
    if not host or is_url(os.fspath(logdir)):
        return False
    return os.path.abspath(os.path.join(logdir, name or "")) == os.path.abspath(host)


def _choose_guest_folder(logdir: str, name: str | None) -> str:
    """Return the given folder for the program's first run, and a new one for each later run."""
    folder = os.path.join(logdir, name) if name else logdir
    key = os.path.abspath(folder)
    _guests[key] = number = _guests.get(key, 0) + 1
    return folder if number == 1 else f"{folder.rstrip(os.sep)}-{number}"


def _fail_unfinished(reference: weakref.ref[FrameworkRun], process: int) -> None:
    """End a run as failed if the program handled the exception that ended its training."""
    run = reference()
    is_own = process == os.getpid()
    if run is not None and is_own and run.is_training and raised_last() is None:
        run.finish(RuntimeError("Training did not finish."))


def warn_unsaved(path: str, error: Exception) -> None:
    """Warn that a file was not saved as an artifact."""
    warn_caller(f"'{path}' was not saved as an artifact: {type(error).__name__}: {error}")


def name_series(
    metrics: Mapping[Any, Any], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """Yield the tag and value of each metric; nested names are joined by `/`, None is skipped."""
    for name, value in metrics.items():
        tag = f"{prefix}{name}"
        if _is_mapping(value.__class__) and depth < _DEEPEST:
            yield from name_series(value, f"{tag}/", depth + 1)
        elif value is not None:
            yield tag, value


@functools.lru_cache(1000)  # this check takes longer than logging a number
def _is_mapping(kind: type) -> bool:
    return issubclass(kind, Mapping)
