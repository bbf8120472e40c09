"""The tracker: a SummaryWriter that also records what makes its run reproducible."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from runfold.files import Untrusted
from runfold.log import story
from runfold.log.arrays import warn
from runfold.log.batches import PREFIX as BATCH
from runfold.log.batches import Batches
from runfold.log.claims import claim_folder, drop_claim, list_event_files
from runfold.log.config import as_plain, flatten
from runfold.log.console import ConsoleCapture
from runfold.log.control import Control, interrupt_main
from runfold.log.environment import (
    choose_environment,
    describe_command,
    describe_host,
    list_packages,
)
from runfold.log.guard import guarded
from runfold.log.masking import mask_mapping, mask_output
from runfold.log.remote import (
    as_log_path,
    check_storage,
    check_url_of_run,
    join_place,
    name_run,
)
from runfold.log.resumption import Resumption, warn_if_running
from runfold.log.secrets import MASK, is_secret
from runfold.log.status import Heart
from runfold.log.summary import LOGDIR_VARIABLE, SummaryWriter, default_folder
from runfold.log.system import PREFIX as SYSTEM
from runfold.log.system import SystemMonitor
from runfold.log.uploads import STORAGE_VARIABLE, Uploads, fetch_earlier
from runfold.storage.address import as_url, join_url
from runfold.text import did_you_mean, escape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from runfold.log.artifacts import Artifact
    from runfold.log.control import StopRequest
    from runfold.log.status import State

    Function = TypeVar("Function", bound=Callable[..., Any])

# Tags whose steps are not those of the training.
_OWN = (story.PREFIX, SYSTEM)


class Tracker(Batches):
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

    # A run that has ended says so in its event file, and stays ended.
    _reopens = False

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
        self._hparams, self._config = hparams, config
        self._resume = resume
        self._resumption: Resumption | None = None
        self._has_code, self._has_output = code, output
        self._system_seconds = 5.0 if system is True else float(system)
        self._command = list(command) if command is not None else None
        # Within `runfold run`, which watches over the run itself.
        self._is_guest = command is None and os.environ.get(LOGDIR_VARIABLE) == os.path.abspath(
            self.folder
        )
        self._is_begun = False
        self._saved = 0
        self._heart: Heart | None = None
        self._control: Control | None = None
        self._on_stop = on_stop
        self._storage = storage
        self._name_there = functools.partial(name_run, logdir=folder, name=name)
        self._uploads: Uploads | None = None
        self._helpers: list[ConsoleCapture | SystemMonitor] = []

    def __enter__(self) -> Self:
        self._is_heard()
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
    def should_stop(self) -> bool:
        """Whether somebody asked the run to stop."""
        return self._control is not None and self._control.should_stop

    @property
    def storage(self) -> str | None:
        """Where the run is uploaded to, without user and password; None for nowhere."""
        return None if self._uploads is None else self._uploads.url

    def fail(self, code: int, state: State = "failed") -> None:
        """Say that the run ended otherwise than well, and with which exit status."""
        if self._heart is not None:
            self._heart.stop(state=state, code=code)

    def save(self, path: str | os.PathLike[str], name: str | None = None) -> Artifact | None:
        """Copy a file or folder into the run's folder, and record its hash.

        Return None for a silent run, and with a warning where another user's link
        would lead the copy out of the run's folder.
        """
        from runfold.log.artifacts import encode_artifact, save_file

        if not self._is_heard():
            return None
        try:
            artifact = save_file(self.folder, path, name)
        except Untrusted as error:
            if self._on_error == "raise":
                raise
            warn(f"{error}. '{escape(os.fspath(path))}' was not saved. Remove what is there.")
            return None
        message = encode_artifact(artifact, os.fspath(path))
        self.add_value(story.PREFIX + story.ARTIFACT, message, self._saved)
        self._saved += 1
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
        if self._is_heard():
            message = story.encode_story(story.MARK, mask_output(str(text)))
            self._put("value", message, self._metric_step(step), self._time(None))

    def _end(self) -> None:
        """Close without raising."""
        if self._heart is not None:
            self._heart.stop(self._raised())
        super()._end()
        if self._uploads is not None:
            self._uploads.close()

    def _rest_helpers(self) -> None:
        for helper in reversed(self._helpers):
            helper.stop()
        if self._control is not None:
            self._control.stop()

    def _stop_asked(self, request: StopRequest) -> None:
        if self._heart is not None:
            self._heart.on_interrupt = "stopped"
        if self._on_stop is None:
            interrupt_main()
        else:
            self._on_stop(request)

    def _open(self) -> None:
        with self._lock:
            if self._stream is not None:  # another thread was faster
                return
            if self._policy.defer(self.folder):
                return
            is_claimed = False
            is_new = not self._is_begun and self._resume is False
            if is_new and not self._is_guest and self._remote is None:
                self.folder, is_claimed = claim_folder(self.folder)
                self.log_dir = self.folder
            try:
                super()._open()
            finally:
                if is_claimed:
                    drop_claim(self.folder)
            is_child, self._is_begun = self._is_begun, True
        if not is_child and not self.is_silent:
            self._begin()

    def _start_upload(self) -> None:
        """Start that of a forked child's own file; that of the run starts when it has begun."""
        if self._remote is not None and self._uploads is not None:
            self._remote.start(self._uploads.target)

    def _choose_url(self) -> str | None:
        """Return the URL that the run is uploaded to; None for a run that stays here."""
        if self._remote is not None:
            return self._remote.url
        is_hosted = self._is_guest and os.environ.get(STORAGE_VARIABLE)
        if self._storage is None or is_hosted:
            return None
        return join_url(as_url(self._storage), self._name_there(self.folder))

    def _begin(self) -> None:
        """Tell the story of the run, and watch over it from here on."""
        is_resumed = self._resume is not False
        url = self._choose_url()
        if is_resumed and url is not None:
            fetch_earlier(self.folder, url)
        if is_resumed and not self._is_guest:
            warn_if_running(self.folder, self._policy.began)
        before = _next_steps(self.folder) if is_resumed else {}
        earlier = Resumption({tag: before[tag] for tag in before if not tag.startswith(_OWN)})
        self._next_step, self._batch_count = earlier.next_step, earlier.next_batch - 1
        if self._resume is True:
            self._resumption = None if earlier.is_over else earlier
            self._choose_way()
        elif is_resumed:
            self._batch_count = max(0, min(self._batch_count, self._resume - 1))
            self._void_from(self._resume)
        self._tell_settings()
        if url is not None:
            is_staged = self._remote is not None
            self._uploads = Uploads(self.folder, url, is_resumed=is_resumed, is_staged=is_staged)
        if self._is_guest:
            return
        self._saved = before.get(story.PREFIX + story.ARTIFACT, 0)
        self._heart = Heart(
            self.folder,
            self,
            on_end=self._rest_helpers,
            first_step=before.get(story.PREFIX + story.STATUS, 0),
            on_death=None if self._uploads is None else self._uploads.close_soon,
        )
        self._heart.start()
        self._control = Control(self.folder, self._stop_asked)
        self._control.start()
        if self._uploads is not None:
            self._uploads.hear()
        self._tell_rest()
        if self._has_output:
            first_step = before.get(story.PREFIX + story.OUTPUT, 0)
            self._helpers.append(ConsoleCapture(self, first_step=first_step))
        if self._system_seconds:
            first_step = max(
                (step for tag, step in before.items() if tag.startswith(SYSTEM)), default=0
            )
            self._helpers.append(SystemMonitor(self, self._system_seconds, first_step))
        for helper in self._helpers:
            helper.start()

    def _tell_settings(self) -> None:
        settings = {**flatten(self._config or {}), **flatten(self._hparams or {})}
        if settings:
            self.add_hparams(mask_mapping(settings), run_name=os.curdir)
        config = self._config if self._config is not None else self._hparams
        if config is not None:
            self._tell(story.CONFIG, mask_mapping(as_plain(config)))

    def _tell_rest(self) -> None:
        self._tell(story.COMMAND, describe_command(self._command))
        self._tell(story.HOST, describe_host())
        self._tell(story.PACKAGES, list_packages())
        self._tell(story.ENVIRONMENT, choose_environment())
        if self._has_code:
            from runfold.log.code import describe_code
            from runfold.log.imports import find_script

            script = find_script(self._command or sys.argv[:1])
            told = asdict(describe_code(script, is_here=self._command is None))
            diff, files = told.pop("diff"), told.pop("files")
            self._tell(story.CODE, told)
            if diff:
                self._tell(story.DIFF, diff)
            if files:
                self._tell(story.FILES, files)

    def _tell(self, part: str, value: Any) -> None:
        self.add_value(story.PREFIX + part, story.encode_story(part, value))

    def _choose_way(self) -> None:
        super()._choose_way()
        # The first number of a resumed run is looked at: it says where the run goes on.
        self._is_ready = self._is_ready and self._resumption is None

    def _void_from(self, step: int) -> None:
        self._put("session_start", step, self._time(None))

    def _step(self, step: Any, tag: str | None) -> int:
        index = super()._step(step, tag)
        # Of whatever kind: the first step that is logged says where the run goes on.
        is_said = step is not None or self._default_step is not None
        is_own = tag is not None and tag.startswith(_OWN)
        is_first = self._resume is True and is_said and not is_own and self._is_heard()
        if is_first and self._resumption is not None:
            if self._resumption.goes_back(index, tag):
                self._void_from(index)
            if self._resumption.is_over:
                self._resumption = None
                self._choose_way()
        return index


def _check_options(options: Mapping[str, Any], system: Any, resume: Any) -> None:
    """Raise TypeError or ValueError for what would be passed over, or stumbled over later.

    A SummaryWriter takes options that it does not know, for tensorboardX's sake; but
    `cod=False` is not to record the code.
    """
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


def _next_steps(folder: str) -> dict[str, int]:
    """For each tag in the event files of a folder the step after its last one."""
    from runfold.logdir.assemble import assemble_series
    from runfold.logdir.discover import FoundRun
    from runfold.logdir.log import RunLog

    files = [os.path.join(folder, name) for name in sorted(list_event_files(folder))]
    log = RunLog(FoundRun("", folder, files), restarts="keep")
    steps = {tag: one.steps for tag, one in log.scalars.items()}
    # A run that once went on at an earlier batch is counted from there.
    valid = assemble_series("", log.files, log.names, "session")
    steps |= {tag: one.steps for tag, one in valid.items() if tag.startswith(BATCH)}
    steps |= {tag: payloads.steps for (_, tag), payloads in log.payloads.items()}
    return {tag: int(some.max()) + 1 for tag, some in steps.items() if len(some)}
