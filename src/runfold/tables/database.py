"""SQL over the tables of a logdir: DuckDB, shut off from everything else.

A query is answered in a database of its own, in memory, that can reach no file,
no network, no extension and no variable of the program, and whose settings
cannot be changed. It may read, nothing more, for as long and with as much memory
as the caller allows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runfold.errors import BadQuery, QueryStopped, RunfoldError
from runfold.tables.complaints import explain
from runfold.tables.pushdown import Need, find_needs
from runfold.tables.relations import Source, build_table
from runfold.tables.schema import TABLES, schema_of
from runfold.text import escape, human_bytes, human_duration

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from runfold.tables.pushdown import Parameters
    from runfold.tables.table import Table

_SHUT = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    # What does not fit into memory ends; it is not written to the disk.
    "temp_directory": "",
    "max_temp_directory_size": "0KiB",
    # Tables are planned without rows. With it, DuckDB would plan for nothing to come.
    "disabled_optimizers": "statistics_propagation",
}
# What a query is planned over.
EMPTY_TABLES = "".join(
    f"CREATE TABLE {name} ({', '.join(map(' '.join, columns.items()))});"
    for name, columns in TABLES.items()
)
# By the names of Arrow's types; a float has no room for every integer of 64 bits.
_NULLABLE = {
    "bool": "boolean",
    **{f"int{size}": f"Int{size}" for size in (8, 16, 32, 64)},
    **{f"uint{size}": f"UInt{size}" for size in (8, 16, 32, 64)},
}
_BATCH = 100_000
# How often a query that was told to stop is told again: it may not have begun yet.
_AGAIN = 0.05


def run_query(
    source: Source,
    query: str,
    parameters: Parameters = None,
    *,
    limit_seconds: float | None = None,
    limit_memory: int | None = None,
) -> pa.Table:
    """The rows that a query asks for, as an Arrow table whose columns have different names.

    Raises BadQuery, with the place, for one that is wrong or wants more than to
    read, and QueryStopped at a limit. A log that cannot be read raises as it does
    elsewhere.
    """
    if not isinstance(query, str):
        raise TypeError(f"A query is a str, not {type(query).__name__}.")
    with _connect(limit_memory) as connection, _time_limit(connection, limit_seconds) as is_over:
        lazy: dict[str, LazyTable] = {}
        try:
            _check_statement(connection, query)
            lazy = _offer_tables(connection, source, query, parameters)
            return _fetch(connection, query, parameters, limit_memory)
        except RunfoldError:
            raise
        except Exception as error:
            for table in lazy.values():
                if table.error is not None:
                    raise table.error from None
            if is_over():
                assert limit_seconds is not None
                raise QueryStopped(
                    f"The query was stopped after {human_duration(limit_seconds)}, which is its"
                    " limit. Ask for less, or allow more with limit_seconds."
                ) from None
            complaint = explain(error, query)
            if complaint is None:
                raise
            raise complaint from None


def to_table(rows: pa.Table) -> Table:
    """The same rows as a DataFrame; integers stay integers beside missing ones."""
    import pandas as pd

    from runfold.tables.table import Table

    frame = rows.to_pandas(maps_as_pydicts="lossy")
    for number, column in enumerate(rows.columns):
        dtype = _NULLABLE.get(str(column.type))
        if column.null_count and dtype:
            exact = pd.api.types.pandas_dtype(dtype)
            frame.isetitem(number, column.to_pandas(types_mapper={column.type: exact}.get))
    return Table(frame)


class LazyTable:
    """A table that DuckDB knows by its columns, and whose rows are made when it scans them."""

    def __init__(self, name: str, source: Source, need: Need) -> None:
        self._name = name
        self._source = source
        self._need = need
        self._rows: pa.Table | None = None
        self.error: Exception | None = None

    def __arrow_c_schema__(self) -> object:
        return schema_of(self._name).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        try:
            # A table that is joined with itself is scanned twice.
            if self._rows is None:
                self._rows = build_table(self._name, self._source, self._need)
            return self._rows.__arrow_c_stream__(requested_schema)
        except Exception as error:
            self.error = error  # DuckDB would hand on no more than its text
            raise


@contextmanager
def _connect(limit_memory: int | None) -> Iterator[DuckDBPyConnection]:
    """A database of one's own that nothing leads out of."""
    import duckdb

    config: dict[str, Any] = dict(_SHUT)
    if limit_memory is not None:
        if limit_memory <= 0:
            raise ValueError(f"limit_memory is a number of bytes, not {limit_memory}.")
        config["memory_limit"] = f"{limit_memory}B"
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()


@contextmanager
def _time_limit(connection: DuckDBPyConnection, seconds: float | None) -> Iterator[Any]:
    """Stop what the connection does when the time is over; gives what says whether it is."""
    done, over = threading.Event(), threading.Event()

    def watch() -> None:
        if not done.wait(seconds):
            over.set()
            while not done.wait(_AGAIN):
                connection.interrupt()

    if seconds is None:
        yield over.is_set
        return
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield over.is_set
    finally:
        done.set()
        watcher.join()


def _check_statement(connection: DuckDBPyConnection, query: str) -> None:
    """Refuse all but one statement that reads."""
    import duckdb

    statements = connection.extract_statements(query)
    if len(statements) != 1:
        count = "none" if not statements else f"{len(statements)}"
        raise BadQuery(f"One statement is answered at a time, and this is {count}.")
    kind = statements[0].type
    # MULTI is what a PIVOT comes to: it looks for the columns first.
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI):
        raise BadQuery(
            f"{escape(kind.name)} is not answered: a query only reads, as SELECT, FROM, WITH,"
            " VALUES, PIVOT, DESCRIBE, SUMMARIZE and SHOW TABLES do."
        )


def _offer_tables(
    connection: DuckDBPyConnection, source: Source, query: str, parameters: Parameters
) -> dict[str, LazyTable]:
    """Make all tables known to the database, none of them read yet."""
    connection.begin()
    try:
        connection.execute(EMPTY_TABLES)
        needs = find_needs(connection, query, parameters)
    finally:
        connection.rollback()  # they made way for the plan alone
    tables = {name: LazyTable(name, source, needs.get(name, Need())) for name in TABLES}
    for name, table in tables.items():
        connection.register(name, table)
    return tables


def _fetch(
    connection: DuckDBPyConnection, query: str, parameters: Parameters, limit: int | None
) -> pa.Table:
    """Run the query; what comes of it counts as memory too, which DuckDB does not."""
    import duckdb
    import pyarrow as pa

    try:
        answer = connection.sql(query, params=parameters)
    except duckdb.Error:
        connection.execute(query, parameters)  # complains of the same, and says where
        raise
    if answer is None:
        raise BadQuery("The statement gives no rows.")
    reader = answer.to_arrow_reader(_BATCH)
    batches, size = [], 0
    for batch in reader:
        size += batch.nbytes
        if limit is not None and size > limit:
            raise QueryStopped(
                f"The query was stopped: its rows take more than {human_bytes(limit)}, which is"
                " its limit. Ask for less, or allow more with limit_memory."
            )
        batches.append(batch)
    rows = pa.Table.from_batches(batches, reader.schema)
    return _narrow(rows.rename_columns(_distinct(rows.column_names)))


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
