"""The interface of engines, which work on the runs of a logdir in other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runfold._logdir.discover import FoundRun
    from runfold._logdir.point_cache import Held
    from runfold._logdir.run_log import RunLog

    # A run, and some of its scalar tags.
    Part = tuple[RunLog, list[str]]

Result = TypeVar("Result")


class Engine(Protocol):
    """Does work on runs in other processes, where the runs are restored from what was read.

    Functions and their results are pickled. A function gets logs with a `cache`, and must not
    return them. An error in a function is raised here, with its type and message.
    """

    @property
    def name(self) -> str:
        """The name of the engine, for `rf.open`."""

    @property
    def address(self) -> str | None:
        """The address of the engine, for `rf.open`."""

    def read(self, logs: Sequence[RunLog], advance: Callable[[int], object]) -> None:
        """Read runs that have not been read; their points are only counted."""

    def call(
        self, runs: Sequence[FoundRun], work: Callable[[Sequence[FoundRun]], Result]
    ) -> Iterator[Result]:
        """Yield the results for consecutive runs that have not been read, in order."""

    def map(
        self, logs: Sequence[RunLog], work: Callable[[Sequence[RunLog]], Result]
    ) -> Iterator[tuple[int, Result]]:
        """Yield the results for consecutive runs, in order, each with the number of its first run.

        The function is called for some of the runs at a time, until it was called for all of them.
        """

    def decode(self, batches: Iterable[list[Part]]) -> Iterator[tuple[list[Part], Held]]:
        """Yield each batch with its points; the next batches are decoded in the meantime."""

    def combine(
        self,
        logs: Sequence[RunLog],
        split: Callable[[int, Sequence[RunLog]], Sequence[Any]],
        join: Callable[[int, list[Any]], Result],
        count: int,
    ) -> Iterator[tuple[int, Result]]:
        """Yield the results of joining the pieces of all runs, in any order, with their numbers.

        For some of the runs at a time, `split` returns `count` pieces; its other argument is the
        number of the first run. `join` gets a number below `count`, and the pieces with this
        number in the order of the runs.
        """


def find_engine(logs: Iterable[RunLog]) -> Engine | None:
    """Return the engine of a logdir's runs, if they have one."""
    cache = next((log.cache for log in logs), None)
    return None if cache is None else cache.engine


def map_runs(
    logs: Sequence[RunLog], work: Callable[[Sequence[RunLog]], Result]
) -> Iterator[tuple[int, Result]]:
    """Yield results for consecutive runs, each with the number of its first run.

    Without an engine, `work` is called here, once for all runs.
    """
    engine = find_engine(logs)
    if engine is None:
        yield 0, work(logs)
    else:
        yield from engine.map(logs, work)
