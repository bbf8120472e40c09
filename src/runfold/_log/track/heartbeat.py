"""The status of a tracked run: start and end as events, and a heartbeat file."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

from runfold._conventions import HEARTBEAT, STORY_PREFIX
from runfold._log.masking.masking import mask_text
from runfold._log.writer.exit_reason import raised_last, raised_now, watch_exit
from runfold._log.writer.flusher import flush_on_sigterm
from runfold._periodic import Periodic
from runfold._story.processes import describe_process
from runfold._story.side_files import touch_aside, write_aside
from runfold._story.story_parts import STATUS, encode_story
from runfold._system import host_name
from runfold._warnings import warn_from_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from runfold._log.writer.event_writer import EventWriter
    from runfold._story.status import State

_LONGEST_TRACEBACK = 20_000


class Heart:
    """Logs the start and end of a run, and updates its heartbeat while it is running.

    The heartbeat is the modification time of `.runfold/heartbeat`, so the event file does not
    grow. The end is logged by `stop`, an uncaught exception, SIGTERM or the exit of the
    interpreter, whichever comes first. `read_status` detects a process that was killed.

    `on_interrupt` is the state after a KeyboardInterrupt. A stop request that raises one sets it
    to "stopped". `began` is the time at which this program started the run, if it ended the run
    and now continues it.
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
        """Prepare the heartbeat. `on_end` is called before the last status, however the run ends.

        `on_death` is called after the last status, if SIGTERM is about to end the process.
        `first_step` is the step of the next status of a resumed run.
        """
        self.folder = folder
        self.on_interrupt: State = "interrupted"
        self.began: float | None = None
        self._on_end = on_end
        self._on_death = on_death
        self._writer = writer
        self._seconds = seconds
        self._periodic = Periodic(self._beat, seconds, "runfold-heart")
        self._pid = 0
        self._started = 0.0
        self._step = first_step
        self._is_over = False
        # An exception that is already being handled when the run starts does not mark it as failed.
        self._initial_error = raised_now()
        self._previous_hook: Callable[..., Any] = sys.__excepthook__
        self._previous_handler: Any = None

    def start(self) -> None:
        """Log that the run has started, and watch for its end. May raise OSError."""
        self._pid, self._started = os.getpid(), time.time()
        write_aside(self.folder, HEARTBEAT, self._describe("running"))
        host = host_name()
        status = {"state": "running", "pid": self._pid, "host": host, "started": self._started}
        if self.began is None:
            self.began = self._started
        else:
            status["began"] = self.began
        self._log_status(status)
        self._previous_hook, sys.excepthook = sys.excepthook, self._on_exception
        self._watch_sigterm()
        watch_exit()
        # Functions registered last are called first, while the writer is still open.
        atexit.register(self._stop_at_exit)
        self._periodic.start()

    def stop(
        self,
        error: BaseException | None = None,
        state: State | None = None,
        code: int | None = None,
    ) -> None:
        """Log how the run ended: with an error, in a given state, or else as finished.

        Only the first call in the process that started the run has an effect. Never raises.
        `code` is the exit code, if known.
        """
        if self._is_over or self._pid != os.getpid():
            return
        self._is_over = True
        self._periodic.stop()
        status = _describe_end(None if error is self._initial_error else error, self.on_interrupt)
        self._initial_error = None
        if state is not None:
            status["state"] = state
        if code is not None:
            status["exit"] = code
        status["ended"] = time.time()
        try:
            if self._on_end is not None:
                self._on_end()
        except Exception as failure:
            warn_from_thread(
                f"An error occurred when the run ended: {type(failure).__name__}: {failure}."
            )
        try:
            self._log_status(status)
            write_aside(self.folder, HEARTBEAT, self._describe(status["state"]))
        except Exception as failure:
            warn_from_thread(f"The end of the run could not be recorded: {failure}.")
        self._unhook()

    def _log_status(self, status: dict[str, Any]) -> None:
        self._writer.add_value(STORY_PREFIX + STATUS, encode_story(STATUS, status), self._step)
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
            # The user's handler may save the model, raise SystemExit, or continue.
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
        # If another library's hook was installed after ours, ours remains but does nothing.
        if sys.excepthook == self._on_exception:
            sys.excepthook = self._previous_hook
        else:
            _unlink(sys.excepthook, self._on_exception, "_previous_hook")
        handler = signal.getsignal(signal.SIGTERM)
        if handler != self._on_sigterm:
            _unlink(handler, self._on_sigterm, "_previous_handler")
        elif threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._previous_handler)
        atexit.unregister(self._stop_at_exit)


def _unlink(first: Any, hook: Any, attribute: str) -> None:
    """Remove the hook of a run that ended before runs that started later.

    The hooks of runs form a chain, which must not grow with every run of a long sweep.
    """
    while isinstance(heart := getattr(first, "__self__", None), Heart):
        following = getattr(heart, attribute)
        if following == hook:
            setattr(heart, attribute, getattr(hook.__self__, attribute))
            return
        first = following


def _describe_end(error: BaseException | None, on_interrupt: str) -> dict[str, Any]:
    """Return the last status of a run that ended with `error`, or normally if `error` is None."""
    if error is None:
        return {"state": "finished"}
    if isinstance(error, SystemExit):
        code = error.code
        number = 0 if code is None else code if isinstance(code, int) else 1
        return {"state": "failed" if number else "finished", "exit": number}
    state = on_interrupt if isinstance(error, KeyboardInterrupt) else "failed"
    try:
        text = mask_text("".join(traceback.format_exception(error)))
    except Exception:  # the exception's `__str__` fails
        text = type(error).__name__
    if len(text) > _LONGEST_TRACEBACK:
        head, tail = _LONGEST_TRACEBACK // 4, _LONGEST_TRACEBACK - _LONGEST_TRACEBACK // 4
        text = f"{text[:head]}\n… {len(text) - head - tail:,} characters …\n{text[-tail:]}"
    code = 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return {"state": state, "exit": code, "traceback": text}
