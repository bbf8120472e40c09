"""The index in a pack's footer: all that is known of its runs without reading a row."""

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

# Rows that follow one another in a row group: those of one tag in one file.
SEGMENT = np.dtype(
    [("group", "<i4"), ("run", "<i4"), ("file", "<i4"), ("tag", "<i4"), ("count", "<i8")]
)

# code, message, path below the logdir (or in full, if it is not below), offset
StoredProblem = tuple[str, str, str, int | None]


@dataclass(slots=True)
class StoredFile:
    """An event file: its name, what a reader counted in it, its restarts and problems.

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
    """The tags of a run by number, as `_core.tag_table.Tags` has them; shared by runs that agree.

    `names` are bytes, with those that are no UTF-8 escaped as lone surrogates.
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
    last_sign: float | None = None  # its heartbeat, or when its files were last written


@dataclass(slots=True)
class Index:
    """What the footer says."""

    runs: list[StoredRun]
    tags: list[StoredTags]
    templates: list[bytes]
    problems: list[StoredProblem]
    is_scalar: list[bool]  # of each row group
    segments: NDArray[np.void]

    def to_bytes(self) -> bytes:
        """The index as the text that the footer holds."""
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
    """The index of a pack of `rows` rows, of about `most` bytes in memory at most.

    Raises BadPack for one that is larger, newer or makes no sense.
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
            f"the index in its footer unfolds to more than {human_bytes(error.size)}, which no "
            "pack of this size needs",
            "The rest was not read. The file is damaged, or was made to fill the memory: pack the "
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
        raise BadPack(path, f"the index in its footer makes no sense ({error})") from None
    if version > VERSION:
        fact = f"a pack of version {version}, and this Runfold knows {VERSION}"
        raise BadPack(path, fact, "Install a newer Runfold.")
    if index is None:
        raise BadPack(path, "a table that Runfold wrote, and no pack", "`rf.read_table` reads it.")
    return index


def _load(packed: str, budget: Budget) -> dict[str, Any]:
    """The document of an index, if the objects that it becomes fit into the budget."""
    text = budget.inflate(_unpack(packed), 4)
    # A character takes up to 4 bytes, a list or a dict 64, and an entry of one 40: a few
    # kilobytes can hold millions of empty lists.
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
        [_parse_problem(one) for one in document["problems"]],
        [bool(one) for one in document["is_scalar"]],
        segments,
    )


def _parse_segments(columns: list[str], rows: int, budget: Budget) -> NDArray[np.void]:
    """The segments, one column after the other: none has fewer rows than one."""
    segments: NDArray[np.void] | None = None
    for name, packed in zip(SEGMENT.names or (), columns, strict=True):
        steps = np.frombuffer(budget.inflate(_unpack(packed), 8), "<i8")
        if segments is None:
            budget.spend(64 * len(steps))
            if len(steps) > rows:
                raise ValueError("there are more segments than rows")
            segments = np.empty(len(steps), SEGMENT)
        if len(steps) != len(segments):
            raise ValueError("the columns of its segments are not equally long")
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
    found = StoredFile(
        **{
            **file,
            "restarts": restarts,
            "problems": [_parse_problem(one) for one in file["problems"]],
        }
    )
    found.size, found.events = int(found.size), int(found.events)
    numbers = [found.size, found.events, *(items for _, items, _ in restarts)]
    numbers += [count for _, _, counts in restarts for _, count in counts]
    if not all(0 <= number < 1 << 62 for number in numbers):
        raise ValueError("a count is out of range")
    if not all(-(1 << 63) <= step < 1 << 63 for step, _, _ in restarts):
        raise ValueError("a step is out of range")
    found.first_wall_time = float(found.first_wall_time)
    found.last_wall_time = float(found.last_wall_time)
    return found


def _parse_problem(one: list[Any]) -> StoredProblem:
    code, message, path, offset = one
    return str(code), str(message), str(path), None if offset is None else int(offset)


def _check(index: Index) -> None:
    """Refuse an index whose numbers lead nowhere. Raises ValueError."""
    segments = index.segments
    names = [run.name for run in index.runs]
    if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        raise ValueError("a run has no name of its own")
    for run in index.runs:
        run.name.encode()
        # Each is turned into bytes later, where an error would come as a surprise.
        for text in (run.folder, run.config or "", *(file.name for file in run.files)):
            raw_bytes(text)
        if not isinstance(run.tags, int) or not 0 <= run.tags < len(index.tags):
            raise ValueError(f"run {run.name!r} has no tags")
        if not isinstance(run.last_sign, float | int | None):
            raise ValueError("a time is no number")
    for tags in index.tags:
        if not len(tags.names) == len(tags.metadata) == len(tags.plugins):
            raise ValueError("the tags of a run are not told whole")
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
        raise ValueError("a segment lies in no row group")
    if np.any(np.diff(segments["group"]) < 0) or segments["count"].min() < 0:
        raise ValueError("the segments are not in order")
    if segments["run"].min() < 0 or segments["run"].max() >= len(index.runs):
        raise ValueError("a segment belongs to no run")
    if segments["file"].min() < 0 or np.any(segments["file"] >= files[segments["run"]]):
        raise ValueError("a segment belongs to no file")
    if segments["tag"].min() < -1 or np.any(segments["tag"] >= counts[segments["run"]]):
        raise ValueError("a segment belongs to no tag")
    scalar = np.array(index.is_scalar, np.bool_)[segments["group"]]
    if np.any(segments["tag"][scalar] < 0):
        raise ValueError("scalars without a tag")


def store_problem(problem: Problem, below: str) -> StoredProblem:
    """A problem with its path as seen from the logdir."""
    file = problem.file.removeprefix(below)
    return str(problem.code), problem.message, file, problem.offset


def raw_text(raw: bytes) -> str:
    """Bytes as text that JSON can hold and `raw_bytes` takes back."""
    return raw.decode("utf-8", "surrogateescape")


def raw_bytes(text: str) -> bytes:
    """The bytes that `raw_text` made text of."""
    return text.encode("utf-8", "surrogateescape")


def _pack(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unpack(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _deflate(data: bytes) -> bytes:
    return zlib.compress(data, 6)
