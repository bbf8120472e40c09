"""The supervisor of all instances: it starts, monitors, restarts and ends them.

The store has the requested state of every instance. Only one of a user's supervisors acts
on the store at a time. The active supervisor holds a lock, which the system releases if
its process is killed; the other supervisors wait to take over.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import sqlite3
from typing import TYPE_CHECKING

from runfold._serve.tensorboards.instance import (
    Process,
    adopt,
    end_stray,
    remove_files,
)
from runfold._serve.tensorboards.supervised import StartPolicy, SupervisedInstance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from runfold._serve.tensorboards.instance_store import Instance, Store

log = logging.getLogger("runfold.serve")

_TICK_SECONDS = 0.5
# Starting on a cluster takes little of this machine, but may wait for a node.
_CLUSTER_STARTS = 8
# Number of ended instances that are still listed.
_REMEMBERED = 100


class Supervisor:
    """Manages the instances of a store; an async context that ends them when it exits.

    Args:
        store: requested and actual state of the instances.
        starts: maximum number of instances that start at once; more would slow each other down.
        backoff: delay in seconds before the first restart after a crash, doubled each time.
        program: command for an instance; its folder is appended. By default, TensorBoard.
    """

    def __init__(
        self,
        store: Store,
        *,
        starts: int | None = None,
        backoff: float = 1.0,
        program: Sequence[str] | None = None,
    ) -> None:
        self._store = store
        slots = asyncio.Semaphore(starts or max(2, os.cpu_count() or 2))
        cluster_slots = asyncio.Semaphore(_CLUSTER_STARTS)
        self._policy = StartPolicy(slots, cluster_slots, backoff, program)
        self._lock: int | None = None
        self._is_closing = False
        self._poked = asyncio.Event()
        self._supervised: dict[str, SupervisedInstance] = {}
        # Set when this supervisor becomes the user's active one.
        self.acts = asyncio.Event()

    async def __aenter__(self) -> Supervisor:
        """Take over the instances of an earlier supervisor, unless another one is active."""
        if self._take_lock():
            self._take_over()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every managed instance, and let another supervisor become active."""
        self._is_closing = True
        if self._lock is None:
            return
        try:
            await asyncio.gather(*map(self._drop, self._supervised.values()))
        finally:
            self.acts.clear()
            os.close(self._lock)
            self._lock = None

    def poke(self) -> None:
        """Check the store at once."""
        self._poked.set()

    def idle_of(self, id: str) -> float | None:
        """Return for how many seconds an instance has been idle; None if unknown."""
        supervised = self._supervised.get(id)
        return None if supervised is None else supervised.idle

    async def supervise(self) -> None:
        """Act on the store until cancelled, after waiting for any other supervisor to end.

        If the store cannot be read for a while, for example because the disk is full, the
        error is logged and the supervisor tries again. Afterwards, instances whose task
        failed are managed again.
        """
        while not self._is_closing:
            try:
                if self._lock is not None:
                    self._check()
                elif self._take_lock():
                    self._take_over()
            except (sqlite3.Error, OSError):
                log.exception("The instances cannot be managed right now.")
            await self._pause()

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TICK_SECONDS):
                await self._poked.wait()
        self._poked.clear()

    def _take_lock(self) -> bool:
        handle = os.open(
            os.path.join(self._store.folder, "service.lock"), os.O_CREAT | os.O_RDWR, 0o600
        )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._lock = handle
        return True

    def _take_over(self) -> None:
        """Adopt the processes of live instances, and end those without an instance."""
        self.acts.set()
        for instance in self._store.live():
            self._keep(instance)
        with os.scandir(self._store.folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and entry.name not in self._supervised:
                    end_stray(entry.path)
        self._forget()

    def _forget(self) -> None:
        ended = [instance for instance in self._store.all() if not instance.is_live]
        for instance in ended[:-_REMEMBERED]:
            remove_files(self._store.folder_of(instance.id))
            self._store.forget(instance.id)

    def _check(self) -> None:
        """Start managing new instances, and end those whose end was requested."""
        for instance in self._store.live():
            if instance.id not in self._supervised:
                self._keep(instance)
            if instance.wanted == "down":
                self._supervised[instance.id].is_down.set()

    def _keep(self, instance: Instance) -> None:
        folder = self._store.folder_of(instance.id)
        process = adopt(instance, folder)
        if process is None and instance.pid is not None:
            # The instance ended while no supervisor was active; its files contain the reason.
            process = Process(instance, folder, instance.pid, instance.pid_started)
        supervised = SupervisedInstance(self._store, instance, process, self._policy)
        self._supervised[instance.id] = supervised
        supervised.task.add_done_callback(lambda task: self._drop_ended(instance.id, task))

    def _drop_ended(self, id: str, task: asyncio.Task[None]) -> None:
        self._supervised.pop(id, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("Instance %s is no longer managed.", id, exc_info=task.exception())

    async def _drop(self, supervised: SupervisedInstance) -> None:
        supervised.ending = "The service that managed this TensorBoard has ended."
        supervised.is_down.set()
        await asyncio.wait([supervised.task])
