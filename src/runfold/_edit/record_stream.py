"""Rewrites the records of an event file a few megabytes at a time."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass

from runfold._core.checksum import masked_crc32c
from runfold._core.decoder import MAX_RECORD
from runfold._core.encoder import EventBuffer
from runfold._core.record import StopReason
from runfold._core.rewriter import Rewriter
from runfold._events.event_file import HEADER_SIZE
from runfold._events.opened_file import OPEN_FLAGS
from runfold._events.wire import BYTES, FIXED64, Malformed, fields
from runfold._humanize import escape
from runfold.errors import CannotEdit

CHUNK = 4 << 20
FRAME_SIZE = HEADER_SIZE + 4

# Fields of Event.
_WALL_TIME = 1
_FILE_VERSION = 3


@dataclass(frozen=True, slots=True)
class Tail:
    """Bytes at the end of a file, from `offset`, that are not a complete record."""

    offset: int
    size: int


def copy_records(
    path: str,
    rewriter: Rewriter,
    write: Callable[[EventBuffer], object] | None = None,
    *,
    at_boundary: Callable[[int], object] | None = None,
    after_header: EventBuffer | None = None,
    size: int | None = None,
) -> Tail | None:
    """Pass all records of a file through a rewriter; return the torn tail, if any.

    `write` receives the output. `at_boundary` is called with the offset of each
    record where the rewriter stops, before the record is copied. `after_header` is
    inserted after the file's header, or at the start if there is none. `size` limits how
    much of the file is read, for a second pass over a growing file. Raises
    CannotEdit if record boundaries are lost.
    """
    out = None if write is None else EventBuffer()
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        current_size = os.fstat(descriptor).st_size
        size = current_size if size is None else min(size, current_size)
        offset = 0
        if write is not None and after_header is not None:
            offset = _copy_header(descriptor, rewriter, write)
            write(after_header)
        wanted_size = CHUNK
        while offset < size:
            data = os.pread(descriptor, min(wanted_size, size - offset), offset)
            used = rewriter.rewrite(data, out)
            if write is not None and out is not None and len(out):
                write(out)
                out.clear()
            offset += used
            wanted_size = CHUNK
            if rewriter.stop == StopReason.AT_END:
                if not data:  # the file has been truncated
                    return Tail(offset, size - offset)
            elif rewriter.stop == StopReason.AT_BOUNDARY:
                rewriter.begin()
                if at_boundary is not None:
                    at_boundary(offset)
            elif rewriter.stop in (StopReason.IS_TORN, StopReason.IS_ZEROS):
                rest = len(data) - used
                # A valid header can claim more bytes than there are.
                if offset + rest >= size or offset + rewriter.needed > size:
                    return Tail(offset, size - offset)
                wanted_size = max(CHUNK, rewriter.needed, 2 * rest)
                if wanted_size > 2 * MAX_RECORD:
                    raise _broken(path, offset)
            else:
                raise _broken(path, offset)
        return None
    finally:
        os.close(descriptor)


def read_record(descriptor: int, offset: int = 0) -> bytes:
    """Return the record at an offset in a file, or b"" if no complete one is there."""
    header = os.pread(descriptor, HEADER_SIZE, offset)
    length = int.from_bytes(header[:8], "little")
    stored = int.from_bytes(header[8:], "little")
    if len(header) < HEADER_SIZE or masked_crc32c(header[:8]) != stored or length > MAX_RECORD:
        return b""
    record = os.pread(descriptor, length + FRAME_SIZE, offset)
    return record if len(record) == length + FRAME_SIZE else b""


def read_wall_time(path: str, offset: int = 0) -> float:
    """Return the wall time of the event at an offset in a file; minus infinity if it has none."""
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        data = read_record(descriptor, offset)[HEADER_SIZE:-4]
    finally:
        os.close(descriptor)
    try:
        for field in fields(data):
            if field.number == _WALL_TIME and field.wire_type == FIXED64:
                (wall_time,) = struct.unpack("<d", field.value.to_bytes(8, "little"))
                return float(wall_time)
    except Malformed:
        pass
    return -math.inf


def is_header(record: bytes) -> bool:
    """Return whether a record is the version header of an event file."""
    try:
        return any(
            field.number == _FILE_VERSION and field.wire_type == BYTES
            for field in fields(record[HEADER_SIZE:-4])
        )
    except Malformed:
        return False


def _copy_header(
    descriptor: int, rewriter: Rewriter, write: Callable[[EventBuffer], object]
) -> int:
    record = read_record(descriptor)
    if not is_header(record):
        return 0
    out = EventBuffer()
    used = rewriter.rewrite(record, out)
    write(out)
    return used


def _broken(path: str, offset: int) -> CannotEdit:
    return CannotEdit(
        f"{escape(path)}: record boundaries are lost from byte {offset}. Nothing was"
        " changed. Run `runfold repair` first to recover the records after that byte."
    )
