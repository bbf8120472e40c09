"""A server's view of the instances: looked up by id, managed, and announced to its pages."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from runfold._serve.tensorboards.process_files import SERVICE, read_json, write_json
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from runfold._serve.http.access import Access
    from runfold._serve.tensorboards.instance_store import Instance, Store
    from runfold._serve.tensorboards.supervisor import Supervisor

# This pause lets the server start first. A request for an instance ends the pause early.
_LATER_SECONDS = 1.0
# How soon pages see changes made by other processes.
_ANNOUNCE_SECONDS = 0.5


class InstanceRegistry:
    """The user's instances, for one server. Use it only in the server's event loop.

    One of the user's servers manages the instances and is called the service. The
    service writes its addresses to `service.json`: programs use `url` with the token
    from `access`; browsers use `page`, which is the same URL by default.
    """

    def __init__(
        self, access: Access, url: str, folder: str | None = None, *, page: str = ""
    ) -> None:
        self.access = access
        self.url = url
        self.page = page or url
        self._folder = folder
        self._store: Store | None = None
        self._supervisor: Supervisor | None = None
        self._opening = asyncio.Lock()
        # Set once it is known whether this server is the service.
        self.has_begun = asyncio.Event()
        self._is_wanted = asyncio.Event()
        self._seen = -1
        self._known: dict[str, Instance] = {}

    async def store(self) -> Store:
        """Return the store, opened on first use. Raises RunfoldError."""
        self._is_wanted.set()
        if self._store is None:
            async with self._opening:
                if self._store is None:
                    self._store = await asyncio.to_thread(_open, self._folder)
        return self._store

    async def find(self, id: str) -> Instance | None:
        """Return the current state of the instance with this full id, or None."""
        await self._look()
        return self._known.get(id)

    async def all(self) -> list[Instance]:
        """Return all instances, oldest first."""
        await self._look()
        return list(self._known.values())

    async def _look(self) -> int:
        store = await self.store()
        seen = store.generation()
        if seen != self._seen:
            self._known = {instance.id: instance for instance in store.all()}
            self._seen = seen
        return seen

    @property
    def is_service(self) -> bool:
        """Whether this server is the service."""
        return self._supervisor is not None and self._supervisor.acts.is_set()

    def idle_of(self, id: str) -> float | None:
        """Return for how many seconds an instance has been idle; only the service knows."""
        return None if self._supervisor is None else self._supervisor.idle_of(id)

    def poke(self) -> None:
        """Make the service check the store at once."""
        if self._supervisor is not None and self.is_service:
            self._supervisor.poke()
            return
        from runfold._serve.tensorboards.service import poke_service

        asyncio.get_running_loop().run_in_executor(None, poke_service)

    @asynccontextmanager
    async def supervising(self, announce: Callable[[int], object]) -> AsyncIterator[None]:
        """Manage the instances until the end of the context, unless another server does.

        `announce` is called with a new number after each change.
        """
        task = asyncio.create_task(self._keep(announce))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))
            if self._store is not None:
                self._store.close()
            if not task.cancelled():
                task.result()

    async def _keep(self, announce: Callable[[int], object]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LATER_SECONDS):
                await self._is_wanted.wait()
        try:
            store = await self.store()
        except (RunfoldError, OSError):  # raised again for requests that need an instance
            return
        from runfold._serve.tensorboards.supervisor import Supervisor

        async with Supervisor(store) as supervisor, asyncio.TaskGroup() as tasks:
            self._supervisor = supervisor
            self.has_begun.set()
            tasks.create_task(supervisor.supervise())
            tasks.create_task(self._announce_changes(announce))
            await supervisor.acts.wait()
            await self._publish_address(store)

    async def _announce_changes(self, announce: Callable[[int], object]) -> None:
        import sqlite3

        announced = -1
        while True:
            # A temporarily unreadable store must not stop the supervisor.
            with suppress(sqlite3.Error):
                seen = await self._look()
                if seen != announced:
                    announced = seen
                    announce(seen)
            await asyncio.sleep(_ANNOUNCE_SECONDS)

    async def _publish_address(self, store: Store) -> None:
        """Publish this server's address while it is the service; rewrite the file if deleted."""
        path = os.path.join(store.folder, SERVICE)
        address = {
            "url": self.url,
            "page": self.page,
            "token": self.access.token,
            "pid": os.getpid(),
        }
        try:
            while True:
                if read_json(path) != address:
                    with suppress(OSError):  # for example if the disk is full
                        write_json(path, address)
                await asyncio.sleep(_ANNOUNCE_SECONDS)
        finally:
            # Another server may have become the service while this one ended its instances.
            if read_json(path) == address:
                with suppress(FileNotFoundError):
                    os.unlink(path)


def _open(folder: str | None) -> Store:
    # Import the supervisor in a thread, while the server handles other requests.
    import runfold._serve.tensorboards.supervisor  # noqa: F401
    from runfold._serve.tensorboards.instance_store import Store

    return Store(folder)
