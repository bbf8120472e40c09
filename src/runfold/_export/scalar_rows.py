"""The table of all scalars, read in parts within the memory limit."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from runfold._export.cell_text import Column
from runfold._export.long_columns import Repeated, Requested
from runfold._export.table_file import write_columns
from runfold._logdir.assemble import series_size
from runfold._logdir.run_batches import COPIES, read_series, split_runs
from runfold._select import Names, select
from runfold._tables.arrow.arrow_table import OURS, to_arrow
from runfold._tables.frames import scalar_frame
from runfold._tables.frames.column_values import categories

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from runfold._export.cell_text import Kind
    from runfold._export.table_file import Format
    from runfold._export.table_format import Options
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.frame import Table

    Numbers = dict[str, NDArray[Any]]

_KINDS: dict[str, Kind] = {"step": "int", "wall_time": "float", "value": "float"}
_BLOCK = 65_536
# Bytes of a row in a table of numbers, its indices of names, and their copies.
_ROW = 64


class ScalarRows:
    """The rows of `runs.scalars()`, in the same order; few of them are in memory at a time."""

    def __init__(self, logs: Sequence[RunLog], tags: Names = None) -> None:
        """Select the rows. Raises UnknownTag if no run has one of the tags."""
        names = list(dict.fromkeys(tag for log in logs for tag in log.scalars))
        self._selected = frozenset(select(names, tags, where="of kind scalar"))
        self._logs = logs
        self._cache = next(log.cache for log in logs if log.cache is not None)
        series = [(log, tag) for log in logs for tag in log.scalars if tag in self._selected]
        self._names = {
            "run": [log.name for log, _ in series],
            "tag": [tag for _, tag in series],
        }
        self._counts = [series_size(log.scalars, tag)[0] for log, tag in series]
        self._ends = list(accumulate(self._counts))
        # The rows that were read last, because the columns are read one after the other.
        self._window: tuple[int, Numbers] = 0, {}
        self._rest: Iterator[Numbers] = iter(())
        self._left: list[Numbers] = []
        self._next = -1
        # The number of rows that are written together.
        self._part = _BLOCK

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def streams(self, form: Format) -> bool:
        """Return whether a format is written in parts."""
        kind = form.table_format
        return (kind.is_text and not kind.is_rounded) or kind.rows is not None

    def frame(self) -> Table:
        """Return the whole table, for a format that is not written in parts."""
        self._cache.check(2 * _ROW * len(self), "A table in this format")
        return scalar_frame.long_frame(read_series(self._logs, self._selected.__contains__))

    def write(self, form: Format, options: Options, file: BinaryIO) -> None:
        """Write the rows to an open file, as `write_arrow_table` writes the whole table."""
        if form.table_format.write_arrow and form.table_format.rows:
            self._part = form.table_format.rows
            form.table_format.write_arrow(self._tables(self._part), file)
            return
        schema = self._schema()
        columns = [
            Column(name, "text", Repeated(self._texts(schema, name), self._counts))
            for name in self._names
        ]
        columns += [self._column(name, kind) for name, kind in _KINDS.items()]
        write_columns(columns, form, options, file)

    def _column(self, name: str, kind: Kind) -> Column:
        return Column(
            name, kind, Requested(lambda start, stop: self.read(start, stop)[name], len(self))
        )

    def _texts(self, schema: pa.Table, name: str) -> list[str]:
        texts = schema.column(name).chunk(0).dictionary.to_pylist()
        return list(map(texts.__getitem__, self._numbers(name)))

    def _numbers(self, name: str) -> list[int]:
        """Return the index of each series' name among the distinct names."""
        names = self._names[name]
        order = {own: number for number, own in enumerate(dict.fromkeys(names))}
        return list(map(order.__getitem__, names))

    def _schema(self) -> pa.Table:
        """Return the Arrow table of no rows, with the metadata of the whole table."""
        empty = scalar_frame.long_frame([])
        for name, names in self._names.items():
            empty[name] = categories(names, [0] * len(names))
        table, _ = to_arrow(empty)
        metadata = dict(table.schema.metadata)
        ours = json.loads(metadata[OURS])
        ours["pandas"]["axes"]["range"] = [0, len(self), 1]
        return table.replace_schema_metadata({**metadata, OURS: json.dumps(ours).encode()})

    def _tables(self, most: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        empty = self._schema()
        numbers = {name: np.array(self._numbers(name)) for name in self._names}
        for start in range(0, len(self) or 1, most):
            stop = min(start + most, len(self))
            rows = self.read(start, stop)
            series = np.searchsorted(self._ends, np.arange(start, stop), side="right")
            arrays = []
            for field, column in zip(empty.schema, empty.columns, strict=True):
                if field.name in numbers:
                    index = column.type.index_type
                    codes = pa.array(numbers[field.name][series].astype(index.to_pandas_dtype()))
                    names = column.chunk(0).dictionary
                    arrays.append(pa.DictionaryArray.from_arrays(codes, names))
                else:
                    arrays.append(pa.array(rows[field.name], from_pandas=False))
            yield pa.Table.from_arrays(arrays, schema=empty.schema)

    def read(self, start: int, stop: int) -> Numbers:
        """Return the steps, wall times and values of some rows, fastest in order."""
        if self._window[0] == start and self._window[1]:
            return self._window[1]
        if start != self._next:
            self._rest, self._left, self._next = self._read_all(), [], 0
            self._skip(start)
        pieces = self._skip(stop)
        rows = {
            name: np.concatenate([np.empty(0, dtype), *(piece[name] for piece in pieces)])
            for name, dtype in zip(_KINDS, (np.int64, np.float64, np.float64), strict=True)
        }
        self._window = start, rows
        return rows

    def _skip(self, stop: int) -> list[Numbers]:
        """Return the rows from the next one to `stop`, and continue after them."""
        pieces = []
        while self._next < stop:
            if not self._left:
                self._left = [next(self._rest)]
            piece = self._left.pop()
            count = len(piece["step"])
            taken = min(count, stop - self._next)
            pieces.append({name: column[:taken] for name, column in piece.items()})
            if taken < count:
                self._left = [{name: column[taken:] for name, column in piece.items()}]
            self._next += taken
        return pieces

    def _read_all(self) -> Iterator[Numbers]:
        reserve = _ROW * min(self._part, len(self))
        for batch in split_runs(self._logs, self._selected.__contains__, COPIES, reserve):
            for log, tags in batch:
                for tag in tags:
                    series = log.scalars[tag]
                    yield dict(
                        zip(_KINDS, (series.steps, series.wall_times, series.values), strict=True)
                    )
