"""The tracker: a SummaryWriter that also records what makes its run reproducible."""

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
from runfold._log.track.run_folder import RunLocation
from runfold._log.track.tracked_run import RunUploads, TrackedRun, TrackOptions
from runfold._log.writer.guard import guarded
from runfold._log.writer.remote_log import (
    as_log_path,
    check_storage,
    check_url_of_run,
    join_place,
)
from runfold._story import story_parts
from runfold._system import IS_POSIX
from runfold._warnings import warn_caller
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from runfold._log.writer.event_writer import EventWriter
    from runfold._story.status import State
    from runfold._story.story_records import Artifact

    Function = TypeVar("Function", bound=Callable[..., Any])


class Tracker(SummaryWriter):
    """A run that is logged with all that makes it reproducible: what `rf.track` gives.

    A context manager, a decorator, or a plain object that begins at its first call:

        with rf.track("runs/seed-1", hparams=dict(lr=0.1)) as run:
            run.log({"train/loss": 0.5}, step=1)

        @rf.track("runs/seed-1")
        def train(run): ...

    Its event file holds hparams and configuration, the git commit with the diff
    of uncommitted changes, the command line, host and packages, system metrics
    and how the run ended. Names that look like secrets are masked.

    A plain object that is not closed ends with its program, in the state of that:
    failed by an exception or by `sys.exit(3)`. Only of a bare `raise SystemExit(3)`
    Python tells nobody, and the run is told as finished.

    Args:
        logdir: the run's folder. If there is a run in it already, the new one
            goes to `<logdir>-2`, and so on. The same holds for a URL such as
            `s3://bucket/run`, which is uploaded while it grows, from a local folder.
        hparams: what TensorBoard's HPARAMS page shows: a mapping, a namespace, a
            dataclass, a configuration of Hydra or pydantic; nested ones by dots.
        name: the run's folder below `logdir`.
        config: the whole configuration, of any of these kinds; also hparams.
        resume: True continues the run in that folder; if the first step that is logged
            now was logged there before, all from it on is void. Or that step. Warns if
            the run is still running.
        code: whether to record the code.
        system: whether to log system metrics, or every how many seconds.
        output: whether to record standard output and error.
        on_stop: called with a stop request, instead of raising KeyboardInterrupt
            in the main thread.
        command: what runs, where that is not this process.
        storage: where the run is uploaded to as it grows, such as `s3://bucket/runs` or
            a shared folder: there it goes by `name`, or else the last part of its
            folder. Without a network, training goes on, and the upload later. A run that
            is resumed fetches its event files from there, where its folder lacks some.
        options: those of SummaryWriter.
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
        **options: Any,
    ) -> None:
        given = {**locals(), **options}
        for not_given in ("self", "options", "__class__"):
            given.pop(not_given)
        _check_options(options, system, resume)
        folder = as_log_path(logdir if logdir is not None else default_folder())
        place = join_place(folder, name)
        check_url_of_run(place)
        check_storage(folder, storage, name)
        self._again = functools.partial(Tracker, **given)
        super().__init__(place, is_lazy=True, **options)
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
        self._add_parts(options_of_run)

    def _add_parts(self, options: TrackOptions) -> None:
        """Give the event writer, which has no file yet, the parts of a run."""
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
        # A run that has ended says so in its event file, and stays ended.
        event_writer.reopens = False
        event_writer.file.location = self._location
        event_writer.parts = [self._tracked, self._batches, *event_writer.parts]
        event_writer.uploads = [self._run_uploads]

    def __enter__(self) -> Self:
        self._event_writer.accepts()
        return self

    def __call__(self, function: Function) -> Function:
        """Track every call of a function; one with a parameter `run` is given the run.

        A coroutine is tracked until it ends. Raises TypeError for a generator.
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("A generator has no call to track. Use `with rf.track(...)` inside it.")
        takes_run = "run" in inspect.signature(function).parameters

        def add_run(kwargs: dict[str, Any], run: Tracker) -> dict[str, Any]:
            return {**kwargs, "run": run} if takes_run else kwargs

        @functools.wraps(function)
        def tracked(*args: Any, **kwargs: Any) -> Any:
            with self._again() as run:
                return function(*args, **add_run(kwargs, run))

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with self._again() as run:
                return await function(*args, **add_run(kwargs, run))

        chosen = awaited if inspect.iscoroutinefunction(function) else tracked
        return chosen  # type: ignore[return-value]

    @property
    def log_dir(self) -> str | os.PathLike[str]:
        """The run's folder or URL. A new run may get another folder than it was given."""
        claimed = None if self._location is None else self._location.claimed
        return self._log_dir if claimed is None else claimed

    @log_dir.setter
    def log_dir(self, value: Any) -> None:
        self._log_dir = value
        if self._location is not None:
            self._location.claimed = None

    @property
    def batch_count(self) -> int:
        """How many batches of training were logged, before a resumption, too."""
        if not self.is_closed:
            self._event_writer.accepts()
        return self._batches.count

    @property
    def should_stop(self) -> bool:
        """Whether somebody asked the run to stop."""
        return self._tracked.control is not None and self._tracked.control.should_stop

    @property
    def storage(self) -> str | None:
        """Where the run is uploaded to, without user and password; None for nowhere."""
        uploads = self._run_uploads.uploads
        return None if uploads is None else uploads.url

    def fail(self, code: int, state: State = "failed") -> None:
        """Say that the run ended otherwise than well, and with which exit status."""
        if self._tracked.heart is not None:
            self._tracked.heart.stop(state=state, code=code)

    def save(self, path: str | os.PathLike[str], name: str | None = None) -> Artifact | None:
        """Copy a file or folder into the run's folder, and record its hash.

        Return None for a silent run, and with a warning where another user's link
        would lead the copy out of the run's folder.
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
                f"{error}. '{escape(os.fspath(path))}' was not saved. Remove the existing one."
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
        """Log a text as SummaryWriter does, with `***` for the secrets in it."""
        if isinstance(text_string, str):
            text_string = MASK if is_secret(tag, text_string) else mask_output(text_string)
        super().add_text(tag, text_string, global_step, walltime)

    def add_hparams(self, hparam_dict: Mapping[str, Any], *args: Any, **options: Any) -> None:
        """Log hparams as SummaryWriter does, with `***` for the secrets among them."""
        if isinstance(hparam_dict, Mapping):
            hparam_dict = mask_mapping(hparam_dict)
        super().add_hparams(hparam_dict, *args, **options)

    @guarded
    def mark(self, text: str, step: Any = None) -> None:
        """Mark an event, such as a lower learning rate: the page draws a line in all charts.

        Without a step it stands at the last one logged.
        """
        sink = self._event_writer
        if sink.accepts():
            message = story_parts.encode_story(story_parts.MARK, mask_output(str(text)))
            sink.put("value", message, metric_step(sink, step), sink.checks.time(None))


def _check_options(options: Mapping[str, Any], system: Any, resume: Any) -> None:
    """Raise TypeError or ValueError for what would be passed over, or stumbled over later.

    A SummaryWriter takes options that it does not know, for tensorboardX's sake; but
    `cod=False` is not to record the code.
    """
    if not IS_POSIX:
        raise CannotLog("rf.track does not work on Windows. Use runfold.SummaryWriter.")
    known = {**inspect.signature(Tracker).parameters, **inspect.signature(SummaryWriter).parameters}
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise TypeError(f"rf.track has no option '{escape(name)}'. {hint}".rstrip())
    if not isinstance(system, int | float):
        raise TypeError(f"system is True, False or a number of seconds, not {system!r}")
    if not system >= 0:
        raise ValueError(f"system is a number of seconds from 0 on, not {system!r}")
    if not isinstance(resume, SupportsIndex):
        raise TypeError(f"resume is True, False or a step, not {resume!r}")
