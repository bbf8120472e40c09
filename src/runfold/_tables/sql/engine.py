"""DuckDB without access to anything but the tables passed to it.

Each query runs in a separate in-memory database without access to files, the network,
extensions or Python variables. Its settings are locked, and only read-only statements are
allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runfold._humanize import escape
from runfold._signals import hold_signals
from runfold._tables.sql.pushdown import make_plans
from runfold._tables.sql.schema import TABLES, schema_of
from runfold._tables.sql.sql_errors import explain
from runfold.errors import BadQuery, RunfoldError

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from runfold._tables.sql.pushdown import Parameters

_LOCKED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    # A query that does not fit into memory fails instead of spilling to disk.
    "temp_directory": "",
    "max_temp_directory_size": "0KiB",
    # A query can read settings, and these would reveal the user's home folder.
    "home_directory": "nowhere",
    "secret_directory": "nowhere",
    "extension_directory": "nowhere",
    # Queries are planned over empty tables, and this optimizer would assume that the tables stay
    # empty.
    "disabled_optimizers": "statistics_propagation",
}
# SQL that creates the empty tables over which queries are planned.
EMPTY_TABLES = "".join(
    f"CREATE TABLE {name} ({', '.join(map(' '.join, columns.items()))});"
    for name, columns in TABLES.items()
)
_BATCH = 100_000


@dataclass(frozen=True, slots=True)
class Host:
    """The provider of the tables: it receives the plans first, then requests for tables.

    Tables in `streamed` do not fit into memory, so each scan of such a table requests it again.
    """

    receive_plans: Callable[[Any, Any], None]
    fetch: Callable[[str], Iterator[pa.Table]]
    streamed: frozenset[str] = frozenset()


@contextmanager
def answer_query(
    query: str, parameters: Parameters, host: Host, limit_memory: int | None = None
) -> Iterator[pa.RecordBatchReader]:
    """Yield a reader for a query's result; the reader is valid inside the block.

    Raises BadQuery, with the location, for a query that is invalid or does more than read,
    QueryStopped if DuckDB exceeds its memory limit, and exceptions raised by the host.
    """
    with _connect(limit_memory) as connection:
        tables: dict[str, LazyTable] = {}
        try:
            _check_statement(connection, query)
            host.receive_plans(*_plan(connection, query))
            tables = {name: LazyTable(name, host.fetch, name in host.streamed) for name in TABLES}
            for name, table in tables.items():
                connection.register(name, table)
            yield _read(connection, query, parameters)
        except RunfoldError:
            raise
        except Exception as error:
            for table in tables.values():
                if table.error is not None:
                    raise table.error from None
            explained = explain(error)
            if explained is None:
                raise
            raise explained from None


class LazyTable:
    """A table with known columns whose rows are fetched when DuckDB scans it."""

    def __init__(
        self, name: str, fetch: Callable[[str], Iterator[pa.Table]], is_streamed: bool = False
    ) -> None:
        self._name = name
        self._fetch = fetch
        self._is_streamed = is_streamed
        self._rows: pa.Table | None = None
        self.error: Exception | None = None

    def __arrow_c_schema__(self) -> object:
        return schema_of(self._name).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        if self._is_streamed:
            reader = pa.RecordBatchReader.from_batches(schema_of(self._name), self._batches())
            return reader.__arrow_c_stream__(requested_schema)
        try:
            # Keep the rows: a table joined with itself is scanned twice.
            if self._rows is None:
                self._rows = pa.concat_tables(self._fetch(self._name))
            return self._rows.__arrow_c_stream__(requested_schema)
        except Exception as error:
            self.error = error  # DuckDB would pass on only the exception's text
            raise

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for table in self._fetch(self._name):
                yield from table.to_batches()
        except Exception as error:
            self.error = error
            raise


@contextmanager
def _connect(limit_memory: int | None) -> Iterator[DuckDBPyConnection]:
    """Yield a connection to a new, isolated database."""
    with hold_signals():
        import duckdb

    config: dict[str, Any] = dict(_LOCKED)
    if limit_memory is not None:
        config["memory_limit"] = f"{limit_memory}B"
    connection = duckdb.connect(":memory:", config=config)
    try:
        # Not in the configuration above: DuckDB would then list the current folder as allowed.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()


def _check_statement(connection: DuckDBPyConnection, query: str) -> None:
    """Raise BadQuery unless the query is a single statement that reads."""
    import duckdb

    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise BadQuery(f"Expected one statement, got {len(statements) or 'none'}.")
    kind = statements[0].type
    # PIVOT has the type MULTI, because it looks up the columns first.
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI):
        raise BadQuery(
            f"{escape(kind.name)} is not allowed: a query can only read. Use SELECT, FROM, WITH,"
            " VALUES, PIVOT, DESCRIBE, SUMMARIZE or SHOW TABLES."
        )


def _plan(connection: DuckDBPyConnection, query: str) -> tuple[Any, Any]:
    connection.begin()
    try:
        connection.execute(EMPTY_TABLES)
        return make_plans(connection, query)
    finally:
        connection.rollback()  # removes the empty tables


def _read(
    connection: DuckDBPyConnection, query: str, parameters: Parameters
) -> pa.RecordBatchReader:
    import duckdb

    try:
        result = connection.sql(query, params=parameters)
    except duckdb.Error:
        connection.execute(query, parameters)  # raises the same error with its location
        raise
    if result is None:
        raise BadQuery("The statement returns no rows.")
    return result.to_arrow_reader(_BATCH)
