"""A W&B run that mirrors one run of Runfold.

A thread reads the new events of the event file and logs them to W&B, so the training loop does
not wait for W&B, and the file is the queue. W&B's own sync of event files would lose text,
audio, videos and hparams.
"""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from runfold._conventions import STORY_PREFIX, is_story_tag, is_system_tag
from runfold._log.trackers import followed_files
from runfold._log.trackers.known_trackers import Mirror, read_hparams, read_text
from runfold._log.trackers.wandb_values import convert_value
from runfold._story import story_parts
from runfold._story.side_files import read_aside, write_aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tensorboard.compat.proto.event_pb2 import Event

    from runfold._log.trackers.followed_files import Feed

# W&B's own name for the step, when it syncs event files.
_STEP = "global_step"
# Columns that W&B or the mirror fills: tags with these names get the suffix.
_COLUMNS = (_STEP, "_step", "_timestamp", "_runtime")
_SUFFIX = "_"
_STATUS = STORY_PREFIX + story_parts.STATUS
# States of runs that W&B shows as finished.
_SUCCESS = ("finished", "stopped")
# The side file with the id of the W&B run, which a resumed run continues.
_SIDE_FILE = "wandb.json"
_IDENTITY = ("id", "project", "entity")
# Seconds until W&B gives up starting a run. Its own default is 90.
_INIT_TIMEOUT = 10.0


class WandbMirror(Mirror):
    """Starts a W&B run, or uses an existing one, and logs to it what a writer logs."""

    name = "W&B"
    package = "wandb"
    # Whether the server failed to answer when a mirror in this process started its run.
    _is_unreachable = False

    def __init__(self, options: Mapping[str, Any] | None, run: Any = None) -> None:
        """Log to `run` or to the program's active run, or start one with options of `wandb.init`.

        `options=None` uses the active run if there is one; otherwise it starts one.
        """
        super().__init__()
        self._options = options
        self._run = run
        self._owns_run = False
        self._is_watched = False
        self._is_started = False
        self._find_error: Callable[[], BaseException | None] = _find_no_error
        # Whether the mirror has given up on W&B, or the writer belongs to another process.
        self._is_off = False
        self._is_program_over = False
        # The exit code of the run; None while it is not known.
        self._exit_code: int | None = None
        self._tags: set[str] = set()
        self._row: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a mirror in another process, which leaves the run to this one."""
        return {**vars(self), "_run": None, "_row": {}, "_is_off": self._is_off or self._is_started}

    def start(self, find_error: Callable[[], BaseException | None]) -> None:
        """Accept files from now on."""
        # W&B imports this module, which cannot be imported for the first time once the main thread
        # has ended. A short program may end before W&B is imported.
        import concurrent.futures.thread  # noqa: F401

        self._find_error = find_error
        self._is_started = True
        if not self._is_off:
            self._find_existing()

    def leave(self) -> None:
        """Leave the run to the parent process. Called in a forked child."""
        self._is_off = self._is_off or self._is_started

    def end(self, error: BaseException | None) -> None:
        """End the W&B run when the current file ends, unless its status is already known."""
        if self._exit_code is None:
            self._exit_code = 1 if _is_failure(error) else 0

    def end_program(self) -> None:
        """End the W&B run with the next round."""
        self._is_program_over = True
        self.end(self._find_error())

    def is_over(self, feed: Feed) -> bool:
        """Return whether the run ends after the data that a file now contains."""
        return self._is_program_over or (feed.is_ended and self._exit_code is not None)

    def finish(self) -> None:
        """End the W&B run, if it belongs to the mirror."""
        self._is_off = True
        if self._owns_run:
            self._run.finish(exit_code=self._exit_code)

    def count_unsent(self, feed: Feed) -> int:
        """Return the number of logged values that the run lacks; 0 after giving up on W&B."""
        if self._is_off or not self._is_started:
            return 0
        rest = copy.copy(feed)
        rest.states = dict(feed.states)
        tags = (
            value.tag
            for event in self.new_events(rest, feed.size())
            for value in event.summary.value
        )
        return sum(not is_story_tag(tag) and not is_system_tag(tag) for tag in tags)

    def find_run(self, package: Any, feed: Feed) -> Any:
        """Return this object; None after giving up on W&B. The run starts with the first data."""
        return None if self._is_off or not self._is_started else self

    def send(self, package: Any, run: Any, feed: Feed, size: int) -> None:
        """Start the W&B run if it has not started, and log the new events."""
        if self._run is None:
            self._begin(feed.folder)
        self._send_events(feed, size)

    def _send_events(self, feed: Feed, size: int) -> None:
        refusal = None
        for event in self.new_events(feed, size):
            try:
                self.log_event(sys.modules[self.package], self._run, feed, event)
            except Exception as error:
                refusal = error
        self._log_row()
        if refusal is not None:
            raise refusal

    def log_event(self, package: Any, run: Any, feed: Feed, event: Event) -> None:
        """Add an event to the current row, and log the row when the next step begins."""
        for value in event.summary.value:
            if value.tag == _STATUS:
                self._read_status(read_text(value))
            elif hparams := read_hparams(value):
                run.config.update(hparams, allow_val_change=True)
            elif not is_story_tag(value.tag) and not is_system_tag(value.tag):
                # W&B collects system metrics itself.
                tag, content = convert_value(package, value)
                if content is not None:
                    name = tag + _SUFFIX if tag in _COLUMNS else tag
                    self._add(name, content, event)

    def _add(self, tag: str, content: Any, event: Event) -> None:
        if self._row and (self._row[_STEP] != event.step or tag in self._row):
            self._log_row()
        if tag not in self._tags:
            self._tags.add(tag)
            self._run.define_metric(tag, step_metric=_STEP)
        self._row |= {tag: content, _STEP: event.step, "_timestamp": event.wall_time}

    def _log_row(self) -> None:
        row, self._row = self._row, {}
        if row:
            self._run.log(row)

    def _read_status(self, text: str | None) -> None:
        status = story_parts.decode_story(text or "")
        state = status["state"]
        if state != "running":
            self._exit_code = 0 if state in _SUCCESS else status.get("exit") or 1

    def _begin(self, folder: str) -> None:
        """Find or start the W&B run. On failure, gives up on W&B."""
        try:
            wandb = import_module(self.package)
            # A folder named `wandb`, which W&B creates, can be imported without the package.
            if not hasattr(wandb, "init"):
                raise ModuleNotFoundError(
                    "The package wandb is not installed. Install it with `pip install wandb`."
                )
            self._find_existing()
            if self._run is None:
                self._run = self._start_run(wandb, folder)
                self._owns_run = True
        except BaseException as error:
            self._is_off = True
            if isinstance(error, Exception):
                raise
            # The thread that calls this also serves other trackers.
            raise RuntimeError(f"wandb.init raised {type(error).__name__}") from error

    def _find_existing(self) -> None:
        """Use the active run, unless options were given, and send everything before it ends."""
        if self._run is None and self._options is None:
            active = getattr(sys.modules.get(self.package), "run", None)
            is_own = active is not None and active._init_pid == os.getpid()
            self._run = active if is_own else None
        module = sys.modules.get("wandb.sdk.wandb_run")
        if self._run is not None and module is not None and not self._is_watched:
            self._is_watched = True
            hook = module.TeardownHook(followed_files.settle, module.TeardownStage.EARLY)
            with suppress(AttributeError):  # this version of W&B has no hooks
                self._run._teardown_hooks.append(hook)

    def _start_run(self, wandb: Any, folder: str) -> Any:
        earlier = read_aside(folder, _SIDE_FILE)
        identity = {name: earlier[name] for name in _IDENTITY if isinstance(earlier.get(name), str)}
        given = self._options or {}
        options = {
            "name": os.path.basename(folder),
            "reinit": "create_new",
            **identity,
            **({"resume": "allow"} if identity else {}),
            **given,
            "settings": _limit_start(given.get("settings")),
        }
        if WandbMirror._is_unreachable:
            raise TimeoutError("the server did not answer when an earlier run was started")
        try:
            with _without_terminal():
                run = wandb.init(**options)
        except Exception as error:
            WandbMirror._is_unreachable = "timed out" in str(error).lower()
            raise
        if any(getattr(run, name, None) != identity.get(name) for name in _IDENTITY):
            write_aside(folder, _SIDE_FILE, {name: getattr(run, name, None) for name in _IDENTITY})
        return run


def _limit_start(settings: Any) -> Any:
    """Return the settings for `wandb.init`, with a short start-up timeout unless they set one."""
    limit = {} if "WANDB_INIT_TIMEOUT" in os.environ else {"init_timeout": _INIT_TIMEOUT}
    if settings is None or isinstance(settings, Mapping):
        return {**limit, **(settings or {})}
    if "init_timeout" in getattr(settings, "model_fields_set", ("init_timeout",)):
        return settings
    return settings.model_copy(update=limit)


@contextmanager
def _without_terminal() -> Iterator[None]:
    """Make W&B raise an error in this thread instead of reading an API key from the terminal."""
    terminal: Any = sys.modules.get("wandb.errors.term")
    can_use = getattr(terminal, "can_use_terminput", None)
    if can_use is None:
        yield
        return
    thread = threading.current_thread()
    terminal.can_use_terminput = lambda: threading.current_thread() is not thread and can_use()
    try:
        yield
    finally:
        terminal.can_use_terminput = can_use


def _find_no_error() -> None:
    """Return None, in place of the function that a started writer provides."""


def _is_failure(error: BaseException | None) -> bool:
    return error is not None and not (isinstance(error, SystemExit) and not error.code)
