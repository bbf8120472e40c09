"""How a run fares: its first and last word in the event file, and a heartbeat beside it."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from runfold.log.aside import SIDE_FOLDER, as_float, read_aside, touch_aside, write_aside
from runfold.log.claims import list_event_files
from runfold.log.control import find_request
from runfold.log.endings import raised_last, raised_now, watch_exit
from runfold.log.flusher import flush_on_sigterm
from runfold.log.masking import mask_text
from runfold.log.process import describe_process, is_gone
from runfold.log.pulse import Pulse, warn
from runfold.log.story import PREFIX, STATUS, encode_story

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from runfold.log.writer import EventWriter

State = Literal["running", "finished", "failed", "interrupted", "killed", "stopped"]

HEARTBEAT = "heartbeat"
# The states of a run that has not ended.
ALIVE = ("running", "stopping")
_ENDED = tuple(state for state in get_args(State) if state not in ALIVE)

# A heart that missed so many beats, and is silent for so long, beats no more. A
# minute, because clocks differ on a shared disk, and a long call may hold the GIL.
_MISSED_BEATS = 6
_SILENT_SECONDS = 60.0

_LONGEST_TRACEBACK = 20_000


class Heart:
    """Says in a run's event file that it began and how it ended, and beats in between.

    The heartbeat is the time of the file `.runfold/heartbeat`, so the event file
    does not grow. The end is noted by `stop`, or else by what comes first: an
    exception that nobody caught, SIGTERM, the end of the interpreter. A process
    that is killed without a word is recognised by `read_status`.

    `on_interrupt` is the state that a KeyboardInterrupt means: a stop request
    that raises one sets it to "stopped".
    """

    def __init__(
        self,
        folder: str,
        writer: EventWriter,
        seconds: float = 10.0,
        on_end: Callable[[], object] | None = None,
        first_step: int = 0,
        on_death: Callable[[], object] | None = None,
    ) -> None:
        """Prepare; `on_end` is called before the last word, however the run ends.

        `on_death` is called after it where SIGTERM is about to end the process.
        A run that is resumed goes on with the next step of its status.
        """
        self.folder = folder
        self.on_interrupt: State = "interrupted"
        self._on_end = on_end
        self._on_death = on_death
        self._writer = writer
        self._seconds = seconds
        self._pulse = Pulse(self._beat, seconds, "runfold-heart")
        self._pid = 0
        self._started = 0.0
        self._step = first_step
        self._is_over = False
        # A run that is begun while an exception is handled does not fail by it.
        self._known = raised_now()
        self._previous_hook: Callable[..., Any] = sys.__excepthook__
        self._previous_handler: Any = None

    def start(self) -> None:
        """Log that the run runs, and watch for its end. Raises OSError for a bad folder."""
        self._pid, self._started = os.getpid(), time.time()
        write_aside(self.folder, HEARTBEAT, self._describe("running"))
        host = os.uname().nodename
        self._say({"state": "running", "pid": self._pid, "host": host, "started": self._started})
        self._previous_hook, sys.excepthook = sys.excepthook, self._on_exception
        self._watch_sigterm()
        watch_exit()
        # Functions registered last are called first: the writer is still open then.
        atexit.register(self._stop_at_exit)
        self._pulse.start()

    def stop(
        self,
        error: BaseException | None = None,
        state: State | None = None,
        code: int | None = None,
    ) -> None:
        """Log how the run ended: by an error, or in a state, or else as finished.

        Only the first call counts, in the process that began the run. Raises
        nothing: at the end nobody is there to see it. `code` is the exit code
        where it is known.
        """
        if self._is_over or self._pid != os.getpid():
            return
        self._is_over = True
        self._pulse.stop()
        word = _tell_end(None if error is self._known else error, self.on_interrupt)
        self._known = None
        if state is not None:
            word["state"] = state
        if code is not None:
            word["exit"] = code
        word["ended"] = time.time()
        try:
            if self._on_end is not None:
                self._on_end()
        except Exception as failure:
            warn(f"At the end of the run: {type(failure).__name__}: {failure}.")
        try:
            self._say(word)
            write_aside(self.folder, HEARTBEAT, self._describe(word["state"]))
        except Exception as failure:
            warn(f"The end of the run could not be noted: {failure}.")
        self._unhook()

    def _say(self, word: dict[str, Any]) -> None:
        self._writer.add_value(PREFIX + STATUS, encode_story(STATUS, word), self._step)
        self._step += 1
        self._writer.flush()

    def _describe(self, state: str) -> dict[str, Any]:
        return {
            **describe_process(),
            "state": state,
            "started": self._started,
            "seconds": self._seconds,
        }

    def _beat(self) -> None:
        try:
            touch_aside(self.folder, HEARTBEAT)
        except FileNotFoundError:
            if not self._is_over and os.path.isdir(self.folder):
                write_aside(self.folder, HEARTBEAT, self._describe("running"))

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self.stop(error)
        self._previous_hook(kind, error, trace)

    def _watch_sigterm(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        previous = signal.getsignal(signal.SIGTERM)
        if previous is not None and previous is not signal.SIG_IGN:
            self._previous_handler = previous
            signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, number: int, frame: Any) -> None:
        previous = self._previous_handler
        if callable(previous) and previous is not flush_on_sigterm:
            # Of the user, who may save the model, raise SystemExit, or go on.
            try:
                previous(number, frame)
            except BaseException as error:
                self.stop(error, "killed", 128 + number)
                raise
            return
        self.stop(state="killed", code=128 + number)
        if self._on_death is not None:
            self._on_death()
        signal.signal(number, previous)
        os.kill(os.getpid(), number)

    def _stop_at_exit(self) -> None:
        self.stop(raised_last())

    def _unhook(self) -> None:
        # Where another has hooked in after us, ours stays in the chain and does nothing.
        if sys.excepthook == self._on_exception:
            sys.excepthook = self._previous_hook
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) == self._on_sigterm:
            signal.signal(signal.SIGTERM, self._previous_handler)
        atexit.unregister(self._stop_at_exit)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How a run fares; times are seconds since 1970, and None is what nobody said."""

    state: str
    started: float | None = None
    ended: float | None = None
    exit: int | None = None
    traceback: str | None = None
    heartbeat: float | None = None


def last_sign(folder: str) -> float | None:
    """When a run was last heard of: its heartbeat, or else when its files were last written."""
    return _time_of(os.path.join(folder, SIDE_FOLDER, HEARTBEAT)) or _last_write(folder)


def read_status(
    story: Sequence[Mapping[str, Any]], folder: str, now: float, sign: float | None = None
) -> RunStatus:
    """How a run fares by the status parts of its story, in order, and by its heartbeat.

    `crashed` is a run that said no last word, and whose heartbeat is older than a
    minute (or six beats), or whose process on this machine is gone. Without the
    heartbeat's file the event files' times stand for it. `stopping` is one that was asked
    to stop and still runs. `unknown` without a story.
    `sign` is the `last_sign` of a run whose folder is no longer there.
    """
    first: Mapping[str, Any] = {}
    last: Mapping[str, Any] = {}
    for word in story:
        if word.get("state") == "running":
            first = word
        last = word
    beat = read_aside(folder, HEARTBEAT)
    heartbeat = sign or last_sign(folder)
    state = str(last.get("state", "unknown"))
    if state == "running":
        missed = _MISSED_BEATS * (as_float(beat.get("seconds")) or 0.0)
        is_silent = heartbeat is None or now - heartbeat > max(_SILENT_SECONDS, missed)
        if is_silent or is_gone(beat):
            # Its last word may have come after the story and the heartbeat were read.
            said = str(read_aside(folder, HEARTBEAT).get("state"))
            state = said if said in _ENDED else "crashed"
        elif find_request(folder, as_float(first.get("started"))) is not None:
            state = "stopping"
    code, trace = last.get("exit"), last.get("traceback")
    return RunStatus(
        state,
        as_float(first.get("started")),
        as_float(last.get("ended")),
        code if isinstance(code, int) else None,
        trace if isinstance(trace, str) else None,
        heartbeat,
    )


def _tell_end(error: BaseException | None, on_interrupt: str) -> dict[str, Any]:
    """The last word on a run that an exception ended, or none."""
    if error is None:
        return {"state": "finished"}
    if isinstance(error, SystemExit):
        code = error.code
        number = 0 if code is None else code if isinstance(code, int) else 1
        return {"state": "failed" if number else "finished", "exit": number}
    state = on_interrupt if isinstance(error, KeyboardInterrupt) else "failed"
    try:
        text = mask_text("".join(traceback.format_exception(error)))
    except Exception:  # an exception whose own text raises
        text = type(error).__name__
    if len(text) > _LONGEST_TRACEBACK:
        head, tail = _LONGEST_TRACEBACK // 4, _LONGEST_TRACEBACK - _LONGEST_TRACEBACK // 4
        text = f"{text[:head]}\n… {len(text) - head - tail:,} characters …\n{text[-tail:]}"
    code = 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return {"state": state, "exit": code, "traceback": text}


def _time_of(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def _last_write(folder: str) -> float | None:
    """When an event file of the folder was last written."""
    try:
        names = list_event_files(folder)
    except OSError:
        return None
    times = [_time_of(os.path.join(folder, name)) for name in names]
    return max((time for time in times if time is not None), default=None)
