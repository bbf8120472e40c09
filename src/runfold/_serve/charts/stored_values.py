"""Stored values of one tag, few enough for one response, each with a stable name."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import blake2s
from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np
from msgspec import Meta

from runfold._serve.http.error_responses import NotFound
from runfold._serve.http.request_fields import RequestFields, Text
from runfold._serve.page_vocabulary import JsonNumber

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._serve.run_source import Source
    from runfold._tables.frames.value_rows import Stored

# Each entry of a response repeats the tag, which can be arbitrarily long.
_MOST_TAG_CHARACTERS = 8 << 20

_NAME = re.compile(r"([0-9a-f]{8})-(\d{1,9})-(\d{1,18})-(\d{1,18})")


class TagRequest(RequestFields):
    """A tag, in some runs or in all that have it."""

    tag: Text
    # More run names would not fit into a URL.
    run: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=1000)] | None = None


class StoredEntry(TypedDict):
    """One image or clip of a stored value, and the name for requesting its bytes."""

    run: str
    tag: str
    step: JsonNumber
    wallTime: float
    index: int
    blob: str


@dataclass(frozen=True)
class Found:
    """Values of a tag by run, and the number of values left out."""

    selected: list[tuple[RunLog, Payloads]]
    left_out: int


def find_stored(
    source: Source, kind: str, request: TagRequest, most: int, *, is_newest: bool = False
) -> Found:
    """Return up to about `most` values, divided among the runs.

    If there are more values, each run keeps its newest, or evenly spaced values that
    include its first and last. Raises UnknownRun and UnknownTag.
    """
    logs = source.logs_with(request.tag, kind, request.run)
    most = min(most, _MOST_TAG_CHARACTERS // max(1, len(request.tag)))
    share = max(1, most // len(logs))
    selected = []
    left_out = 0
    for log in logs:
        payloads = log.payloads[kind, request.tag].readable()
        left_out += max(0, len(payloads) - share)
        selected.append((log, payloads.only(choose_rows(len(payloads), share, is_newest))))
    return Found(selected, left_out)


def choose_rows(count: int, most: int, is_newest: bool = False) -> slice | NDArray[np.bool_]:
    """Choose up to `most` rows: all, the newest, or evenly spaced ones."""
    if count <= most or is_newest:
        return slice(max(0, count - most), None)
    if most == 1:
        return slice(-1, None)
    kept = np.zeros(count, bool)
    kept[np.linspace(0, count - 1, most).round().astype(np.intp)] = True
    return kept


def describe_entry(stored: Stored, tag: str, index: int) -> StoredEntry:
    """Describe an image or clip: its position, and its index in the stored value."""
    return {
        "run": stored.log.name,
        "tag": tag,
        "step": int(stored.item["step"]),
        "wallTime": float(stored.item["wall_time"]),
        "index": index,
        "blob": name_value(stored),
    }


def name_value(stored: Stored) -> str:
    """Return a stored value's name, which stays the same when other values are added or hidden.

    The name consists of a hash of the file's name, the number of times the file was
    reread, and the value's offsets in the file. The name contains no path.
    """
    file, rereads = stored.payloads.sources[int(stored.payloads.files[stored.row])]
    return f"{_mark(file.path)}-{rereads}-{stored.item['record']}-{stored.item['start']}"


def find_value(payloads: Payloads, name: str) -> Payloads:
    """Return the value with this name. Raises NotFound if it does not exist or is hidden."""
    parts = _NAME.fullmatch(name)
    if parts is not None:
        mark, rereads, record, start = parts[1], *map(int, parts.groups()[1:])
        items = payloads.items
        is_there = (items["record"] == record) & (items["start"] == start)
        for number, (file, file_rereads) in enumerate(payloads.sources):
            if file_rereads == rereads and _mark(file.path) == mark:
                value = payloads.only(is_there & (payloads.files == number))
                if len(value):
                    return value
    raise NotFound("This value does not exist or is no longer available. Reload the list.")


def _mark(path: str) -> str:
    name = os.fsencode(os.path.basename(path))
    return blake2s(name, digest_size=4).hexdigest()
