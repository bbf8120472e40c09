"""Decoded points in bounded memory: batches for whole tables, and single tags on request."""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from runfold._core.decoder import Decoder
from runfold._core.scalar_columns import ScalarPoints
from runfold._core.tag_table import Tags
from runfold._events.lazy_points import LazyPoints
from runfold._events.opened_file import open_file
from runfold._humanize import human_bytes
from runfold._logdir.bulk_read import BUFFER_SIZE, Reader, read_ahead
from runfold.errors import CannotStore, FileChanged, NotEnoughMemory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._core.scalar_columns import Points
    from runfold._events.event_file import EventFile
    from runfold._events.file_state import FileState
    from runfold._events.lazy_points import PointSource, Request
    from runfold._events.opened_file import OpenedFile, Status
    from runfold._events.problems import Problem
    from runfold._logdir.run_engine import Engine

    # The points of some tags in some files.
    Held = Mapping[LazyPoints, Mapping[int, Points] | ScalarPoints]

# A step, a wall time and a value.
POINT_BYTES = 24

# The part of the limit for points that are decoded one tag at a time, outside of batches.
_SHARE = 8

# Another thread costs more than it gains if it decodes less than this.
_POINTS_PER_THREAD = 1_000_000
_MAX_THREADS = 8


class PointCache:
    """The points of a logdir that are in memory at the moment.

    `limit` is the number of bytes for points and for what is computed from them. With an `engine`,
    larger amounts of work are done by it, in parts of about `room` bytes.
    """

    def __init__(
        self,
        limit: int = sys.maxsize,
        room: int | None = None,
        engine: Engine | None = None,
        max_threads: int = _MAX_THREADS,
    ) -> None:
        self.limit = limit
        # The bytes of a batch.
        self.room = limit if room is None else min(room, limit)
        self.engine = engine
        self._max_threads = max_threads
        self._lock = threading.Lock()
        self._batches: list[Held] = []
        # Least recently used first.
        self._recent: OrderedDict[LazyPoints, ScalarPoints] = OrderedDict()

    @property
    def has_limit(self) -> bool:
        """Whether a limit was set."""
        return self.limit < sys.maxsize

    def read(self, points: LazyPoints, tag: int) -> Points:
        """Return the points of one tag, which may be in memory already."""
        with self._lock:
            held: Held
            for held in (*self._batches, self._recent):
                found = held.get(points)
                if found is not None and tag in found:
                    return found[tag]
            self.check(points.count(tag) * POINT_BYTES)
            # The next request is usually for the tag that follows.
            most = self.room // _SHARE // POINT_BYTES
            self._recent.pop(points, None)
            tags = points.from_tag(tag, most)
            self._make_room(most - sum(map(points.count, tags)))
            decoded = decode([[(points, tags)]])[points]
            self._recent[points] = decoded
            return decoded[tag]

    def _make_room(self, most: int) -> None:
        while self._recent and sum(found.total for found in self._recent.values()) > most:
            self._recent.popitem(last=False)

    def check(self, size: int, what: str = "One series") -> None:
        """Raise NotEnoughMemory if something needs more bytes than the limit."""
        if size > self.limit:
            raise NotEnoughMemory(
                f"{what} needs {human_bytes(size)} of memory, more than the limit of"
                f" {human_bytes(self.limit)}. Set limit_memory (--memory) to at least {size}."
            )

    @contextmanager
    def holding(
        self, folders: Sequence[Sequence[Request]], positions: Positions | None = None
    ) -> Iterator[None]:
        """Decode the tags of many files, and keep their points until the block ends.

        The requests for the files of one folder belong together, because they share their tags.
        `positions` records where the points are.
        """
        with self._lock:
            self._recent.clear()
        with self.keeping(_decode_in_threads(folders, self._max_threads, positions)):
            yield

    @contextmanager
    def keeping(self, held: Held) -> Iterator[None]:
        """Keep decoded points in memory until the block ends."""
        self._batches.append(held)
        try:
            yield
        finally:
            # By identity, because comparing would compare arrays.
            self._batches = [other for other in self._batches if other is not held]


@dataclass(frozen=True, slots=True, eq=False)
class FilePositions:
    """Positions of records in a file, from its start to its end.

    `before` has the number of points before each position, with a column per tag.
    """

    tags: Sequence[int]
    offsets: NDArray[np.int64]
    before: NDArray[np.int64]


class Positions:
    """Positions in event files that are `size` bytes apart, recorded while they are decoded."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.found: dict[LazyPoints, FilePositions] = {}


def _decode_in_threads(
    folders: Sequence[Sequence[Request]], most: int, positions: Positions | None
) -> dict[LazyPoints, ScalarPoints]:
    total = sum(points.count(tag) for folder in folders for points, tags in folder for tag in tags)
    threads = min(most, os.cpu_count() or 1, len(folders), total // _POINTS_PER_THREAD)
    # The runs of a pack share row groups, which would be decoded several times.
    if threads <= 1 or folders[0][0][0].source.is_packed:
        return decode(folders, positions)
    # Small pieces, because the runs of a logdir can have very different sizes.
    pieces = [folders[start :: threads * 4] for start in range(min(threads * 4, len(folders)))]
    found: dict[LazyPoints, ScalarPoints] = {}
    pool = ThreadPoolExecutor(threads)
    try:
        for piece in pool.map(partial(decode, positions=positions), pieces):
            found.update(piece)
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def decode(
    folders: Iterable[Sequence[Request]], positions: Positions | None = None
) -> dict[LazyPoints, ScalarPoints]:
    """Return the points of the requested tags. Raises FileChanged if a file was replaced."""
    reader = Reader() if positions is None else Reader(size=min(positions.size, BUFFER_SIZE))
    passes = []
    packed: dict[PointSource, list[Request]] = {}
    in_files = []
    for folder in folders:
        source = folder[0][0].source
        if source.is_packed:
            packed.setdefault(source, []).extend(folder)
        else:
            in_files.append(folder)
    for each in read_ahead(_passes(in_files), _Pass.expect, _Pass.cancel):
        passes.append(each)
        if positions is not None:
            each.record_positions(positions.size)
        reader.read(each)
    reader.finish()
    if positions is not None:
        positions.found |= {done.points: done.positions() for done in passes if done.is_whole()}
    found = {done.points: done.found if done.is_whole() else _replay(done) for done in passes}
    for source, requests in packed.items():
        found |= source.decode(requests)
    return found


def decode_stretches(
    stretches: Sequence[tuple[LazyPoints, Mapping[int, int], int, int]],
) -> list[ScalarPoints]:
    """Return the points in parts of the files of one folder, between two recorded positions.

    Each part is a file, the number of points of each tag, and the positions. Raises FileChanged if
    a file was replaced.
    """
    reader = Reader()
    tags: Tags | None = None
    passes = []
    for points, counts, start, end in stretches:
        tags = tags or points.tags.copy()
        passes.append(_Pass(points, list(counts), tags, start, end))
        reader.read(passes[-1])
    reader.finish()
    for done, (points, counts, _, _) in zip(passes, stretches, strict=True):
        if not done.is_whole(counts):
            done.check()
            points.source.distrust(points)
            raise FileChanged(points.path)
    return [done.found for done in passes]


def _passes(folders: Iterable[Sequence[Request]]) -> Iterator[_Pass]:
    for folder in folders:
        # A copy, because the tags must not change, and another thread may be using them.
        tags: Tags | None = None
        for points, numbers in folder:
            tags = tags or points.tags.copy()
            yield _Pass(points, numbers, tags)


def _replay(failed: _Pass) -> ScalarPoints:
    """Decode a file as in the first pass: after the files before it, with new tags.

    A tensor without metadata is a scalar only until another event names the tag's plugin. The
    first pass may not have known the plugin, but the tags do now.
    """
    failed.check()
    points = failed.points
    reader, tags = Reader(), Tags()
    passes = [
        _Pass(sibling, failed.tags if sibling is points else (), tags)
        for sibling in points.source.siblings()
    ]
    for each in passes:
        reader.read(each)
    reader.finish()
    again = next((each for each in passes if each.points is points), failed)
    names = tags.names()
    if not again.is_whole() or names != points.tags.names()[: len(names)]:
        points.source.distrust(points)
        raise FileChanged(points.path)
    return again.found


class _Pass:
    """A file that is decoded again up to its mark, with the interface that `Reader` needs.

    By default, all of it is decoded.
    """

    def __init__(
        self,
        points: LazyPoints,
        numbers: Sequence[int],
        tags: Tags,
        start: int = 0,
        end: int | None = None,
    ) -> None:
        self.path = points.path
        self.points = points
        self.tags = numbers
        self.trouble: Problem | None = None
        self.found = ScalarPoints()
        keep = bytearray(max(numbers, default=-1) + 1)
        for number in numbers:
            keep[number] = 1
        self.decoder = Decoder(tags, offset=start, keep=bytes(keep), only_points=True)
        self._end = points.mark.offset if end is None else end
        self._distance: int | None = None
        self._offsets = [start]
        self._before = [[0] * len(numbers)]

    def record_positions(self, distance: int) -> None:
        """Record positions that are at least this many bytes apart."""
        self._distance = distance

    def positions(self) -> FilePositions:
        """Return the recorded positions."""
        before = np.array(self._before, np.int64).reshape(-1, len(self.tags))
        return FilePositions(self.tags, np.array(self._offsets, np.int64), before)

    def is_whole(self, counts: Mapping[int, int] | None = None) -> bool:
        """Return whether all requested points have been found, or these numbers of points.

        Knowing more plugins can turn scalars into tensors, but not the other way round. If the
        numbers are equal, the points are.
        """
        found = self.found.counts()
        if self.decoder.offset != self._end:
            return False
        if counts is None:
            return all(found.get(tag) == self.points.count(tag) for tag in self.tags)
        return all(found.get(tag, 0) == count for tag, count in counts.items())

    def check(self) -> None:
        """Raise FileChanged if the file could not be read to the mark.

        Raises CannotStore if its store could not be reached.
        """
        if self.points.opener is not None and self.trouble is not None:
            raise CannotStore(f"{self.trouble}. Check the network and try again.")
        if self.trouble is not None or self.decoder.offset != self._end:
            raise FileChanged(self.path)

    def open(self) -> OpenedFile:
        """Return the file, open. Raises OSError."""
        return open_file(self.path, self.points.opener)

    def expect(self) -> int:
        """Prepare for reading; return the number of bytes to hold until then."""
        opener = self.points.opener
        return 0 if opener is None else opener.expect(self.path, 0, None)

    def cancel(self) -> None:
        """Forget what was prepared, because the file will not be read."""
        if self.points.opener is not None:
            self.points.opener.cancel([self.path])

    def has_changed(self, _: Status) -> bool:
        """Return True: the file has not been read yet."""
        return True

    def was_replaced(self, stat: Status, opened: OpenedFile) -> bool:
        """Return whether the bytes of the first pass have been replaced."""
        return self.points.mark.is_replaced(stat, opened)

    def reset(self, _: Tags) -> None:
        """Raise FileChanged, because the points of the first pass are gone."""
        raise FileChanged(self.path)

    def end(self, _: Status) -> int:
        """Return the end of the first pass, or of the part."""
        return self._end

    def mark(self, stretch: memoryview, start: int) -> None:
        """Record the position; the mark of the first pass is kept."""
        if self._distance is None:
            return
        offset = self.decoder.offset
        if offset - self._offsets[-1] >= self._distance or offset == self._end:
            numbers, counts = self.decoder.counts()
            found = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
            self._offsets.append(offset)
            self._before.append([found.get(tag, 0) for tag in self.tags])

    def settle(self, _: FileState | None) -> None:
        """Store the points that the decoder collected."""
        self.found = self.decoder.take()[0]


class RunPoints:
    """The source of the points in the event files of one folder."""

    __slots__ = ("_cache", "files")

    is_packed = False

    def __init__(self, cache: PointCache) -> None:
        self._cache = cache
        self.files: list[EventFile] = []

    def read(self, points: LazyPoints, tag: int) -> Points:
        """Return the points of one tag of a file."""
        return self._cache.read(points, tag)

    def decode(self, requests: Sequence[Request]) -> dict[LazyPoints, ScalarPoints]:
        """Return the points of the requested tags."""
        return decode([requests])

    def distrust(self, points: LazyPoints) -> None:
        """Ensure that the next refresh reads a file from its start."""
        for file in self.files:
            if file.columns.scalars is points:
                file.distrust()

    def siblings(self) -> list[LazyPoints]:
        """Return the points of all files of the folder, in reading order."""
        return [
            file.columns.scalars
            for file in self.files
            if isinstance(file.columns.scalars, LazyPoints)
        ]
