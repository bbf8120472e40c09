"""The tracker, a SummaryWriter that also records what is needed to reproduce a run."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from runfold._conventions import STORY_PREFIX
from runfold._files import Untrusted
from runfold._humanize import did_you_mean, escape
from runfold._log.masking.masking import mask_mapping, mask_output
from runfold._log.masking.secret_names import MASK, is_secret
from runfold._log.summary.hparams_log import metric_step
from runfold._log.summary.summary_writer import LOGDIR_VARIABLE, SummaryWriter, default_folder
from runfold._log.track import batches as batch_methods
from runfold._log.track.mirroring import Mirroring, make_mirror
from runfold._log.track.run_folder import RunLocation
from runfold._log.track.tracked_run import RunUploads, TrackedRun, TrackOptions
from runfold._log.writer.guard import guarded
from runfold._log.writer.remote_log import (
    as_log_path,
    check_storage,
    check_url_of_run,
    join_run_path,
)
from runfold._story import story_parts
from runfold._system import IS_POSIX
from runfold._warnings import warn_caller
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from runfold._log.trackers.wandb_mirror import WandbMirror
    from runfold._log.writer.event_writer import EventWriter
    from runfold._story.status import State
    from runfold._story.story_records import Artifact

    Function = TypeVar("Function", bound=Callable[..., Any])


class Tracker(SummaryWriter):
    """A run that is logged with everything needed to reproduce it (`rf.track`).

    Use it as a context manager, a decorator, or a plain object, in which case the first call starts
    the run. It has all methods of `SummaryWriter`.

    The event file contains hparams and configuration, the git commit with the diff of uncommitted
    changes, the command line, host and packages, system metrics, and how the run ended. Values
    whose names look like secrets are masked.

    If a plain object is not closed, its run ends with the program. After an uncaught
    exception or `sys.exit(3)`, it is recorded as failed. Python does not report a bare
    `raise SystemExit(3)`, so such a run is recorded as finished.

    Args:
        logdir: the run's folder, or a URL such as `s3://bucket/run`, to which a local copy is
            uploaded as it grows. If there is already a run in it, the new run goes to `<logdir>-2`,
            and so on. Default: `runs/<time>_<host>`.
        hparams: the hparams that TensorBoard shows: a mapping, a namespace, a dataclass, or a
            Hydra or pydantic configuration. Nested names are joined by dots.
        name: the run's folder below `logdir`.
        config: the whole configuration, of any type that `hparams` accepts. Also logged as hparams.
        resume: True continues the run in the folder. If the first step logged after resuming
            already exists, everything at or after it is discarded. Pass a step to discard
            everything at or after that step. Warns if the run is still running.
        code: whether to record the code.
        system: whether to log system metrics, or the interval in seconds. Default: every 5
            seconds.
        output: whether to record standard output and error.
        on_stop: called with a stop request, instead of raising KeyboardInterrupt in the main
            thread.
        command: the command line of the run, if it is not that of this process.
        storage: a URL such as `s3://bucket/runs`, or a shared folder, to which the run is uploaded
            as it grows, under `name` or else the name of its folder. Without a network, training
            continues and the upload follows later. A resumed run first downloads the event files
            that its folder lacks.
        mirror: "wandb" also logs to the active W&B run, or else to a new one. A mapping contains
            options of `wandb.init` for a new run. A W&B run object is used directly. Training does
            not wait for W&B, and continues if W&B fails.
        options: other options of `SummaryWriter`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotStore: a URL is not supported.
        CannotLog: the arguments contradict each other, or the operating system is Windows.

    Examples:
        >>> import runfold as rf
        >>> with rf.track("runs/seed-1", hparams={"lr": 0.1}) as run:
        ...     run.log({"train/loss": 0.5}, step=1)

        As a decorator:

        >>> @rf.track("runs/seed-1")
        ... def train(run):
        ...     run.log({"train/loss": 0.5}, step=1)
    """

    # None until the folder is known.
    _location: RunLocation | None = None

    batch = batch_methods.batch
    batches = batch_methods.batches

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        hparams: Any = None,
        name: str | None = None,
        *,
        config: Any = None,
        resume: bool | int = False,
        code: bool = True,
        system: bool | float = True,
        output: bool = False,
        on_stop: Callable[..., object] | None = None,
        command: Sequence[str] | None = None,
        storage: str | os.PathLike[str] | None = None,
        mirror: Any = None,
        **options: Any,
    ) -> None:
        arguments = {**locals(), **options}
        for excluded in ("self", "options", "__class__"):
            arguments.pop(excluded)
        _check_options(options, system, resume)
        folder = as_log_path(logdir if logdir is not None else default_folder())
        path_or_url = join_run_path(folder, name)
        check_url_of_run(path_or_url)
        check_storage(folder, storage, name)
        self._make_tracker = functools.partial(Tracker, **arguments)
        super().__init__(path_or_url, is_lazy=True, **options)
        options_of_run = TrackOptions(
            logdir=folder,
            name=name,
            hparams=hparams,
            config=config,
            resume=resume,
            has_code=code,
            has_output=output,
            system_seconds=5.0 if system is True else float(system),
            on_stop=on_stop,
            command=list(command) if command is not None else None,
            storage=storage,
            is_guest=command is None
            and os.environ.get(LOGDIR_VARIABLE) == os.path.abspath(self.folder),
        )
        self._add_parts(options_of_run, make_mirror(mirror))

    def _add_parts(self, options: TrackOptions, mirror: WandbMirror | None) -> None:
        """Add the parts of a tracked run to the event writer, which has no file yet."""
        event_writer: EventWriter = self._event_writer
        is_new = options.resume is False and not options.is_guest
        self._location = RunLocation(
            self.folder, event_writer.file.policy, self._remote, is_new=is_new
        )
        self._batches = batch_methods.BatchLog()
        self._run_uploads = RunUploads(self._remote)
        self._tracked = TrackedRun(
            options, self._location, self._hparams, self._batches, self._run_uploads
        )
        # A run whose end is recorded cannot be reopened.
        event_writer.reopens = False
        event_writer.file.location = self._location
        event_writer.parts = [self._tracked, self._batches, *event_writer.parts]
        if mirror is not None:
            event_writer.file.mirror = mirror
            event_writer.parts.append(Mirroring(mirror))
        event_writer.uploads = [self._run_uploads]

    def __enter__(self) -> Self:
        self._event_writer.accepts()
        return self

    def __call__(self, function: Function) -> Function:
        """Track every call to a function, and pass the run to it if it has a parameter `run`.

        A coroutine is tracked until it ends.

        Raises:
            TypeError: the function is a generator.
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("A generator cannot be tracked. Use `with rf.track(...)` inside it.")
        takes_run = "run" in inspect.signature(function).parameters

        def add_run(kwargs: dict[str, Any], run: Tracker) -> dict[str, Any]:
            return {**kwargs, "run": run} if takes_run else kwargs

        @functools.wraps(function)
        def tracked(*args: Any, **kwargs: Any) -> Any:
            with self._make_tracker() as run:
                return function(*args, **add_run(kwargs, run))

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with self._make_tracker() as run:
                return await function(*args, **add_run(kwargs, run))

        chosen = awaited if inspect.iscoroutinefunction(function) else tracked
        return chosen  # type: ignore[return-value]

    @property
    def log_dir(self) -> str | os.PathLike[str]:
        """The run's folder or URL. A new run may get a folder other than the one requested."""
        claimed = None if self._location is None else self._location.claimed
        return self._log_dir if claimed is None else claimed

    @log_dir.setter
    def log_dir(self, value: Any) -> None:
        self._log_dir = value
        if self._location is not None:
            self._location.claimed = None

    @property
    def batch_count(self) -> int:
        """Number of training batches logged so far, including those before a resume."""
        if not self.is_closed:
            self._event_writer.accepts()
        return self._batches.count

    @property
    def should_stop(self) -> bool:
        """Whether the run has been asked to stop."""
        return self._tracked.control is not None and self._tracked.control.should_stop

    @property
    def storage(self) -> str | None:
        """The URL of the upload, without user and password; None if nothing is uploaded."""
        uploads = self._run_uploads.uploads
        return None if uploads is None else uploads.url

    def fail(self, code: int, state: State = "failed") -> None:
        """Record that the run ended abnormally.

        Args:
            code: the exit status.
            state: the state of the run, such as "failed", "interrupted" or "killed".
        """
        if self._tracked.heart is not None:
            self._tracked.heart.stop(state=state, code=code)

    def save(self, path: str | os.PathLike[str], name: str | None = None) -> Artifact | None:
        """Copy a file or folder into the run's folder, and record its hash.

        Args:
            path: the file or folder to copy.
            name: name of the copy below `artifacts`. Default: the name of the file. If different
                content already has this name, a number is added: `model-1.pt`.

        Returns:
            The artifact, with its name, path, size and hash; None for a silent run, or if a link
            created by another user would redirect the copy outside the run's folder.

        Raises:
            CannotLog: the name is invalid, or the folder contains the run itself.
            OSError: the file cannot be read or copied.

        Examples:
            >>> torch.save(model.state_dict(), "model.pt")
            >>> run.save("model.pt").path
            'runs/seed-1/artifacts/model.pt'
        """
        from runfold._log.track.artifacts import encode_artifact, save_file

        if not self._event_writer.accepts():
            return None
        try:
            artifact = save_file(self.folder, path, name)
        except Untrusted as error:
            if self._event_writer.errors.are_raised:
                raise
            warn_caller(
                f"{error}. '{escape(os.fspath(path))}' was not saved. "
                f"Remove '{escape(os.fsdecode(error.filename))}' first."
            )
            return None
        message = encode_artifact(artifact, os.fspath(path))
        self.add_value(STORY_PREFIX + story_parts.ARTIFACT, message, self._tracked.count_artifact())
        return artifact

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log text, as in `SummaryWriter`, with secrets replaced by `***`."""
        if isinstance(text_string, str):
            text_string = MASK if is_secret(tag, text_string) else mask_output(text_string)
        super().add_text(tag, text_string, global_step, walltime)

    def add_hparams(self, hparam_dict: Mapping[str, Any], *args: Any, **options: Any) -> None:
        """Log hparams, as in `SummaryWriter`, with secrets replaced by `***`."""
        if isinstance(hparam_dict, Mapping):
            hparam_dict = mask_mapping(hparam_dict)
        super().add_hparams(hparam_dict, *args, **options)

    @guarded
    def mark(self, text: str, step: Any = None) -> None:
        """Mark an event, such as a drop in the learning rate. The page draws it in all charts.

        Args:
            text: description of the event.
            step: the step. Default: the last logged step.

        Examples:
            >>> run.mark("learning rate 0.1 -> 0.01", step=3000)
        """
        sink = self._event_writer
        if sink.accepts():
            message = story_parts.encode_story(story_parts.MARK, mask_output(str(text)))
            sink.put("value", message, metric_step(sink, step), sink.checks.time(None))


def _check_options(options: Mapping[str, Any], system: Any, resume: Any) -> None:
    """Raise TypeError or ValueError for options that would be ignored or fail later.

    SummaryWriter ignores unknown options, for compatibility with tensorboardX, but a typo such as
    `cod=False` must not be ignored here.
    """
    if not IS_POSIX:
        raise CannotLog("rf.track does not work on Windows. Use runfold.SummaryWriter.")
    known = {**inspect.signature(Tracker).parameters, **inspect.signature(SummaryWriter).parameters}
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise TypeError(f"rf.track has no option '{escape(name)}'. {hint}".rstrip())
    if not isinstance(system, int | float):
        raise TypeError(f"system: expected True, False or a number of seconds, got {system!r}")
    if not system >= 0:
        raise ValueError(f"system: expected a non-negative number of seconds, got {system!r}")
    if not isinstance(resume, SupportsIndex):
        raise TypeError(f"resume: expected True, False or a step, got {resume!r}")
