"""Threads in which requests are worked on: so many at a time, the others in the order they came."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from runfold._serve.http.error_responses import TooBusy, TookTooLong
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar("T")


class WorkQueue:
    """One sort of work. What is slow has a queue of its own, where quick questions do not queue.

    Attributes:
        workers: how many are at work at once.
        places: how many may wait beside them.
        patience: seconds that one waits for its turn.
        seconds: that one may take then.
    """

    def __init__(self, workers: int, places: int, patience: float, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="runfold-serve")
        self._most = workers + places
        self._inside = 0
        self._patience = patience
        self._seconds = seconds

    async def work(self, function: Callable[[], T]) -> T:
        """What a function gives, run in a thread when it is its turn.

        Raises TooBusy where too many wait already, or the turn does not come in
        time. Raises TookTooLong after `seconds` at work: the function runs on,
        and takes up one of the workers until it ends.
        """
        if self._inside >= self._most:
            raise TooBusy("The server has too much to do. Ask again in a moment.")
        loop = asyncio.get_running_loop()
        clock = asyncio.timeout(self._patience)
        has_begun = False

        def begin() -> None:
            nonlocal has_begun
            has_begun = True
            with suppress(RuntimeError):  # it was given up just now
                clock.reschedule(loop.time() + self._seconds)

        def run() -> T:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(begin)
            return function()

        self._inside += 1
        try:
            async with clock:
                return await loop.run_in_executor(self._pool, run)
        except TimeoutError as error:
            # A query that came to a limit of its own is a TimeoutError too, and says more.
            if isinstance(error, RunfoldError):
                raise
            if not has_begun:
                raise TooBusy(
                    f"Others were at work for {self._patience:g} s. Ask again in a moment."
                ) from None
            raise TookTooLong(
                f"This took longer than {self._seconds:g} s and was given up. Ask for less."
            ) from None
        finally:
            self._inside -= 1

    def close(self) -> None:
        """Take no more work, and drop what waits."""
        self._pool.shutdown(wait=False, cancel_futures=True)
