"""Threads that handle requests: a few at a time, while others wait in order of arrival."""

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
    """A queue for one kind of work. Slow work has its own queue, so it cannot delay quick work.

    Attributes:
        workers: maximum number of concurrent calls.
        places: maximum number of calls that wait.
        patience: how many seconds a call waits for its turn.
        seconds: how many seconds a call can run.
    """

    def __init__(self, workers: int, places: int, patience: float, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="runfold-serve")
        self._most = workers + places
        self._inside = 0
        self._patience = patience
        self._seconds = seconds

    async def work(self, function: Callable[[], T]) -> T:
        """Run a function in a thread when its turn comes, and return its result.

        Raises TooBusy if too many calls are waiting, or if the turn does not come in
        time. Raises TookTooLong after `seconds`: the function continues to run and
        occupies a worker until it ends.
        """
        if self._inside >= self._most:
            raise TooBusy("The server is too busy. Try again in a moment.")
        loop = asyncio.get_running_loop()
        clock = asyncio.timeout(self._patience)
        has_begun = False

        def begin() -> None:
            nonlocal has_begun
            has_begun = True
            with suppress(RuntimeError):  # the wait has just timed out
                clock.reschedule(loop.time() + self._seconds)

        def run() -> T:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(begin)
            return function()

        self._inside += 1
        try:
            async with clock:
                return await loop.run_in_executor(self._pool, run)
        except TimeoutError as error:
            # The TimeoutError from a query that hit its own limit has a better message.
            if isinstance(error, RunfoldError):
                raise
            if not has_begun:
                raise TooBusy(
                    f"Other requests kept the server busy for {self._patience:g} s."
                    " Try again in a moment."
                ) from None
            raise TookTooLong(
                f"This took longer than {self._seconds:g} s and was cancelled. Request less data."
            ) from None
        finally:
            self._inside -= 1

    def close(self) -> None:
        """Reject new work and drop queued work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
