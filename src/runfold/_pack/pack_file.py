"""One pack, opened: its index at once, its row groups when they are asked for."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._core.decoder import ITEM, MAX_RECORD
from runfold._core.event import Form
from runfold._humanize import human_bytes
from runfold._pack.memory_budget import TooLarge, most_rows_size, rows_size
from runfold._pack.pack_index import read_index
from runfold._pack.pack_layout import ITEM_COLUMNS, KEY, MOST_ROWS, POINT_COLUMNS, schema
from runfold._pack.packed_tags import PackedTags
from runfold._pack.page_sizes import BoundedFile
from runfold.errors import BadPack, FileChanged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from runfold._core.scalar_columns import Points

# Where the columns of `ITEM_COLUMNS` go in an item, but for the place in its event.
_ITEM_FIELDS = ["step", "wall_time", "record", "form", "plugin", "length"]

# A row group holds 8 MB of values, or a single one as long as the longest record.
_MOST_COLUMN = MAX_RECORD + (32 << 20)
_MOST_BYTES = 2 * MAX_RECORD

# Payloads stay in memory up to this size, about 16 row groups: tables go through them in order.
_HELD_BYTES = 128 << 20

# How many times larger than the file the index of a pack may be in memory. Packs of tiny
# runs, which have little else, come to 80.
_MOST_UNFOLDED = 256
_LEAST_UNFOLDED = 64 << 20


class Pack:
    """A pack. Raises BadPack for a file that is none, at once or when a row is asked for."""

    def __init__(self, path: str) -> None:
        self.path = path
        # Two threads may ask at once; a row group is not to be read by both.
        self._lock = threading.RLock()
        self._open()
        self._points: dict[int, Points] = {}
        self._payloads: OrderedDict[int, pa.Array] = OrderedDict()

    def _open(self) -> None:
        import pyarrow.parquet as pq

        self.mark = mark_of(self.path)
        with open(self.path, "rb"), self._blamed():  # for the system's own message
            self._metadata = pq.read_metadata(self.path)
        stored = (self._metadata.metadata or {}).get(KEY)
        if stored is None:
            raise BadPack(
                self.path,
                "a Parquet file, but none that `runfold pack` wrote",
                "Runfold opens logdirs and packs.",
            )
        rows = self._metadata.num_rows
        self.size = os.path.getsize(self.path)
        most = _LEAST_UNFOLDED + _MOST_UNFOLDED * self.size
        self.index = read_index(stored, self.path, rows, most)
        with self._blamed():
            columns = self._metadata.schema.to_arrow_schema()
        if not columns.equals(schema()):
            raise BadPack(self.path, "its columns are not those of a pack")
        segments = self.index.segments
        counts = np.zeros(self._metadata.num_row_groups, np.int64)
        if len(self.index.is_scalar) == len(counts):
            np.add.at(counts, segments["group"], segments["count"])
        groups = [self._metadata.row_group(group) for group in range(len(counts))]
        rows = [group.num_rows for group in groups]
        if any(
            group.num_rows > MOST_ROWS or group.total_byte_size > _MOST_BYTES for group in groups
        ):
            raise BadPack(self.path, "a row group of it is larger than any of a pack")
        if len(self.index.is_scalar) != len(counts) or counts.tolist() != rows:
            raise BadPack(self.path, "its index and its rows disagree")
        # The first row of each segment in its group.
        before = np.cumsum(segments["count"]) - segments["count"]
        starts = np.cumsum(counts) - counts
        self.starts = before - starts[segments["group"]]
        self.rows_size = rows_size([self.index])

    @cached_property
    def series(self) -> dict[tuple[int, int], NDArray[np.int32]]:
        """By run and file the numbers of the segments with scalars, in the order of their tags."""
        segments = self.index.segments
        is_scalar = np.array(self.index.is_scalar, np.bool_)[segments["group"]]
        numbers = np.flatnonzero(is_scalar & (segments["count"] > 0)).astype(np.int32)
        if not len(numbers):
            return {}
        run, file, tag = (segments[name][numbers] for name in ("run", "file", "tag"))
        order = np.lexsort((tag, file, run))
        numbers, run, file = numbers[order], run[order], file[order]
        first = np.flatnonzero(np.diff(run, prepend=-1) | np.diff(file, prepend=-1))
        keys = zip(run[first].tolist(), file[first].tolist(), strict=True)
        return dict(zip(keys, np.split(numbers, first[1:]), strict=True))

    def points(self, segment: int) -> Points:
        """Steps, wall times and values of a segment, read-only."""
        group = int(self.index.segments["group"][segment])
        with self._lock:
            columns = self._points.get(group)
            if columns is None:
                columns = self._points[group] = self._read_points(group)
        start = int(self.starts[segment])
        rows = slice(start, start + int(self.index.segments["count"][segment]))
        return columns[0][rows], columns[1][rows], columns[2][rows]

    def _read_points(self, group: int) -> Points:
        table = self.read(group, POINT_COLUMNS)
        with self._blamed():
            steps, wall_times, values = map(_as_array, table.columns)
        types = [str(column.dtype) for column in (steps, wall_times, values)]
        if types != ["int64", "float64", "float64"]:
            raise BadPack(self.path, "a column of its scalars has the wrong type")
        return steps, wall_times, values

    @cached_property
    def items(self) -> dict[tuple[int, int], NDArray[np.void]]:
        """By run and file the values that are no scalars, in the order of the file.

        `start` of an item is its row: the row group times 2**32 and the row in it.
        """
        segments = self.index.segments
        found: dict[tuple[int, int], list[tuple[NDArray[np.void], NDArray[np.int32]]]] = {}
        for group, is_scalar in enumerate(self.index.is_scalar):
            if is_scalar:
                continue
            rows, places = self._read_items(group)
            first, last = np.searchsorted(segments["group"], [group, group + 1]).tolist()
            for number in range(first, last):
                _, run, file, tag, count = segments[number].tolist()
                part = slice(int(self.starts[number]), int(self.starts[number]) + count)
                one = rows[part]
                one["tag"] = tag
                plugins = len(self.index.tags[self.index.runs[run].tags].plugin_names)
                one["plugin"][(one["plugin"] < 0) | (one["plugin"] >= plugins)] = 0
                kept = one["form"] >= 0
                found.setdefault((run, file), []).append((one[kept], places[part][kept]))
        return {key: _in_order(pieces) for key, pieces in found.items()}

    def _read_items(self, group: int) -> tuple[NDArray[np.void], NDArray[np.int32]]:
        columns = self.columns(group, ITEM_COLUMNS)
        rows = np.zeros(len(columns["step"]), ITEM)
        with self._blamed():
            for name, column in zip(_ITEM_FIELDS, ITEM_COLUMNS, strict=False):
                rows[name] = columns[column]
            rows["start"] = (group << 32) + np.arange(len(rows))
            rows["length"] = np.maximum(rows["length"], 0)
            rows["form"][rows["form"] > max(Form)] = 0
            return rows, columns["place"].astype(np.int32)

    @cached_property
    def tags(self) -> list[PackedTags]:
        """The tags of the runs, by the number that a run has for its own."""
        return [PackedTags(stored) for stored in self.index.tags]

    def payload(self, row: int) -> bytes:
        """The stored bytes of one row, by `start` of its item."""
        group, at = row >> 32, row & 0xFFFFFFFF
        with self._lock:
            column = self._payloads.get(group)
            if column is None:
                while sum(one.nbytes for one in self._payloads.values()) > _HELD_BYTES:
                    self._payloads.popitem(last=False)
                column = self.read(group, ["payload"])["payload"]
                self._payloads[group] = column
            else:
                self._payloads.move_to_end(group)
        data: bytes | None = column[at].as_py()
        return data or b""

    def columns(self, group: int, names: list[str]) -> dict[str, NDArray[Any]]:
        """Columns of a row group as arrays; -1 stands for what is missing."""
        table = self.read(group, names)
        with self._blamed():
            return {
                name: _as_names(table[name]) if name == "kind" else _as_array(_filled(table[name]))
                for name in names
            }

    def read(self, group: int, columns: list[str]) -> Any:
        """Return some columns of a row group.

        Raises BadPack for columns that decode to more than a pack can hold, before
        they are decoded, and FileChanged if another pack has taken the place of this one.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = self._metadata.row_group(group).num_rows
        options = {
            "metadata": self._metadata,
            "page_checksum_verification": True,
            "read_dictionary": ["kind"],
        }
        try:
            # Opened again each time: a folder may hold more packs than a process may hold files.
            with (
                BoundedFile(self.path, _MOST_COLUMN, columns == ["payload"]) as source,
                self._blamed(),
                pq.ParquetFile(source, **options) as file,
            ):
                if mark_of(self.path) != self.mark:
                    raise FileChanged(self.path)
                # Room is made for a batch, not for as many values as the footer claims.
                batches = file.iter_batches(max(rows, 1), [group], columns, use_threads=False)
                table = pa.Table.from_batches(batches, pa.schema(map(schema().field, columns)))
                if len(table) != rows:
                    raise ValueError("a column is not as long as its row group")
                return table
        except FileNotFoundError:
            raise FileChanged(self.path) from None
        except TooLarge as error:
            raise BadPack(
                self.path,
                f"row group {group} unfolds to {human_bytes(error.size)}, and one of a pack never "
                f"has more than {human_bytes(_MOST_COLUMN)}",
                "It was not decoded. The file is damaged, or was made to fill the memory: "
                "pack the logs again.",
            ) from None

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Turn what the Parquet reader raises into BadPack."""
        import pyarrow as pa

        try:
            yield
        except MemoryError:  # also Arrow's: the file may be sound
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
            raise BadPack(
                self.path, f"cannot be read as Parquet ({reason})", "Is it whole?"
            ) from None


def check_rows(packs: Collection[Pack]) -> None:
    """Raise BadPack if the rows of some packs would take far more memory than their files.

    Every row is in memory once all runs have been read, and a few bytes can stand for a
    million rows. The packs are measured together: a folder can hold any number of them.
    """
    total = sum(pack.rows_size for pack in packs)
    most = most_rows_size(sum(pack.size for pack in packs))
    if total <= most:
        return
    largest = max(packs, key=lambda pack: pack.rows_size)
    files = "its file" if len(packs) == 1 else f"{len(packs)} files"
    raise BadPack(
        largest.path,
        f"the rows of {files} unfold to {human_bytes(total)}, and Runfold decodes at most "
        f"{human_bytes(most)} for packs of this size",
        "No row was decoded. The file was probably made to fill the memory. If it is yours, "
        "pack fewer runs into each file, and open fewer files at once.",
    )


def mark_of(path: str) -> tuple[int, ...]:
    """What tells the file at a path from one that has taken its place."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _in_order(pieces: list[tuple[NDArray[np.void], NDArray[np.int32]]]) -> NDArray[np.void]:
    """Items as they stood in their file; the place tells those of one event apart."""
    items = np.concatenate([rows for rows, _ in pieces])
    items = items[np.lexsort((np.concatenate([places for _, places in pieces]), items["record"]))]
    items.flags.writeable = False
    return items


def _filled(column: Any) -> Any:
    return column.fill_null(-1) if column.null_count else column


def _as_names(column: Any) -> NDArray[Any]:
    """A column of names as text, each name held once; an empty one stands for what is missing."""
    whole = column.combine_chunks()
    names = np.array([*whole.dictionary.to_pylist(), ""], object)
    array: NDArray[Any] = names[whole.indices.fill_null(-1).to_numpy()]
    return array


def _as_array(column: Any) -> NDArray[Any]:
    """A column as an array that cannot be written; not copied where it is in one piece."""
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    array: NDArray[Any] = whole.to_numpy(zero_copy_only=False)
    array.flags.writeable = False
    return array
