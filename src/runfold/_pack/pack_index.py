"""The index in a pack's footer: everything about its runs except the rows."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import human_bytes
from runfold._pack.memory_budget import Budget, TooLarge
from runfold._pack.pack_layout import VERSION
from runfold.errors import BadPack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._events.problems import Problem

# Consecutive rows in a row group: those of one tag in one file.
SEGMENT = np.dtype(
    [("group", "<i4"), ("run", "<i4"), ("file", "<i4"), ("tag", "<i4"), ("count", "<i8")]
)

# code, message, path below the logdir (or full path, if elsewhere), offset
StoredProblem = tuple[str, str, str, int | None]


@dataclass(slots=True)
class StoredFile:
    """An event file: its name, size, counts, restarts and problems.

    A restart is (step, items before it, [(tag, points before it), ...]).
    """

    name: str
    size: int
    events: int
    first_wall_time: float
    last_wall_time: float
    mtime: float | None = None
    restarts: list[tuple[int, int, list[tuple[int, int]]]] = field(default_factory=list)
    problems: list[StoredProblem] = field(default_factory=list)


@dataclass(slots=True)
class StoredTags:
    """The tags of a run by number, as in `_core.tag_table.Tags`; shared by runs with equal tags.

    `names` are bytes as text, with invalid UTF-8 escaped as lone surrogates.
    """

    names: list[str]
    metadata: list[str | None]  # base64
    plugins: list[int]
    plugin_names: list[str]


@dataclass(slots=True)
class StoredRun:
    """A run: its name, its folder below the logdir, and its files in reading order."""

    name: str
    folder: str
    tags: int
    files: list[StoredFile]
    config: str | None = None  # the bytes of its projector configuration
    last_sign: float | None = None  # time of its last heartbeat or write


@dataclass(slots=True)
class Index:
    """The content of the footer."""

    runs: list[StoredRun]
    tags: list[StoredTags]
    templates: list[bytes]
    problems: list[StoredProblem]
    is_scalar: list[bool]  # for each row group
    segments: NDArray[np.void]

    def to_bytes(self) -> bytes:
        """Return the index as stored in the footer."""
        segments = [
            _pack(_deflate(np.diff(self.segments[name], prepend=0).astype("<i8").tobytes()))
            for name in SEGMENT.names or ()
        ]
        document = {
            "runs": [asdict(run) for run in self.runs],
            "tags": [asdict(tags) for tags in self.tags],
            "templates": [_pack(template) for template in self.templates],
            "problems": self.problems,
            "is_scalar": self.is_scalar,
            "segments": segments,
        }
        packed = _pack(_deflate(json.dumps(document).encode()))
        return json.dumps({"version": VERSION, "index": packed}).encode()


def read_index(data: bytes, path: str, rows: int, most: int) -> Index:
    """Return the index of a pack with `rows` rows, limited to about `most` bytes in memory.

    Raises BadPack if it is larger, newer or invalid.
    """
    budget = Budget(most)
    try:
        head = json.loads(data)
        version = int(head.get("version", 0))
        index = _parse(_load(head["index"], budget), rows, budget) if version == VERSION else None
        if index is not None:
            _check(index)
    except TooLarge as error:
        raise BadPack(
            path,
            f"the index in its footer expands to more than {human_bytes(error.size)}, too much for "
            "a pack of this size",
            "The rest was not read. The file is damaged, or was built to exhaust memory. Pack the "
            "logs again.",
        ) from None
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        zlib.error,
        OverflowError,
        RecursionError,
    ) as error:
        raise BadPack(path, f"the index in its footer is invalid ({error})") from None
    if version > VERSION:
        fact = f"a pack of version {version}, but this Runfold supports only {VERSION}"
        raise BadPack(path, fact, "Install a newer Runfold.")
    if index is None:
        raise BadPack(path, "a table written by Runfold, not a pack", "Use `rf.read_table`.")
    return index


def _load(packed: str, budget: Budget) -> dict[str, Any]:
    """Return the parsed index if the resulting objects fit into the budget."""
    text = budget.inflate(_unpack(packed), 4)
    # A character takes up to 4 bytes, a list or dict 64, and an entry 40: a few
    # kilobytes can contain millions of empty lists.
    brackets = text.count(b"[") + text.count(b"{")
    budget.spend(4 * len(text) + 64 * brackets + 40 * text.count(b","))
    document: dict[str, Any] = json.loads(text)
    return document


def _parse(document: dict[str, Any], rows: int, budget: Budget) -> Index:
    segments = _parse_segments(document["segments"], rows, budget)
    runs = [
        StoredRun(**{**run, "files": [_parse_file(file) for file in run["files"]]})
        for run in document["runs"]
    ]
    return Index(
        runs,
        [StoredTags(**tags) for tags in document["tags"]],
        [_unpack(template) for template in document["templates"]],
        [_parse_problem(problem) for problem in document["problems"]],
        [bool(flag) for flag in document["is_scalar"]],
        segments,
    )


def _parse_segments(columns: list[str], rows: int, budget: Budget) -> NDArray[np.void]:
    """Return the segments, which are stored by column. Each has at least one row."""
    segments: NDArray[np.void] | None = None
    for name, packed in zip(SEGMENT.names or (), columns, strict=True):
        steps = np.frombuffer(budget.inflate(_unpack(packed), 8), "<i8")
        if segments is None:
            budget.spend(64 * len(steps))
            if len(steps) > rows:
                raise ValueError("there are more segments than rows")
            segments = np.empty(len(steps), SEGMENT)
        if len(steps) != len(segments):
            raise ValueError("the columns of its segments differ in length")
        total = np.cumsum(steps)
        if len(total) and not 0 <= total.min() + 1 <= total.max() + 1 <= 1 << 40:
            raise ValueError(f"a {name} is out of range")
        segments[name] = total
    assert segments is not None
    return segments


def _parse_file(file: dict[str, Any]) -> StoredFile:
    restarts = [
        (int(step), int(items), [(int(tag), int(count)) for tag, count in counts])
        for step, items, counts in file["restarts"]
    ]
    stored = StoredFile(
        **{
            **file,
            "restarts": restarts,
            "problems": [_parse_problem(problem) for problem in file["problems"]],
        }
    )
    stored.size, stored.events = int(stored.size), int(stored.events)
    numbers = [stored.size, stored.events, *(items for _, items, _ in restarts)]
    numbers += [count for _, _, counts in restarts for _, count in counts]
    if not all(0 <= number < 1 << 62 for number in numbers):
        raise ValueError("a count is out of range")
    if not all(-(1 << 63) <= step < 1 << 63 for step, _, _ in restarts):
        raise ValueError("a step is out of range")
    stored.first_wall_time = float(stored.first_wall_time)
    stored.last_wall_time = float(stored.last_wall_time)
    return stored


def _parse_problem(stored: list[Any]) -> StoredProblem:
    code, message, path, offset = stored
    return str(code), str(message), str(path), None if offset is None else int(offset)


def _check(index: Index) -> None:
    """Raise ValueError for an index with invalid references."""
    segments = index.segments
    names = [run.name for run in index.runs]
    if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        raise ValueError("a run has no name, or two runs have the same name")
    for run in index.runs:
        run.name.encode()
        # These are converted to bytes later, where an error would be harder to handle.
        for text in (run.folder, run.config or "", *(file.name for file in run.files)):
            raw_bytes(text)
        if not isinstance(run.tags, int) or not 0 <= run.tags < len(index.tags):
            raise ValueError(f"run {run.name!r} has no tags")
        if not isinstance(run.last_sign, float | int | None):
            raise ValueError("a time is not a number")
    for tags in index.tags:
        if not len(tags.names) == len(tags.metadata) == len(tags.plugins):
            raise ValueError("the tags of a run are incomplete")
        if not all(0 <= int(plugin) < len(tags.plugin_names) for plugin in tags.plugins):
            raise ValueError("a tag has a plugin without a name")
        for text in (*tags.names, *tags.plugin_names):
            raw_bytes(text)
        for metadata in tags.metadata:
            _unpack(metadata or "")
    if not len(segments):
        return
    counts = np.array([len(index.tags[run.tags].names) for run in index.runs], np.int64)
    files = np.array([len(run.files) for run in index.runs], np.int64)
    if segments["group"].min() < 0 or segments["group"].max() >= len(index.is_scalar):
        raise ValueError("a segment has no row group")
    if np.any(np.diff(segments["group"]) < 0) or segments["count"].min() < 0:
        raise ValueError("the segments are not in order")
    if segments["run"].min() < 0 or segments["run"].max() >= len(index.runs):
        raise ValueError("a segment has no run")
    if segments["file"].min() < 0 or np.any(segments["file"] >= files[segments["run"]]):
        raise ValueError("a segment has no file")
    if segments["tag"].min() < -1 or np.any(segments["tag"] >= counts[segments["run"]]):
        raise ValueError("a segment has an unknown tag")
    scalar = np.array(index.is_scalar, np.bool_)[segments["group"]]
    if np.any(segments["tag"][scalar] < 0):
        raise ValueError("scalars have no tag")


def store_problem(problem: Problem, below: str) -> StoredProblem:
    """Return a problem with its path relative to the logdir."""
    file = problem.file.removeprefix(below)
    return str(problem.code), problem.message, file, problem.offset


def raw_text(raw: bytes) -> str:
    """Return bytes as text for JSON, which `raw_bytes` converts back."""
    return raw.decode("utf-8", "surrogateescape")


def raw_bytes(text: str) -> bytes:
    """Return the bytes that `raw_text` converted to text."""
    return text.encode("utf-8", "surrogateescape")


def _pack(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unpack(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _deflate(data: bytes) -> bytes:
    return zlib.compress(data, 6)
