"""Joins the rows of many event files into one long or wide table, in tbparse's order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._tables.frames.column_values import objects
from runfold.compat.tbparse.value_columns import COLUMNS, EXTRAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from runfold.compat.tbparse.event_leaf import Piece

    Values = NDArray[Any] | list[Any]
    # The first row of each unsorted group, and the sorted order of the group's rows.
    Order = list[tuple[int, NDArray[np.intp]]]

# Other columns of a wide table: a tag with one of these names gets a suffix.
_RESERVED = ("step", "wall_time", "dir_name", "file_name")

# The minimum average number of rows per chunk of a column, because every operation on
# the column has a small cost per chunk.
_CHUNK = 512


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of one tag in one file."""

    folder: str
    file: str
    tag: str
    piece: Piece
    rows: slice

    def column(self, name: str) -> Values:
        return self.piece.columns[name][self.rows]


def make_frame(
    event_type: str, pieces: Sequence[Piece], extra_columns: set[str], pivot: bool
) -> pd.DataFrame:
    """Return the table of an event type; a table without rows also has no columns."""
    import pandas as pd

    parts = [part for piece in pieces for part in _split(piece)]
    if not parts:
        return pd.DataFrame()
    make = _make_wide if pivot else _make_long
    return pd.DataFrame(make(event_type, parts, extra_columns), copy=False)


def _split(piece: Piece) -> Iterator[_Part]:
    ends = np.cumsum(piece.lengths).tolist()
    for tag, start, end in zip(piece.tags, [0, *ends], ends, strict=False):
        if start < end:
            yield _Part(piece.folder, piece.file, tag, piece, slice(start, end))


def _names_of(event_type: str, extra_columns: set[str]) -> list[str]:
    return [name for name in COLUMNS[event_type] if name not in EXTRAS or name in extra_columns]


def _source_of(part: _Part, extra_columns: set[str]) -> tuple[str, ...]:
    """Return a part's folder and file, if requested. Rows are first sorted by these."""
    folder = (part.folder,) if "dir_name" in extra_columns else ()
    return (*folder, part.file) if "file_name" in extra_columns else folder


def _make_long(event_type: str, parts: Sequence[_Part], extra_columns: set[str]) -> dict[str, Any]:
    """Return the long table's columns, sorted by folder and file (if requested), tag and step."""
    groups: dict[tuple[str, ...], list[_Part]] = {}
    for part in parts:
        groups.setdefault((*_source_of(part, extra_columns), part.tag), []).append(part)
    keys = sorted(groups)
    ordered = [part for key in keys for part in groups[key]]
    lengths = [sum(part.rows.stop - part.rows.start for part in groups[key]) for key in keys]
    columns: dict[str, Any] = {}
    order: Order = []
    if event_type != "hparams":
        steps = np.asarray(_join([part.column("step") for part in ordered]))
        order = _order_within(steps, lengths)
        columns["step"] = _arrange(steps, order)
    columns["tag"] = _repeat([key[-1] for key in keys], lengths)
    for name in _names_of(event_type, extra_columns):
        columns[name] = _infer(_arrange(_join([part.column(name) for part in ordered]), order))
    if "wall_time" in extra_columns and event_type != "hparams":
        times = _join([part.column("wall_time") for part in ordered])
        columns["wall_time"] = _arrange(times, order)
    for name, values in zip(_source_names(extra_columns), zip(*keys, strict=True), strict=False):
        columns[name] = _repeat(values, lengths)
    return columns


def _source_names(extra_columns: set[str]) -> list[str]:
    return [name for name in ("dir_name", "file_name") if name in extra_columns]


def _order_within(steps: NDArray[np.int64], lengths: Sequence[int]) -> Order:
    """Return the order that sorts the rows of each group by step; the sort is stable."""
    order: Order = []
    start = 0
    for length in lengths:
        group = steps[start : start + length]
        if (group[1:] < group[:-1]).any():
            order.append((start, _argsort(group)))
        start += length
    return order


def _arrange(values: Values, order: Order) -> Values:
    """Sort the rows of a column in place."""
    for start, positions in order:
        rows = slice(start, start + len(positions))
        values[rows] = _take(values[rows], positions)
    return values


def _argsort(steps: NDArray[np.int64]) -> NDArray[np.intp]:
    low, high = int(steps.min()), int(steps.max())
    # NumPy sorts 16-bit integers many times faster.
    keys = (steps - low).astype(np.uint16) if high - low < 1 << 16 else steps
    return np.argsort(keys, kind="stable")


def _make_wide(event_type: str, parts: Sequence[_Part], extra_columns: set[str]) -> dict[str, Any]:
    """Return the columns of the wide table: one row per source and step; no steps for hparams."""
    has_steps = event_type != "hparams"
    lengths = [part.rows.stop - part.rows.start for part in parts]
    sources = [_source_of(part, extra_columns) for part in parts]
    distinct = sorted(set(sources))
    number_of = {source: number for number, source in enumerate(distinct)}
    numbers = np.repeat([number_of[source] for source in sources], lengths)
    steps = _join([part.column("step") for part in parts]) if has_steps else np.zeros_like(numbers)
    rows, row_numbers, row_steps = _number_rows(numbers, np.asarray(steps))
    ends = np.cumsum(lengths).tolist()
    has_gaps = len({part.tag for part in parts}) > 1
    cells: dict[tuple[str, str], list[tuple[NDArray[np.intp], Values]]] = {}
    for part, start, end in zip(parts, [0, *ends], ends, strict=False):
        for name in _names_of(event_type, extra_columns):
            values = part.column(name)
            if has_gaps and isinstance(values, list):
                values = _prepare_for_gaps(values)
            cells.setdefault((part.tag, name), []).append((rows[start:end], values))
    columns: dict[str, Any] = {"step": row_steps} if has_steps else {}
    titles = _make_titles(cells)
    for title in sorted(titles):
        rows_of, values_of = zip(*cells[titles[title]], strict=True)
        columns[title] = _fill(np.concatenate(rows_of), _join(values_of), len(row_steps))
    if has_steps and "wall_time" in extra_columns:
        times = _join([part.column("wall_time") for part in parts])
        columns["wall_time"] = _fill(rows, times, len(row_steps))
    for depth, name in enumerate(_source_names(extra_columns)):
        columns[name] = _as_text([source[depth] for source in distinct]).take(row_numbers)
    return columns


def _number_rows(
    numbers: NDArray[np.intp], steps: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
    """Return each point's row in a table by source and step, and each row's source and step."""
    low, span = int(steps.min()), int(steps.max()) - int(steps.min()) + 1
    if span <= 4 * len(steps):
        codes = steps - low
        distinct = low + np.arange(span)
    else:
        distinct, codes = np.unique(steps, return_inverse=True)
    keys = numbers * len(distinct) + codes
    size = (int(numbers.max()) + 1) * len(distinct)
    if size <= 16 * len(keys):
        # Marking the keys that occur is many times faster than sorting them.
        is_used = np.zeros(size, np.bool_)
        is_used[keys] = True
        used = np.flatnonzero(is_used)
        rows = (np.cumsum(is_used) - 1)[keys]
    else:
        used, rows = np.unique(keys, return_inverse=True)
    return rows, used // len(distinct), distinct[used % len(distinct)]


def _make_titles(keys: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the tag and column for each title of a wide table."""
    titles: dict[str, tuple[str, str]] = {}
    for tag, name in sorted(keys, key=lambda key: key[1] != "value"):
        title = tag if name == "value" else f"{tag}/{name}"
        while title in titles or title in _RESERVED:
            title += "/value"
        titles[title] = tag, name
    return titles


def _prepare_for_gaps(values: list[Any]) -> list[Any]:
    """Return the values for a column that has NaN in other rows: integers become floats."""
    if all(type(value) in (int, float) for value in values):
        return [float(value) for value in values]
    return values


def _fill(rows: NDArray[np.intp], values: Values, count: int) -> Any:
    """Return a column with each row's value: NaN if it has none, a list if it has several."""
    if isinstance(values, np.ndarray):
        is_number = ~np.isnan(values)
        if not is_number.all():
            rows, values = rows[is_number], values[is_number]
    else:
        kept = [position for position, value in enumerate(values) if not _is_null(value)]
        rows, values = rows[kept], [values[position] for position in kept]
    lengths = np.bincount(rows, minlength=count)
    if isinstance(values, np.ndarray) and lengths.max() <= 1:
        column = np.full(count, np.nan)
        column[rows] = values
        return column
    flat = _take(values, _argsort(rows)) if len(rows) else []
    if isinstance(flat, np.ndarray):
        if lengths.min() == lengths.max():  # the runs logged the same steps
            return objects(flat.reshape(count, -1).tolist())
        flat = flat.tolist()
    ends = np.cumsum(lengths).tolist()
    cells = [
        flat[start:end] if end - start > 1 else flat[start] if end > start else np.nan
        for start, end in pairwise([0, *ends])
    ]
    return _infer(cells)


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _join(pieces: Sequence[Values]) -> Values:
    if all(isinstance(piece, np.ndarray) for piece in pieces):
        return np.concatenate(pieces)
    return list(chain.from_iterable(pieces))


def _take(values: Values, order: NDArray[np.intp]) -> Values:
    if isinstance(values, np.ndarray):
        return values[order]
    return [values[position] for position in order.tolist()]


def _infer(values: Values) -> Values:
    """Return the values as a pandas column; arrays and lists become single objects."""
    if isinstance(values, list) and any(isinstance(v, np.ndarray | list) for v in values):
        return objects(values)
    return values


def _repeat(names: Sequence[str], lengths: Sequence[int]) -> Any:
    """Return a text column that repeats each name `lengths` times.

    Long repetitions become chunks of the column, as in tbparse. Equal repetitions, such
    as those of one tag in many runs, share their memory.
    """
    words = _as_text(names)
    if sum(lengths) < _CHUNK * len(lengths):
        return words.take(np.repeat(np.arange(len(names), dtype=np.int32), lengths))
    stretches = list(zip(names, lengths, strict=True))
    positions = {stretch: position for position, stretch in enumerate(stretches)}
    chunks = {
        stretch: words.take(np.full(stretch[1], position))
        for stretch, position in positions.items()
    }
    return words._concat_same_type([chunks[stretch] for stretch in stretches])


def _as_text(names: Sequence[str]) -> Any:
    """Return text in pandas' default type for text."""
    import pandas as pd

    return pd.Series(names).array
