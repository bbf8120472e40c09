"""SQL queries over the tables of a logdir. Only the data that a query needs is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from runfold._humanize import escape
from runfold._tables.sql.engine import Host, answer_query
from runfold._tables.sql.pushdown import Need, find_needs
from runfold._tables.sql.relations import Source, build_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from runfold._tables.frames.frame import Table
    from runfold._tables.sql.pushdown import Parameters
    from runfold._tables.sql.query_workers import QueryWorkers

# pandas types for nullable Arrow types; a float cannot represent every 64-bit integer.
_NULLABLE = {
    "bool": "boolean",
    **{f"int{size}": f"Int{size}" for size in (8, 16, 32, 64)},
    **{f"uint{size}": f"UInt{size}" for size in (8, 16, 32, 64)},
}


def run_query(
    source: Source,
    query: str,
    parameters: Parameters = None,
    *,
    limit_seconds: float | None = None,
    limit_memory: int | None = None,
) -> pa.Table:
    """Return the result of a query as an Arrow table with distinct column names.

    With a limit, the query runs in a separate process, which is killed at the limit. Raises
    BadQuery, with the location, for a query that is invalid or does more than read, and
    QueryStopped at a limit. A log that cannot be read raises the usual exceptions.
    """
    import pyarrow as pa

    if not isinstance(query, str):
        raise TypeError(f"Expected a query (str), got {type(query).__name__}.")
    if not isinstance(parameters, Mapping | Sequence | None) or isinstance(parameters, str | bytes):
        shown = escape(repr(parameters))
        raise TypeError(f"Expected a list of parameters, or a dict by name, got {shown}.")
    for name, limit in (("limit_seconds", limit_seconds), ("limit_memory", limit_memory)):
        if limit is not None and not limit > 0:
            raise ValueError(f"{name} must be positive, got {limit}.")
    host = _host(source, parameters, nullcontext)
    if limit_seconds is None and limit_memory is None:
        with answer_query(query, parameters, host) as reader:
            rows = pa.Table.from_batches(list(reader), reader.schema)
    else:
        from runfold._tables.sql.query_process import run_confined

        rows, _ = run_confined(query, parameters, host, limit_seconds, limit_memory)
    return _finish(rows)


def run_limited(
    source: Source,
    query: str,
    *,
    limit_seconds: float,
    limit_memory: int,
    most_rows: int,
    most_bytes: int,
    workers: QueryWorkers,
    hold: Callable[[], AbstractContextManager[object]],
) -> tuple[pa.Table, int]:
    """Return the first rows of a query's result, and the total number of rows.

    The query runs in a process from the pool. Each table is built inside a `hold()` block.
    Raises the same exceptions as `run_query`, and QueryStopped if the rows exceed `most_bytes`.
    """
    from runfold._tables.sql.query_process import run_confined

    host = _host(source, None, hold)
    sizes = {"most_rows": most_rows, "most_bytes": most_bytes}
    rows, count = run_confined(query, None, host, limit_seconds, limit_memory, workers, **sizes)
    return _finish(rows), count


def _finish(rows: pa.Table) -> pa.Table:
    return _narrow(rows.rename_columns(_distinct(rows.column_names)))


def _host(
    source: Source, parameters: Parameters, hold: Callable[[], AbstractContextManager[object]]
) -> Host:
    needs: dict[str, Need] = {}

    def receive_plans(bound: Any, optimized: Any) -> None:
        needs.update(find_needs(bound, optimized, parameters))

    def fetch(name: str) -> Iterator[pa.Table]:
        with hold():
            yield from build_table(name, source, needs.get(name, Need()))

    streamed = frozenset({"scalars"} if source.is_limited else ())
    return Host(receive_plans, fetch, streamed)


def to_table(rows: pa.Table) -> Table:
    """Return the rows as a DataFrame; columns of integers with missing values stay integers."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    try:
        frame = rows.to_pandas(maps_as_pydicts="lossy")
    except (OverflowError, ValueError):  # dates outside the years 1 to 9999
        frame = rows.to_pandas(maps_as_pydicts="lossy", date_as_object=False)
    for number, column in enumerate(rows.columns):
        dtype = _NULLABLE.get(str(column.type))
        if column.null_count and dtype:
            exact = pd.api.types.pandas_dtype(dtype)
            frame.isetitem(number, column.to_pandas(types_mapper={column.type: exact}.get))
    return Table(frame)


def _distinct(names: list[str]) -> list[str]:
    """Return distinct names, with a number added to repeated ones: `run`, `run_1`."""
    taken = set(names)
    seen: set[str] = set()
    distinct = []
    for name in names:
        new, number = name, 0
        while new in seen or (number and new in taken):
            number += 1
            new = f"{name}_{number}"
        seen.add(new)
        distinct.append(new)
    return distinct


def _narrow(rows: pa.Table) -> pa.Table:
    """Convert sums of integers, which DuckDB returns as decimals, to int64 if possible."""
    import pyarrow as pa

    for number, field in enumerate(rows.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            try:
                column = rows.column(number).cast(pa.int64())
            except pa.ArrowInvalid:
                continue
            rows = rows.set_column(number, field.name, column)
    return rows
