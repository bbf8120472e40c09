"""An open pack: its index is read at once, its row groups on request."""

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

# An item's fields, one per column of `ITEM_COLUMNS`, except its position in the event.
_ITEM_FIELDS = ["step", "wall_time", "record", "form", "plugin", "length"]

# A row group ends when it holds 8 MB of values. Its last value can be as long as the longest
# record.
_MOST_COLUMN = MAX_RECORD + (32 << 20)
_MOST_BYTES = 2 * MAX_RECORD

# Up to this many bytes of payloads, about 16 row groups, stay in memory, because tables
# read them in order.
_HELD_BYTES = 128 << 20

# How many times larger than the file the index of a pack can be in memory. Packs of
# tiny runs contain little but the index, and reach 80.
_MOST_UNFOLDED = 256
_LEAST_UNFOLDED = 64 << 20


class Pack:
    """A pack. Raises BadPack for an invalid file, at once or when a row is read."""

    def __init__(self, path: str) -> None:
        self.path = path
        # Two threads can call methods at once, but only one may read a row group.
        self._lock = threading.RLock()
        self._open()
        self._points: dict[int, Points] = {}
        self._payloads: OrderedDict[int, pa.Array] = OrderedDict()

    def _open(self) -> None:
        import pyarrow.parquet as pq

        self.mark = mark_of(self.path)
        with open(self.path, "rb"), self._convert_errors():  # raises the system's own error
            self._metadata = pq.read_metadata(self.path)
        stored = (self._metadata.metadata or {}).get(KEY)
        if stored is None:
            raise BadPack(
                self.path,
                "a Parquet file, but not written by `runfold pack`",
                "Runfold opens logdirs and packs.",
            )
        rows = self._metadata.num_rows
        self.size = os.path.getsize(self.path)
        most = _LEAST_UNFOLDED + _MOST_UNFOLDED * self.size
        self.index = read_index(stored, self.path, rows, most)
        with self._convert_errors():
            columns = self._metadata.schema.to_arrow_schema()
        if not columns.equals(schema()):
            raise BadPack(self.path, "it does not have the columns of a pack")
        segments = self.index.segments
        counts = np.zeros(self._metadata.num_row_groups, np.int64)
        if len(self.index.is_scalar) == len(counts):
            np.add.at(counts, segments["group"], segments["count"])
        groups = [self._metadata.row_group(group) for group in range(len(counts))]
        rows = [group.num_rows for group in groups]
        if any(
            group.num_rows > MOST_ROWS or group.total_byte_size > _MOST_BYTES for group in groups
        ):
            raise BadPack(self.path, "a row group is larger than a pack can contain")
        if len(self.index.is_scalar) != len(counts) or counts.tolist() != rows:
            raise BadPack(self.path, "its index does not match its rows")
        # The first row of each segment, counted within its group.
        before = np.cumsum(segments["count"]) - segments["count"]
        starts = np.cumsum(counts) - counts
        self.starts = before - starts[segments["group"]]
        self.rows_size = rows_size([self.index])

    @cached_property
    def series(self) -> dict[tuple[int, int], NDArray[np.int32]]:
        """The segment numbers of scalars by run and file, in tag order."""
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
        """Return the steps, wall times and values of a segment, read-only."""
        group = int(self.index.segments["group"][segment])
        with self._lock:
            columns = self._points.get(group)
            if columns is None:
                columns = self._points[group] = self.read_points(group)
        start = int(self.starts[segment])
        rows = slice(start, start + int(self.index.segments["count"][segment]))
        return columns[0][rows], columns[1][rows], columns[2][rows]

    def read_points(self, group: int) -> Points:
        """Return the steps, wall times and values of a row group, which are not kept."""
        table = self.read(group, POINT_COLUMNS)
        with self._convert_errors():
            steps, wall_times, values = map(_as_array, table.columns)
        types = [str(column.dtype) for column in (steps, wall_times, values)]
        if types != ["int64", "float64", "float64"]:
            raise BadPack(self.path, "a column of scalars has the wrong type")
        return steps, wall_times, values

    @cached_property
    def items(self) -> dict[tuple[int, int], NDArray[np.void]]:
        """The non-scalar values by run and file, in file order.

        The `start` of an item is its row: the number of the row group times 2**32, plus the
        number of the row in the group.
        """
        segments = self.index.segments
        pieces_by_file: dict[tuple[int, int], list[tuple[NDArray[np.void], NDArray[np.int32]]]] = {}
        for group, is_scalar in enumerate(self.index.is_scalar):
            if is_scalar:
                continue
            rows, positions = self._read_items(group)
            first, last = np.searchsorted(segments["group"], [group, group + 1]).tolist()
            for number in range(first, last):
                _, run, file, tag, count = segments[number].tolist()
                part = slice(int(self.starts[number]), int(self.starts[number]) + count)
                items = rows[part]
                items["tag"] = tag
                plugins = len(self.index.tags[self.index.runs[run].tags].plugin_names)
                items["plugin"][(items["plugin"] < 0) | (items["plugin"] >= plugins)] = 0
                kept = items["form"] >= 0
                pieces_by_file.setdefault((run, file), []).append(
                    (items[kept], positions[part][kept])
                )
        return {key: _in_order(pieces) for key, pieces in pieces_by_file.items()}

    def _read_items(self, group: int) -> tuple[NDArray[np.void], NDArray[np.int32]]:
        columns = self.columns(group, ITEM_COLUMNS)
        rows = np.zeros(len(columns["step"]), ITEM)
        with self._convert_errors():
            for name, column in zip(_ITEM_FIELDS, ITEM_COLUMNS, strict=False):
                rows[name] = columns[column]
            rows["start"] = (group << 32) + np.arange(len(rows))
            rows["length"] = np.maximum(rows["length"], 0)
            rows["form"][rows["form"] > max(Form)] = 0
            return rows, columns["place"].astype(np.int32)

    @cached_property
    def tags(self) -> list[PackedTags]:
        """The tags of the runs, by the number stored in each run."""
        return [PackedTags(stored) for stored in self.index.tags]

    def payload(self, row: int) -> bytes:
        """Return the stored bytes of one row, given the `start` of its item."""
        group, at = row >> 32, row & 0xFFFFFFFF
        with self._lock:
            column = self._payloads.get(group)
            if column is None:
                while sum(column.nbytes for column in self._payloads.values()) > _HELD_BYTES:
                    self._payloads.popitem(last=False)
                column = self.read(group, ["payload"])["payload"]
                self._payloads[group] = column
            else:
                self._payloads.move_to_end(group)
        data: bytes | None = column[at].as_py()
        return data or b""

    def columns(self, group: int, names: list[str]) -> dict[str, NDArray[Any]]:
        """Return columns of a row group as arrays, with -1 for missing values."""
        table = self.read(group, names)
        with self._convert_errors():
            return {
                name: _as_names(table[name]) if name == "kind" else _as_array(_filled(table[name]))
                for name in names
            }

    def read(self, group: int, columns: list[str]) -> Any:
        """Return the given columns of a row group.

        Raises BadPack, before decoding, for columns that decode to more than a pack
        can contain, and FileChanged if another pack has replaced this one.
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
            # Open the file each time: a folder can contain more packs than a process can keep open.
            with (
                BoundedFile(self.path, _MOST_COLUMN, columns == ["payload"]) as source,
                self._convert_errors(),
                pq.ParquetFile(source, **options) as file,
            ):
                if mark_of(self.path) != self.mark:
                    raise FileChanged(self.path)
                # Memory is allocated per batch, not for as many values as the footer claims.
                batches = file.iter_batches(max(rows, 1), [group], columns, use_threads=False)
                table = pa.Table.from_batches(batches, pa.schema(map(schema().field, columns)))
                if len(table) != rows:
                    raise ValueError("a column and its row group differ in length")
                return table
        except FileNotFoundError:
            raise FileChanged(self.path) from None
        except TooLarge as error:
            raise BadPack(
                self.path,
                f"row group {group} expands to {human_bytes(error.size)}, but the maximum "
                f"in a pack is {human_bytes(_MOST_COLUMN)}",
                "It was not decoded. The file is damaged, or was built to exhaust memory. "
                "Pack the logs again.",
            ) from None

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Convert exceptions from the Parquet reader to BadPack."""
        import pyarrow as pa

        try:
            yield
        except MemoryError:  # also raised by Arrow: the file may be intact
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
            raise BadPack(
                self.path,
                f"cannot be read as Parquet ({reason})",
                "Check that the copy is complete.",
            ) from None


def check_rows(packs: Collection[Pack]) -> None:
    """Raise BadPack if the given packs would take far more memory than their file sizes suggest.

    Every row is in memory once all runs have been read, and a few bytes can
    represent a million rows. The packs are measured together, because a folder can
    contain any number of them.
    """
    total = sum(pack.rows_size for pack in packs)
    most = most_rows_size(sum(pack.size for pack in packs))
    if total <= most:
        return
    largest = max(packs, key=lambda pack: pack.rows_size)
    files = "its file" if len(packs) == 1 else f"{len(packs)} files"
    raise BadPack(
        largest.path,
        f"the rows of {files} expand to {human_bytes(total)}, and Runfold decodes at most "
        f"{human_bytes(most)} for packs of this size",
        "No row was decoded. The file was probably built to exhaust memory. If it is yours, "
        "pack fewer runs into each file, and open fewer files at once.",
    )


def mark_of(path: str) -> tuple[int, ...]:
    """Return values that identify the file at a path and change if it is replaced."""
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _in_order(pieces: list[tuple[NDArray[np.void], NDArray[np.int32]]]) -> NDArray[np.void]:
    """Return items in file order; the items of one event are ordered by their positions."""
    items = np.concatenate([rows for rows, _ in pieces])
    items = items[
        np.lexsort((np.concatenate([positions for _, positions in pieces]), items["record"]))
    ]
    items.flags.writeable = False
    return items


def _filled(column: Any) -> Any:
    return column.fill_null(-1) if column.null_count else column


def _as_names(column: Any) -> NDArray[Any]:
    """Return a column of names as text, each name stored once; missing names are empty."""
    whole = column.combine_chunks()
    names = np.array([*whole.dictionary.to_pylist(), ""], object)
    array: NDArray[Any] = names[whole.indices.fill_null(-1).to_numpy()]
    return array


def _as_array(column: Any) -> NDArray[Any]:
    """Return a column as a read-only array, without a copy if it is in one piece."""
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    array: NDArray[Any] = whole.to_numpy(zero_copy_only=False)
    array.flags.writeable = False
    return array
