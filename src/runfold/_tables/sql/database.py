"""SQL over the tables of a logdir, as much of them as a query needs."""

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

# By the names of Arrow's types; a float has no room for every integer of 64 bits.
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
    """The rows that a query asks for, as an Arrow table whose columns have different names.

    With a limit the query is run in a process of its own, which is killed at it.
    Raises BadQuery, with the place, for one that is wrong or wants more than to
    read, and QueryStopped at a limit. A log that cannot be read raises as it does
    elsewhere.
    """
    import pyarrow as pa

    if not isinstance(query, str):
        raise TypeError(f"A query is a str, not {type(query).__name__}.")
    if not isinstance(parameters, Mapping | Sequence | None) or isinstance(parameters, str | bytes):
        shown = escape(repr(parameters))
        raise TypeError(f"The parameters are a list or, by their names, a dict, not {shown}.")
    for name, limit in (("limit_seconds", limit_seconds), ("limit_memory", limit_memory)):
        if limit is not None and not limit > 0:
            raise ValueError(f"{name} is a number above 0, not {limit}.")
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
    """Return the first rows of the answer to a query, and how many there are in all.

    The query runs in a process of the workers. Each table is made while `hold` lasts.
    Raises as `run_query`, and QueryStopped where the rows take more than `most_bytes`.
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

    def tell_plans(bound: Any, optimised: Any) -> None:
        needs.update(find_needs(bound, optimised, parameters))

    def fetch(name: str) -> Iterator[pa.Table]:
        with hold():
            yield from build_table(name, source, needs.get(name, Need()))

    return Host(tell_plans, fetch)


def to_table(rows: pa.Table) -> Table:
    """The same rows as a DataFrame; integers stay integers beside missing ones."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    try:
        frame = rows.to_pandas(maps_as_pydicts="lossy")
    except (OverflowError, ValueError):  # days outside of Python's years 1 to 9999
        frame = rows.to_pandas(maps_as_pydicts="lossy", date_as_object=False)
    for number, column in enumerate(rows.columns):
        dtype = _NULLABLE.get(str(column.type))
        if column.null_count and dtype:
            exact = pd.api.types.pandas_dtype(dtype)
            frame.isetitem(number, column.to_pandas(types_mapper={column.type: exact}.get))
    return Table(frame)


def _distinct(names: list[str]) -> list[str]:
    """Names with a number behind those that came before: `run`, `run_1`."""
    taken = set(names)
    seen: set[str] = set()
    made = []
    for name in names:
        new, number = name, 0
        while new in seen or (number and new in taken):
            number += 1
            new = f"{name}_{number}"
        seen.add(new)
        made.append(new)
    return made


def _narrow(rows: pa.Table) -> pa.Table:
    """Sums of integers are as wide as can be: here they are int64 again, where they fit."""
    import pyarrow as pa

    for number, field in enumerate(rows.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            try:
                column = rows.column(number).cast(pa.int64())
            except pa.ArrowInvalid:
                continue
            rows = rows.set_column(number, field.name, column)
    return rows
