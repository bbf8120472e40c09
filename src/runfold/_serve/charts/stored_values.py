"""Stored values of one tag, few enough for one answer, and each under a name that lasts."""

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

# Each entry of an answer repeats the tag, which a log may make as long as it likes.
_MOST_TAG_CHARACTERS = 8 << 20

_NAME = re.compile(r"([0-9a-f]{8})-(\d{1,9})-(\d{1,18})-(\d{1,18})")


class TagRequest(RequestFields):
    """A tag, in some runs or in all that have it."""

    tag: Text
    # More would not fit into an address.
    run: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=1000)] | None = None


class StoredEntry(TypedDict):
    """One image or clip of a stored value, and the name by which its bytes are requested."""

    run: str
    tag: str
    step: JsonNumber
    wallTime: float
    index: int
    blob: str


@dataclass(frozen=True)
class Found:
    """Values of a tag by run, and how many more there are than an answer takes."""

    selected: list[tuple[RunLog, Payloads]]
    left_out: int


def find_stored(
    source: Source, kind: str, wanted: TagRequest, most: int, *, is_newest: bool = False
) -> Found:
    """At most about so many values, shared out among the runs; raises UnknownRun, UnknownTag.

    Of too many, some at even distances are kept with the first and the last of
    each run; or the newest.
    """
    logs = source.logs_with(wanted.tag, kind, wanted.run)
    most = min(most, _MOST_TAG_CHARACTERS // max(1, len(wanted.tag)))
    share = max(1, most // len(logs))
    selected = []
    left_out = 0
    for log in logs:
        payloads = log.payloads[kind, wanted.tag].readable()
        left_out += max(0, len(payloads) - share)
        selected.append((log, payloads.only(choose_rows(len(payloads), share, is_newest))))
    return Found(selected, left_out)


def choose_rows(count: int, most: int, is_newest: bool = False) -> slice | NDArray[np.bool_]:
    """Which of so many rows to keep: all if they are few, the last ones, or some in between."""
    if count <= most or is_newest:
        return slice(max(0, count - most), None)
    if most == 1:
        return slice(-1, None)
    kept = np.zeros(count, bool)
    kept[np.linspace(0, count - 1, most).round().astype(np.intp)] = True
    return kept


def describe_entry(place: Stored, tag: str, index: int) -> StoredEntry:
    """What is known of every image or clip: where it is, and which it is of its value."""
    return {
        "run": place.log.name,
        "tag": tag,
        "step": int(place.item["step"]),
        "wallTime": float(place.item["wall_time"]),
        "index": index,
        "blob": name_value(place),
    }


def name_value(place: Stored) -> str:
    """A name of one stored value that stays while more are written, hidden or shown again.

    It is made of what tells its file from others of the run, how often that was
    read anew, and the offsets in it; it holds no path.
    """
    file, rereads = place.payloads.sources[int(place.payloads.files[place.row])]
    return f"{_mark(file.path)}-{rereads}-{place.item['record']}-{place.item['start']}"


def find_value(payloads: Payloads, name: str) -> Payloads:
    """The one value of that name. Raises NotFound, as for one that is hidden by now."""
    parts = _NAME.fullmatch(name)
    if parts is not None:
        mark, rereads, record, start = parts[1], *map(int, parts.groups()[1:])
        items = payloads.items
        is_there = (items["record"] == record) & (items["start"] == start)
        for number, (file, times) in enumerate(payloads.sources):
            if times == rereads and _mark(file.path) == mark:
                found = payloads.only(is_there & (payloads.files == number))
                if len(found):
                    return found
    raise NotFound("There is no such value, or no longer. Ask for the list again.")


def _mark(path: str) -> str:
    name = os.fsencode(os.path.basename(path))
    return blake2s(name, digest_size=4).hexdigest()
