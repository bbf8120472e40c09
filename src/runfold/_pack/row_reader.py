"""Reads the rows of one run for a pack, and its entry in the index."""

from __future__ import annotations

import base64
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runfold._events.kinds.embedding import read_config_bytes
from runfold._events.lazy_points import LazyPoints
from runfold._events.problems import Code, Problem
from runfold._files import is_inside
from runfold._humanize import escape
from runfold._logdir.point_cache import decode
from runfold._logdir.run_log import RunLog
from runfold._pack.file_parts import FileParts, Templates, read_kept, stored_size
from runfold._pack.memory_budget import check_series, room_for_points
from runfold._pack.pack_index import StoredFile, StoredRun, StoredTags, raw_text, store_problem
from runfold._pack.pack_layout import BYTES, METADATA
from runfold._pack.pack_rows import Other, Place, Points
from runfold._story.status import last_sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runfold._core.scalar_columns import Points as Columns
    from runfold._events.event_file import EventFile
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.point_cache import PointCache

_NO_ZEROS = "the rest of the file is zeros that were never written to disk. They were not packed."
_RECORDS_ONLY = "a link to a file outside the logdir. Only the file's intact records were packed."


class ReadRun(NamedTuple):
    """A run in a pack, apart from its rows; the number of its tags is not known yet."""

    stored: StoredRun
    tags: StoredTags
    problems: list[Problem]


def read_run(
    run: FoundRun,
    number: int,
    below: str,
    templates: Templates,
    add: Callable[[Points | Other], object],
    advance: Callable[[int], object] = lambda _: None,
    cache: PointCache | None = None,
) -> ReadRun:
    """Read a run, and pass its rows to `add`. Paths are stored relative to the folder `below`.

    `advance` is called with the size of each event file. With a `cache`, only some tags are in
    memory at a time.
    """
    log = RunLog(run, "keep", cache=cache)
    log.load()
    numbers = {log.tags.raw_name(tag): tag for tag in range(len(log.tags))}
    kinds = _kinds(log)
    files = []
    for file_number, file in enumerate(log.files):
        size = stored_size(file) if file.size else 0
        problems = [*file.problems(log.names)]
        if size < file.size:
            problems.append(Problem(Code.ZERO_FILLED_TAIL, _NO_ZEROS, file.path, size))
        place = _FilePlace(log, number, file_number, below)
        left_out = _add_file(place, file, size, templates, numbers, kinds, add)
        if left_out:
            problems.append(Problem(Code.LINK_NOT_FOLLOWED, _RECORDS_ONLY, file.path))
        files.append(
            StoredFile(
                raw_text(os.fsencode(os.path.basename(file.path))),
                size - left_out,
                file.decoder.events,
                file.decoder.first_wall_time,
                file.decoder.last_wall_time,
                _mtime(file),
                [(step, items, [*counts.items()]) for step, items, counts in file.columns.restarts],
                [store_problem(problem, below) for problem in problems],
            )
        )
        advance(file.size)
    folder = os.path.relpath(run.path, below)
    config, config_problems = _read_config(run)
    stored = StoredRun(
        log.name, raw_text(os.fsencode(folder)), -1, files, config, last_sign(run.path)
    )
    return ReadRun(stored, _store_tags(log), config_problems)


class _FilePlace(NamedTuple):
    """The run and number of a file whose rows are read."""

    log: RunLog
    run: int
    number: int
    below: str


def _add_file(
    place: _FilePlace,
    file: EventFile,
    size: int,
    templates: Templates,
    numbers: dict[bytes, int],
    kinds: dict[tuple[int, int], str],
    add: Callable[[Points | Other], object],
) -> int:
    """Add the rows of a file, and return the number of bytes left out.

    A link can point to any file on this machine. From files outside the logdir,
    only intact records are packed, so that files other than event files are not
    copied.
    """
    if size == 0:
        return 0
    log, run, number, below = place
    name = raw_text(os.fsencode(os.path.basename(file.path)))
    shown = name.encode("utf-8", "backslashreplace").decode()
    parts = FileParts(file, size, templates, numbers)
    for tags in _split(log, file):
        points = _decode(file, tags)
        found = parts.locate(points)
        for tag in tags:
            positions = found.pop(tag, (None, None, None))
            at = Place(run, number, tag, log.name, shown, log.names[tag])
            add(Points(at, *points.pop(tag), *positions))
    nowhere = Place(run, number, -1, log.name, shown, None)
    items = file.columns.items
    for item, payload in zip(items, file.fetch(items) if len(items) else (), strict=True):
        tag, start, record = int(item["tag"]), int(item["start"]), int(item["record"])
        at = nowhere if tag < 0 else nowhere._replace(tag=tag, tag_name=log.names[tag])
        add(
            Other(
                kinds.get((number, start), METADATA),
                at,
                record,
                start - record,
                int(item["step"]),
                float(item["wall_time"]),
                int(item["form"]),
                int(item["plugin"]),
                payload,
            )
        )
    left_out = 0
    kept = parts.kept
    if not is_inside(file.path, below):
        left_out = sum(length for kind, _, _, length in kept if kind == BYTES)
        kept = [part for part in kept if part[0] != BYTES]
    for kind, offset, data in read_kept(file, kept):
        add(Other(kind, nowhere, offset, 0, None, None, None, None, data))
    return left_out


def _split(log: RunLog, file: EventFile) -> Iterator[list[int]]:
    """Yield the tags of a file in parts that fit into memory."""
    counts = file.columns.counts()
    if log.cache is None:
        yield list(counts)
        return
    check_series(log.cache, log, file)
    tags: list[int] = []
    most = room_for_points(log.cache.limit)
    total = 0
    for tag, count in counts.items():
        if tags and total + count > most:
            yield tags
            tags, total = [], 0
        tags.append(tag)
        total += count
    if tags:
        yield tags


def _decode(file: EventFile, tags: Sequence[int]) -> dict[int, Columns]:
    scalars = file.columns.scalars
    if isinstance(scalars, LazyPoints):
        scalars = decode([[(scalars, tags)]])[scalars]
    return {tag: scalars[tag] for tag in tags}


def _read_config(run: FoundRun) -> tuple[str | None, list[Problem]]:
    """Return the projector configuration, unless a link in its path leaves the run's folder."""
    if run.config is None:
        return None, []
    try:
        return raw_text(read_config_bytes(Path(run.path), os.path.basename(run.config))), []
    except ValueError as error:
        message = f"{escape(str(error))}. Not packed."
        return None, [Problem(Code.READ_ERROR, message, run.config)]


def _store_tags(log: RunLog) -> StoredTags:
    tags = log.tags
    count = range(len(tags))
    metadata = [tags.metadata(number) for number in count]
    return StoredTags(
        [raw_text(tags.raw_name(number)) for number in count],
        [None if value is None else base64.b64encode(value).decode() for value in metadata],
        [tags.plugin(number) for number in count],
        tags.plugins(),
    )


def _kinds(log: RunLog) -> dict[tuple[int, int], str]:
    """Return the kind of each item by its file's number and its position in the file."""
    return {
        (int(file), int(start)): kind
        for (kind, _), payloads in log.payloads.items()
        for file, start in zip(payloads.files, payloads.items["start"], strict=True)
    }


def _mtime(file: EventFile) -> float | None:
    with suppress(OSError):
        return os.stat(file.path).st_mtime
    return None
