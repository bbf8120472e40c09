"""Writes a logdir to packs run by run, with only one run in memory."""

from __future__ import annotations

import base64
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from runfold._core.tag_table import Tags
from runfold._events.kinds.embedding import read_config_bytes
from runfold._events.problems import Code, Problem
from runfold._files import is_inside
from runfold._humanize import escape
from runfold._logdir.run_log import RunLog
from runfold._pack.file_parts import Templates, read_kept, stored_size, take_apart
from runfold._pack.pack_index import (
    Index,
    StoredFile,
    StoredRun,
    StoredTags,
    raw_text,
    store_problem,
)
from runfold._pack.pack_layout import BYTES, METADATA
from runfold._pack.pack_rows import Other, Place, Points, RowWriter
from runfold._story.status import last_sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runfold._events.event_file import EventFile
    from runfold._logdir.discover import Discovery, FoundRun

_NO_ZEROS = "the rest of the file is zeros that were never written to disk. They were not packed."
_RECORDS_ONLY = "a link to a file outside the logdir. Only the file's intact records were packed."


def write_pack(
    discovery: Discovery,
    file: BinaryIO,
    runs: Iterable[str] | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> Index:
    """Write the runs of a logdir (default: all) to a pack, and return its index.

    `advance` is called with the size of each event file. Each run must fit into memory,
    as it must for reading, but the whole logdir need not.
    """
    names = list(discovery.runs) if runs is None else list(runs)
    pack = _Pack(file, os.path.join(discovery.base, ""))
    try:
        for name in names:
            pack.add_run(discovery.runs[name], advance)
        return pack.finish(discovery.problems)
    except BaseException:
        pack.rows.abandon()
        raise


class _Pack:
    """A pack that is being written."""

    def __init__(self, file: BinaryIO, below: str) -> None:
        self.rows = RowWriter(file)
        self._below = below
        self._templates = Templates(Tags())
        self._runs: list[StoredRun] = []
        self._tags: dict[str, int] = {}
        self._tag_sets: list[StoredTags] = []
        self._problems: list[Problem] = []

    def add_run(self, run: FoundRun, advance: Callable[[int], object]) -> None:
        log = RunLog(run, "keep")
        log.load()
        numbers = {log.tags.raw_name(number): number for number in range(len(log.tags))}
        kinds = _kinds(log)
        files = []
        for number, file in enumerate(log.files):
            size = stored_size(file) if file.size else 0
            problems = [*file.problems(log.names)]
            if size < file.size:
                problems.append(Problem(Code.ZERO_FILLED_TAIL, _NO_ZEROS, file.path, size))
            left_out = self._add_file(log, number, file, size, numbers, kinds)
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
                    [
                        (step, items, [*counts.items()])
                        for step, items, counts in file.columns.restarts
                    ],
                    [store_problem(problem, self._below) for problem in problems],
                )
            )
            advance(file.size)
        folder = os.path.relpath(run.path, self._below)
        self._runs.append(
            StoredRun(
                log.name,
                raw_text(os.fsencode(folder)),
                self._store_tags(log),
                files,
                self._read_config(run),
                last_sign(run.path),
            )
        )

    def _add_file(
        self,
        log: RunLog,
        number: int,
        file: EventFile,
        size: int,
        numbers: dict[bytes, int],
        kinds: dict[tuple[int, int], str],
    ) -> int:
        """Add the rows of a file, and return the number of bytes left out.

        A link can point to any file on this machine. From files outside the logdir,
        only intact records are packed, so that files other than event files are not
        copied.
        """
        if size == 0:
            return 0
        name = raw_text(os.fsencode(os.path.basename(file.path)))
        shown = name.encode("utf-8", "backslashreplace").decode()
        run = len(self._runs)
        parts = take_apart(file, size, self._templates, numbers)
        for tag, points in file.columns.scalars.items():
            positions = parts.positions.get(tag, (None, None, None))
            at = Place(run, number, tag, log.name, shown, log.names[tag])
            self.rows.add_points(Points(at, *points, *positions))
        nowhere = Place(run, number, -1, log.name, shown, None)
        items = file.columns.items
        for item, payload in zip(items, file.fetch(items) if len(items) else (), strict=True):
            tag, start, record = int(item["tag"]), int(item["start"]), int(item["record"])
            at = nowhere if tag < 0 else nowhere._replace(tag=tag, tag_name=log.names[tag])
            self.rows.add_other(
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
        if not is_inside(file.path, self._below):
            left_out = sum(length for kind, _, _, length in parts.kept if kind == BYTES)
            parts.kept = [part for part in parts.kept if part[0] != BYTES]
        for kind, offset, data in read_kept(file, parts):
            self.rows.add_other(Other(kind, nowhere, offset, 0, None, None, None, None, data))
        return left_out

    def _read_config(self, run: FoundRun) -> str | None:
        """Return the projector configuration, unless a link in its path leaves the run's folder."""
        if run.config is None:
            return None
        try:
            return raw_text(read_config_bytes(Path(run.path), os.path.basename(run.config)))
        except ValueError as error:
            message = f"{escape(str(error))}. Not packed."
            self._problems.append(Problem(Code.READ_ERROR, message, run.config))
            return None

    def _store_tags(self, log: RunLog) -> int:
        tags = log.tags
        count = range(len(tags))
        metadata = [tags.metadata(number) for number in count]
        stored = StoredTags(
            [raw_text(tags.raw_name(number)) for number in count],
            [None if value is None else base64.b64encode(value).decode() for value in metadata],
            [tags.plugin(number) for number in count],
            tags.plugins(),
        )
        # Nearly all runs of a logdir have the same tags.
        number = self._tags.setdefault(repr(stored), len(self._tags))
        if number == len(self._tag_sets):
            self._tag_sets.append(stored)
        return number

    def finish(self, problems: list[Problem]) -> Index:
        self.rows.flush()
        table = self._templates.table
        index = Index(
            self._runs,
            self._tag_sets,
            [table.raw_name(number) for number in range(len(table))],
            [store_problem(problem, self._below) for problem in [*problems, *self._problems]],
            self.rows.is_scalar,
            self.rows.segments(),
        )
        self.rows.finish(index.to_bytes())
        return index


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
