"""The instances as a server has them: known by id, kept, and told of to its pages."""

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
    from runfold._serve.tensorboards.supervisor import Keeper

# A server has better things to do while it starts; a request for an instance ends the wait.
_LATER_SECONDS = 1.0
# How soon pages see what another process changed.
_TELL_SECONDS = 0.5


class InstanceRegistry:
    """The instances of the user, for one server; used in its event loop only.

    Whichever server acts on them, of all that the user runs, is the service: it
    says in `service.json` how others reach it: programs at `url` with the token of
    `access`, and browsers at `page`, by default the same.
    """

    def __init__(
        self, access: Access, url: str, folder: str | None = None, *, page: str = ""
    ) -> None:
        self.access = access
        self.url = url
        self.page = page or url
        self._folder = folder
        self._store: Store | None = None
        self._keeper: Keeper | None = None
        self._opening = asyncio.Lock()
        # Set as soon as it is known whether this server is the one that acts.
        self.has_begun = asyncio.Event()
        self._is_wanted = asyncio.Event()
        self._seen = -1
        self._known: dict[str, Instance] = {}

    async def store(self) -> Store:
        """The store, opened when it is first asked for. Raises RunfoldError."""
        self._is_wanted.set()
        if self._store is None:
            async with self._opening:
                if self._store is None:
                    self._store = await asyncio.to_thread(_open, self._folder)
        return self._store

    async def find(self, id: str) -> Instance | None:
        """The instance of a whole id, as it is now; None where there is none."""
        await self._look()
        return self._known.get(id)

    async def all(self) -> list[Instance]:
        """All instances, the oldest first."""
        await self._look()
        return list(self._known.values())

    async def _look(self) -> int:
        store = await self.store()
        seen = store.generation()
        if seen != self._seen:
            self._known = {one.id: one for one in store.all()}
            self._seen = seen
        return seen

    @property
    def is_service(self) -> bool:
        """Whether this server is the one that acts."""
        return self._keeper is not None and self._keeper.acts.is_set()

    def idle_of(self, id: str) -> float | None:
        """For how many seconds nobody has looked at an instance; known by the service alone."""
        return None if self._keeper is None else self._keeper.idle_of(id)

    def poke(self) -> None:
        """Let whoever acts look at the store at once."""
        if self._keeper is not None and self.is_service:
            self._keeper.poke()
            return
        from runfold._serve.tensorboards.service import poke_service

        asyncio.get_running_loop().run_in_executor(None, poke_service)

    @asynccontextmanager
    async def keeping(self, tell: Callable[[int], object]) -> AsyncIterator[None]:
        """Keep the instances until the end of the context, unless another server does.

        `tell` is called with another number after each change.
        """
        task = asyncio.create_task(self._keep(tell))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))
            if self._store is not None:
                self._store.close()
            if not task.cancelled():
                task.result()

    async def _keep(self, tell: Callable[[int], object]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LATER_SECONDS):
                await self._is_wanted.wait()
        try:
            store = await self.store()
        except (RunfoldError, OSError):  # told to whoever asks for an instance
            return
        from runfold._serve.tensorboards.supervisor import Keeper

        async with Keeper(store) as keeper, asyncio.TaskGroup() as tasks:
            self._keeper = keeper
            self.has_begun.set()
            tasks.create_task(keeper.supervise())
            tasks.create_task(self._tell_on(tell))
            await keeper.acts.wait()
            await self._announce(store)

    async def _tell_on(self, tell: Callable[[int], object]) -> None:
        import sqlite3

        told = -1
        while True:
            # A store that cannot be read for a moment must not end what is kept.
            with suppress(sqlite3.Error):
                seen = await self._look()
                if seen != told:
                    told = seen
                    tell(seen)
            await asyncio.sleep(_TELL_SECONDS)

    async def _announce(self, store: Store) -> None:
        """Say how this server is reached, for as long as it acts, and again where that is gone."""
        path = os.path.join(store.folder, SERVICE)
        said = {
            "url": self.url,
            "page": self.page,
            "token": self.access.token,
            "pid": os.getpid(),
        }
        try:
            while True:
                if read_json(path) != said:
                    with suppress(OSError):  # as on a disk that is full for a while
                        write_json(path, said)
                await asyncio.sleep(_TELL_SECONDS)
        finally:
            # While it ended its instances another may have begun to act.
            if read_json(path) == said:
                with suppress(FileNotFoundError):
                    os.unlink(path)


def _open(folder: str | None) -> Store:
    # Imported with all that it needs, in a thread, while other requests are answered.
    import runfold._serve.tensorboards.supervisor  # noqa: F401
    from runfold._serve.tensorboards.instance_store import Store

    return Store(folder)
