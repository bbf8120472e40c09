"""One instance, from its start over its crashes to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runfold._serve.tensorboards.child import UNUSABLE
from runfold._serve.tensorboards.instance import CHILD, Process, spawn
from runfold._serve.tensorboards.instance_requests import read_log
from runfold._serve.tensorboards.instance_store import UnknownInstance
from runfold._serve.tensorboards.process_files import LOG, OLD_LOG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._serve.tensorboards.instance_store import Instance, Store

log = logging.getLogger("runfold.serve")

# So many crashes in a row, and it is given up. One that ran this long begins to count anew.
CRASHES = 5
_LONG_SECONDS = 600.0
_LONGEST_BACKOFF = 60.0

# How often its process is looked at, while it starts and then.
_START_SECONDS = 0.05
_WATCH_SECONDS = 2.0
# One that serves but does not answer for so long hangs; loading many runs can take a while.
_SILENT_SECONDS = 120.0
_START_LIMIT_SECONDS = 180.0

# Two files of half that each.
LOG_BYTES = 5_000_000
_LAST_LINES = 12


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """How instances are started: how many at a time, how soon again, and by which program.

    `starts` limits those that start at once; `backoff` is the seconds before the
    first restart, twice that before the next; `program` is followed by the folder.
    """

    starts: asyncio.Semaphore
    backoff: float = 1.0
    program: Sequence[str] = CHILD


class SupervisedInstance:
    """The task that keeps one instance as the store wants it.

    Set `is_down` once it is wanted down; `ending` then says why.
    """

    def __init__(
        self,
        store: Store,
        instance: Instance,
        process: Process | None,
        policy: StartPolicy,
    ) -> None:
        self._store = store
        self._id = instance.id
        self._folder = store.folder_of(instance.id)
        self._policy = policy
        self._process = process
        # Whoever started it may have the credentials of a store, which are not ours.
        self._environment: dict[str, str] | None = None
        self._crashes: deque[float] = deque(maxlen=CRASHES)
        self.is_down = asyncio.Event()
        self.ending = ""
        # For how many seconds nobody has looked at it; None while it does not answer.
        self.idle: float | None = None
        self._crash = ""
        self._is_silent = False
        if instance.wanted == "down":
            self.is_down.set()
        self.task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        try:
            while not self.is_down.is_set():
                process = await self._start()
                if process is None:
                    break
                has_ended = await self._watch(process)
                if has_ended and not await self._restart(process):
                    return
            await self._finish()
        except UnknownInstance:  # dropped from the store: nobody wants it
            if self._process is not None:
                await self._process.end()

    async def _start(self) -> Process | None:
        """The process, as soon as it listens or has ended; None where it is wanted down first."""
        if self._process is not None:  # taken over
            self._note_process(self._process)
            return self._process
        if not await self._take_slot():
            return None
        try:
            process = self._process = spawn(
                self._store.get(self._id), self._folder, self._policy.program, self._environment
            )
            try:
                self._note_process(process)
            except BaseException:
                # Nobody would know it, and another would be started beside it.
                await process.end()
                raise
            deadline = time.monotonic() + _START_LIMIT_SECONDS
            while process.port is None and time.monotonic() < deadline:
                if await self._is_over(process, _START_SECONDS):
                    break
            return process
        except OSError as error:
            log.error("Instance %s cannot be started: %s", self._id, error)
            self.ending = f"It cannot be started: {error.strerror or error}."
            return None
        finally:
            self._policy.starts.release()

    async def _take_slot(self) -> bool:
        """Whether it may start now; False where it is wanted down first."""
        slot = asyncio.create_task(self._policy.starts.acquire())
        if await self._is_first(slot):
            return True
        slot.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await slot  # given at this very moment
            self._policy.starts.release()
        return False

    def _note_process(self, process: Process) -> None:
        self._store.update(self._id, pid=process.pid, pid_started=process.started)

    async def _watch(self, process: Process) -> bool:
        """Note how it is until it ends, True, or is wanted down, False."""
        answered = began = time.monotonic()
        noted: dict[str, Any] = {}
        pause = 0.0
        while not await self._is_over(process, pause):
            # Not told of a process at its very beginning.
            self._environment = self._environment or process.environment
            try:
                health = await process.health()
            except (OSError, ValueError, TimeoutError):
                if time.monotonic() - answered > _SILENT_SECONDS:
                    await process.end()
                    self._is_silent = True
            else:
                answered = time.monotonic()
                self.idle = health.get("idle")
                noted = self._note_health(process, health, noted)
                if answered - began > _LONG_SECONDS:
                    self._crashes.clear()
            # One that was taken over may still be starting.
            pause = _WATCH_SECONDS if noted else _START_SECONDS
            await asyncio.to_thread(_rotate, self._folder)
        return not self.is_down.is_set()

    def _note_health(
        self, process: Process, health: dict[str, Any], noted: dict[str, Any]
    ) -> dict[str, Any]:
        fields = {
            "state": "RUNNING" if health.get("event_files") else "WAITING",
            "port": process.port,
            "message": str(health.get("problem") or self._crash),
        }
        if fields != noted:
            instance = self._store.get(self._id)
            if instance.wanted == "down":  # its state is TERMINATING by now
                return noted
            started = {"started": time.time()} if instance.started is None else {}
            self._store.update(self._id, **fields, **started)
        return fields

    async def _restart(self, process: Process) -> bool:
        """Whether it is to be started again, after a while; else it is noted as ended."""
        status = await process.wait()
        ending = process.ending
        if self._is_silent:
            self._is_silent, fact = False, f"It did not answer for {_SILENT_SECONDS:g} s."
        elif ending is None:
            fact = _describe(status)
        else:
            status, fact = ending
            if status in (0, UNUSABLE):  # by itself, as when idle, or in vain
                self._note_end(status, fact)
                return False
        self._process = self.idle = None
        self._crash = f"{fact} It was started again at {time.strftime('%Y-%m-%d %H:%M:%S')}."
        self._crashes.append(time.monotonic())
        if len(self._crashes) == CRASHES:
            lines = "\n".join(read_log(self._store, self._id, tail=_LAST_LINES))
            self._note_end(
                status, f"{fact} It ended {CRASHES} times and was given up. Its log ends:\n{lines}"
            )
            return False
        seconds = min(self._policy.backoff * 2 ** (len(self._crashes) - 1), _LONGEST_BACKOFF)
        instance = self._store.get(self._id)
        self._store.update(
            self._id,
            state="STARTING" if instance.wanted == "up" else "TERMINATING",
            pid=None,
            pid_started=None,
            port=None,
            exit_status=status,
            restarts=instance.restarts + 1,
            message=f"{fact} It is started again after {seconds:g} s.",
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.is_down.wait()
        return True

    async def _finish(self) -> None:
        """End the process, and note it."""
        status = None
        if self._process is not None:
            self._store.update(self._id, state="TERMINATING")
            status = await self._process.end()
        self._note_end(status, self.ending)

    def _note_end(self, status: int | None, message: str) -> None:
        self._store.update(
            self._id,
            state="TERMINATED",
            wanted="down",
            exit_status=status,
            ended=time.time(),
            message=message,
            pid=None,
            pid_started=None,
            port=None,
        )

    async def _is_over(self, process: Process, seconds: float) -> bool:
        """Whether within so many seconds it has ended, or is wanted down."""
        ended = asyncio.create_task(process.wait())
        try:
            await self._is_first(ended, seconds)
            return ended.done() or self.is_down.is_set()
        finally:
            ended.cancel()
            await asyncio.wait([ended])

    async def _is_first(self, task: asyncio.Task[Any], seconds: float | None = None) -> bool:
        """Whether a task was done within so many seconds, and before it is wanted down."""
        down = asyncio.create_task(self.is_down.wait())
        try:
            await asyncio.wait([task, down], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return task.done() and not self.is_down.is_set()
        finally:
            down.cancel()
            await asyncio.wait([down])


def _describe(status: int | None) -> str:
    if status is None:
        return "It has ended."
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"It was ended by {signal.Signals(-status).name}."
    return f"It ended with exit status {status}."


def _rotate(folder: str) -> None:
    """Begin the log anew once it is long, and keep what it was until it is long again."""
    path = os.path.join(folder, LOG)
    with contextlib.suppress(OSError), open(path, "rb+") as file:
        if os.fstat(file.fileno()).st_size <= LOG_BYTES // 2:
            return
        # Its process has it open and goes on at its end, so it is emptied, not moved.
        file.seek(-LOG_BYTES // 2, os.SEEK_END)
        with open(os.path.join(folder, OLD_LOG), "wb") as old:
            old.write(file.read(LOG_BYTES // 2))
        file.truncate(0)
