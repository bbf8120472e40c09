"""One instance, from its start through crashes and restarts to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from runfold._serve.tensorboards.child import UNUSABLE
from runfold._serve.tensorboards.instance import spawn
from runfold._serve.tensorboards.instance_requests import read_log
from runfold._serve.tensorboards.instance_store import UnknownInstance
from runfold._serve.tensorboards.process_files import LOG, OLD_LOG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._serve.tensorboards.instance import Process
    from runfold._serve.tensorboards.instance_store import Instance, Store
    from runfold._serve.tensorboards.process_files import Address

log = logging.getLogger("runfold.serve")

# Give up after this many crashes in a row. A process that runs long enough resets the count.
CRASHES = 5
_LONG_SECONDS = 600.0
_LONGEST_BACKOFF = 60.0

# How often to check the process during startup, and how often later.
_START_SECONDS = 0.05
_WATCH_SECONDS = 2.0
# A process that does not respond for this long has hung. Loading many runs can take a while.
_SILENT_SECONDS = 120.0
_START_LIMIT_SECONDS = 180.0

# Total size of two log files.
LOG_BYTES = 5_000_000
_LAST_LINES = 12


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """How instances are started: concurrency, restart delay and program.

    `starts` limits how many start at once on this machine, and `cluster_starts` on clusters,
    where one may wait for a node. `backoff` is the delay in seconds before the first restart,
    doubled each time. `program` is called with the instance's folder.
    """

    starts: asyncio.Semaphore
    cluster_starts: asyncio.Semaphore
    backoff: float = 1.0
    program: Sequence[str] | None = None


class SupervisedInstance:
    """The task that brings one instance to the state requested in the store.

    Set `is_down` to end the instance; `ending` is then the reason.
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
        is_local = instance.options.cluster is None
        self._starts = policy.starts if is_local else policy.cluster_starts
        # An instance's environment may contain a store's credentials that this process lacks.
        self._environment: dict[str, str] | None = None
        self._crashes: deque[float] = deque(maxlen=CRASHES)
        self.is_down = asyncio.Event()
        self.ending = ""
        # Seconds for which the instance has been idle; None while it does not respond.
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
        except UnknownInstance:  # deleted from the store, so end it
            if self._process is not None:
                await self._process.end()

    async def _start(self) -> Process | None:
        """Return the process once it listens or has ended; None if the instance must end first."""
        if self._process is not None:  # started by another service
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
                # Without a record of this process, a second one would be started.
                await process.end()
                raise
            deadline = time.monotonic() + _START_LIMIT_SECONDS
            while process.address is None and time.monotonic() < deadline:
                if await self._is_over(process, _START_SECONDS):
                    break
            return process
        except OSError as error:
            log.error("Instance %s could not be started: %s", self._id, error)
            self.ending = f"TensorBoard could not be started: {error.strerror or error}."
            return None
        finally:
            self._starts.release()

    async def _take_slot(self) -> bool:
        """Wait for permission to start; return False if the instance must end first."""
        slot = asyncio.create_task(self._starts.acquire())
        if await self._is_first(slot):
            return True
        slot.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await slot  # acquired at this very moment
            self._starts.release()
        return False

    def _note_process(self, process: Process) -> None:
        self._store.update(self._id, pid=process.pid, pid_started=process.started)

    async def _watch(self, process: Process) -> bool:
        """Monitor the process; return True when it exits, False when it must end."""
        answered = began = time.monotonic()
        noted: dict[str, Any] = {}
        pause = 0.0
        while not await self._is_over(process, pause):
            # The environment is unavailable while a process is just starting.
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
            # A process that was taken over may still be starting.
            pause = _WATCH_SECONDS if noted else _START_SECONDS
            await asyncio.to_thread(_rotate, self._folder)
        return not self.is_down.is_set()

    def _note_health(
        self, process: Process, health: dict[str, Any], noted: dict[str, Any]
    ) -> dict[str, Any]:
        fields = {
            "state": "RUNNING" if health.get("event_files") else "WAITING",
            **_fields(process.address),
            "message": str(health.get("problem") or self._crash),
        }
        if fields != noted:
            instance = self._store.get(self._id)
            if instance.wanted == "down":  # the state is already TERMINATING
                return noted
            started = {"started": time.time()} if instance.started is None else {}
            self._store.update(self._id, **fields, **started)
        return fields

    async def _restart(self, process: Process) -> bool:
        """Wait, and return True if the instance must be restarted; otherwise record its end."""
        status = await process.wait()
        ending = process.ending
        if self._is_silent:
            self._is_silent, fact = False, f"TensorBoard did not respond for {_SILENT_SECONDS:g} s."
        elif ending is None:
            fact = _describe(status)
        else:
            status, fact = ending
            if status in (0, UNUSABLE):  # ended by itself, or unusable
                self._note_end(status, fact)
                return False
        self._process = self.idle = None
        self._crash = f"{fact} Restarted at {time.strftime('%Y-%m-%d %H:%M:%S')}."
        self._crashes.append(time.monotonic())
        if len(self._crashes) == CRASHES:
            lines = "\n".join(read_log(self._store, self._id, tail=_LAST_LINES))
            self._note_end(
                status,
                f"{fact} It failed {CRASHES} times and will not be restarted."
                f" Its log ends:\n{lines}",
            )
            return False
        seconds = min(self._policy.backoff * 2 ** (len(self._crashes) - 1), _LONGEST_BACKOFF)
        instance = self._store.get(self._id)
        self._store.update(
            self._id,
            state="STARTING" if instance.wanted == "up" else "TERMINATING",
            pid=None,
            pid_started=None,
            **_fields(None),
            exit_status=status,
            restarts=instance.restarts + 1,
            message=f"{fact} Restarting in {seconds:g} s.",
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.is_down.wait()
        return True

    async def _finish(self) -> None:
        """End the process, and record its end."""
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
        """Wait up to `seconds`; return whether the process has ended or must end."""
        ended = asyncio.create_task(process.wait())
        try:
            await self._is_first(ended, seconds)
            return ended.done() or self.is_down.is_set()
        finally:
            ended.cancel()
            await asyncio.wait([ended])

    async def _is_first(self, task: asyncio.Task[Any], seconds: float | None = None) -> bool:
        """Wait up to `seconds`; return whether a task is done before the instance must end."""
        down = asyncio.create_task(self.is_down.wait())
        try:
            await asyncio.wait([task, down], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return task.done() and not self.is_down.is_set()
        finally:
            down.cancel()
            await asyncio.wait([down])


def _fields(address: Address | None) -> dict[str, Any]:
    """Return an address as fields of the store."""
    return asdict(address) if address is not None else {"port": None, "node": ""}


def _describe(status: int | None) -> str:
    if status is None:
        return "TensorBoard ended."
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"TensorBoard was killed by {signal.Signals(-status).name}."
    return f"TensorBoard exited with status {status}."


def _rotate(folder: str) -> None:
    """Truncate the log once it is long, and keep the previous part in another file."""
    path = os.path.join(folder, LOG)
    with contextlib.suppress(OSError), open(path, "rb+") as file:
        if os.fstat(file.fileno()).st_size <= LOG_BYTES // 2:
            return
        # The instance's process appends to the open file, so the file is truncated, not moved.
        file.seek(-LOG_BYTES // 2, os.SEEK_END)
        with open(os.path.join(folder, OLD_LOG), "wb") as old:
            old.write(file.read(LOG_BYTES // 2))
        file.truncate(0)
