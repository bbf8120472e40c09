"""Finds the intact records of a damaged file, and the bytes that are lost."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from runfold._core.decoder import MAX_RECORD, Decoder, decode
from runfold._core.event import NoteCode
from runfold._core.record_search import seek, walk
from runfold._core.tag_table import Tags
from runfold._edit.record_stream import CHUNK, FRAME_SIZE, is_header, read_record
from runfold._events.event_file import HEADER_SIZE
from runfold._events.opened_file import OPEN_FLAGS
from runfold._humanize import human_count

# The maximum number of bytes to check without success, in multiples of the file's size.
# Ordinary damage takes about one pass.
_PATIENCE = 64


@dataclass(frozen=True, slots=True)
class Loss:
    """Bytes [start, stop) of a file that are not an intact record, and the reason."""

    start: int
    stop: int
    reason: str

    def __str__(self) -> str:
        count = human_count(self.stop - self.start, "byte")
        return f"bytes {self.start} to {self.stop - 1} lost: {count}, {self.reason}"


@dataclass(frozen=True, slots=True)
class Salvage:
    """The recoverable part of a file: spans of complete records, in order, and the losses."""

    spans: list[tuple[int, int]]
    losses: list[Loss]
    records: int
    has_header: bool
    wall_time: float

    @property
    def is_whole(self) -> bool:
        """Whether the file is intact."""
        return not self.losses and (self.has_header or not self.spans)


def salvage(path: str) -> Salvage:
    """Find every intact record of a file, in one pass with bounded memory.

    After a damaged record, and within it, the next record starts at the first byte
    where both the length and the payload match their checksums: a file that was
    truncated and then appended to has complete records inside the range that its
    broken record claims. An intact record that is not a valid event is also reported
    as lost.
    """
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        size = os.fstat(descriptor).st_size
        tags = Tags()
        spans: list[tuple[int, int]] = []
        losses: list[Loss] = []
        records, wall_time, at = 0, math.nan, 0
        for start, stop in _find(descriptor, size):
            if start > at:
                losses.append(_lose(descriptor, at, start, size))
            data = os.pread(descriptor, stop - start, start)
            decoder = Decoder(tags, start)
            decode([decoder], data, np.array([0]), np.array([len(data)]))
            bad = [
                offset for offset, code, _ in decoder.take()[2] if code == NoteCode.MALFORMED_EVENT
            ]
            records += decoder.events
            if math.isnan(wall_time):
                wall_time = decoder.first_wall_time
            for first, end in _without(descriptor, start, stop, bad):
                if spans and spans[-1][1] == first:
                    spans[-1] = spans[-1][0], end
                else:
                    spans.append((first, end))
            for offset in bad:
                end = offset + _length(descriptor, offset)
                losses.append(Loss(offset, end, "a record that is not an event"))
            at = stop
        if at < size:
            losses.append(_lose(descriptor, at, size, size))
        return Salvage(spans, losses, records, _has_header(descriptor, spans), wall_time)
    finally:
        os.close(descriptor)


class _Window:
    """The bytes of a file around a position, read in chunks."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.size = size
        self.start = 0
        self.data = b""
        self._descriptor = descriptor

    @property
    def beyond(self) -> int:
        """The number of bytes in the file after the loaded ones."""
        return self.size - self.start - len(self.data)

    def reach(self, at: int, count: int) -> int:
        """Load `count` bytes at `at`, if the file has them; return the index of `at` in `data`."""
        end = min(at + count, self.size)
        if at < self.start or end > self.start + len(self.data):
            self.start = at
            self.data = os.pread(self._descriptor, min(max(count, CHUNK), self.size - at), at)
            if at + len(self.data) < end:  # the file has been truncated
                self.size = at + len(self.data)
        return at - self.start


def _find(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of intact records, none longer than a chunk or one record."""
    window = _Window(descriptor, size)
    budget = _PATIENCE * size
    at, count = 0, HEADER_SIZE
    while at < window.size:
        offset = window.reach(at, count)
        end = walk(window.data, offset, MAX_RECORD)
        count = HEADER_SIZE
        if end > offset:
            yield at, window.start + end
            at = window.start + end
            continue
        offset, missing, spent = seek(window.data, offset, window.beyond, MAX_RECORD, budget)
        budget -= spent
        at = window.start + offset
        if missing:
            count = len(window.data) - offset + missing
        elif offset == len(window.data):
            if not window.beyond:
                return
            at -= HEADER_SIZE - 1  # these bytes may start a record


def _length(descriptor: int, offset: int) -> int:
    """Return the number of bytes that the record at an offset claims."""
    return int.from_bytes(os.pread(descriptor, 8, offset), "little") + FRAME_SIZE


def _without(descriptor: int, start: int, stop: int, bad: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a span that remain without the records at these offsets."""
    for offset in bad:
        if offset > start:
            yield start, offset
        start = offset + _length(descriptor, offset)
    if stop > start:
        yield start, stop


def _lose(descriptor: int, start: int, stop: int, size: int) -> Loss:
    is_zeros = True
    for at in range(start, stop, CHUNK):
        if os.pread(descriptor, min(CHUNK, stop - at), at).strip(b"\0"):
            is_zeros = False
            break
    if is_zeros:
        reason = "zeros"
    else:
        reason = "no complete record at the end" if stop == size else "no intact record"
    return Loss(start, stop, reason)


def _has_header(descriptor: int, spans: list[tuple[int, int]]) -> bool:
    return bool(spans) and is_header(read_record(descriptor, spans[0][0]))
