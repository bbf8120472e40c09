"""Series of many runs, in batches whose points fit into the memory limit."""

from __future__ import annotations

from contextlib import nullcontext
from operator import itemgetter
from typing import TYPE_CHECKING

from runfold._humanize import escape
from runfold._logdir.assemble import find_lazy
from runfold._logdir.point_cache import POINT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from runfold._events.lazy_points import Request
    from runfold._logdir.point_cache import PointCache, Positions
    from runfold._logdir.run_engine import Part
    from runfold._logdir.run_log import RunLog
    from runfold._logdir.series import Series

# Bytes per point for copies of a series: joined from several files, without hidden points, sorted.
COPIES = 3 * POINT_BYTES


def split_runs(
    logs: Iterable[RunLog],
    keeps: Callable[[str], bool] = lambda tag: True,
    work: int = COPIES,
    reserve: int = 0,
) -> Iterator[list[Part]]:
    """Yield all runs with the scalar tags that `keeps` accepts, in order, in batches.

    The points of a batch are in memory until the next one is requested. `work` is the number of
    bytes that the caller needs per point in addition to the points, and `reserve` the number of
    bytes that it needs regardless of them. Without a memory limit, there is one batch. Raises
    NotEnoughMemory, before anything is decoded, if a series is too long for the limit.
    """
    logs = list(logs)
    cache = next((log.cache for log in logs), None)
    if cache is None:
        yield [(log, [tag for tag in log.scalars if keeps(tag)]) for log in logs]
        return
    batches = _plan(logs, keeps, cache, POINT_BYTES + work, reserve)
    if cache.engine is None:
        for batch in batches:
            with hold(cache, batch):
                yield batch
        return
    for batch, held in cache.engine.decode(batches):
        with cache.keeping(held):
            yield batch


def read_series(logs: Iterable[RunLog], keeps: Callable[[str], bool]) -> list[Series]:
    """Return the series of all runs that `keeps` accepts. They stay in memory."""
    return [
        log.scalars[tag]
        for batch in split_runs(logs, keeps, work=0)
        for log, tags in batch
        for tag in tags
    ]


def _plan(
    logs: Sequence[RunLog],
    keeps: Callable[[str], bool],
    cache: PointCache,
    cost: int,
    reserve: int,
) -> list[list[Part]]:
    needs = [
        [(tag, cost * count_points(log, tag)) for tag in log.scalars if keeps(tag)] for log in logs
    ]
    _check_largest(logs, needs, cache, reserve)
    batches: list[list[Part]] = [[]]
    room = cache.room - reserve
    for log, own in zip(logs, needs, strict=True):
        tags: list[str] = []
        batches[-1].append((log, tags))
        for tag, need in own:
            if need > room:
                tags = []
                batches.append([(log, tags)])
                room = cache.room - reserve
            tags.append(tag)
            room -= need
    return batches


def _check_largest(
    logs: Sequence[RunLog],
    needs: Sequence[Sequence[tuple[str, int]]],
    cache: PointCache,
    reserve: int,
) -> None:
    every = [(need, log, tag) for log, own in zip(logs, needs, strict=True) for tag, need in own]
    if every:
        need, log, tag = max(every, key=itemgetter(0))
        cache.check(need + reserve, f"Tag '{escape(tag)}' in run '{escape(log.name)}'")


def count_points(log: RunLog, tag: str) -> int:
    """Return the number of stored points of a scalar tag, including hidden ones."""
    lazy = find_lazy(log.scalars, tag)
    return 0 if lazy is None else lazy.stored(tag)


def hold(
    cache: PointCache | None, parts: Iterable[Part], positions: Positions | None = None
) -> AbstractContextManager[None]:
    """Keep the points of these runs and tags in memory until the block ends.

    With a cache, `positions` records where they are in their files.
    """
    if cache is None:
        return nullcontext()
    requests = [request for part in parts for request in list_requests(*part)]
    return cache.holding(requests, positions)


def list_requests(log: RunLog, tags: Iterable[str]) -> Iterator[list[Request]]:
    """Yield the requests for each folder of a run that has any of the tags."""
    by_folder: dict[int, list[str]] = {}
    folders = {}
    for tag in tags:
        lazy = find_lazy(log.scalars, tag)
        if lazy is not None:
            folders[id(lazy)] = lazy
            by_folder.setdefault(id(lazy), []).append(tag)
    for number, own in by_folder.items():
        if requests := folders[number].requests(own):
            yield requests
