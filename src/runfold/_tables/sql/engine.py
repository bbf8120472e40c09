"""DuckDB shut off from everything but the tables that it is handed.

A query is answered in a database of its own, in memory, that can reach no file,
no network, no extension and no variable of the program, and whose settings
cannot be changed. It may read, nothing more.
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

_SHUT = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    # What does not fit into memory ends; it is not written to the disk.
    "temp_directory": "",
    "max_temp_directory_size": "0KiB",
    # A query can ask for settings. These would show where the user's home is.
    "home_directory": "nowhere",
    "secret_directory": "nowhere",
    "extension_directory": "nowhere",
    # Tables are planned without rows. With it, DuckDB would plan for nothing to come.
    "disabled_optimizers": "statistics_propagation",
}
# What a query is planned over.
EMPTY_TABLES = "".join(
    f"CREATE TABLE {name} ({', '.join(map(' '.join, columns.items()))});"
    for name, columns in TABLES.items()
)
_BATCH = 100_000


@dataclass(frozen=True, slots=True)
class Host:
    """Who hands the tables over, in parts: first it is told the plans, then asked for some."""

    tell_plans: Callable[[Any, Any], None]
    fetch: Callable[[str], Iterator[pa.Table]]


@contextmanager
def answer_query(
    query: str, parameters: Parameters, host: Host, limit_memory: int | None = None
) -> Iterator[pa.RecordBatchReader]:
    """The rows that a query asks for, batch by batch, as long as the block lasts.

    Raises BadQuery, with the place, for one that is wrong or wants more than to
    read, QueryStopped where DuckDB needs more memory than it may, and what the
    host raises.
    """
    with _connect(limit_memory) as connection:
        tables: dict[str, LazyTable] = {}
        try:
            _check_statement(connection, query)
            host.tell_plans(*_plan(connection, query))
            tables = {name: LazyTable(name, host.fetch) for name in TABLES}
            for name, table in tables.items():
                connection.register(name, table)
            yield _read(connection, query, parameters)
        except RunfoldError:
            raise
        except Exception as error:
            for table in tables.values():
                if table.error is not None:
                    raise table.error from None
            complaint = explain(error)
            if complaint is None:
                raise
            raise complaint from None


class LazyTable:
    """A table that DuckDB knows by its columns, and whose rows are fetched when it scans them."""

    def __init__(self, name: str, fetch: Callable[[str], Iterator[pa.Table]]) -> None:
        self._name = name
        self._fetch = fetch
        self._rows: pa.Table | None = None
        self.error: Exception | None = None

    def __arrow_c_schema__(self) -> object:
        return schema_of(self._name).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        try:
            # A table that is joined with itself is scanned twice.
            if self._rows is None:
                self._rows = pa.concat_tables(self._fetch(self._name))
            return self._rows.__arrow_c_stream__(requested_schema)
        except Exception as error:
            self.error = error  # DuckDB would hand on no more than its text
            raise


@contextmanager
def _connect(limit_memory: int | None) -> Iterator[DuckDBPyConnection]:
    """A database of one's own that nothing leads out of."""
    with hold_signals():
        import duckdb

    config: dict[str, Any] = dict(_SHUT)
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


def _plan(connection: DuckDBPyConnection, query: str) -> tuple[Any, Any]:
    connection.begin()
    try:
        connection.execute(EMPTY_TABLES)
        return make_plans(connection, query)
    finally:
        connection.rollback()  # the tables were there for the plans alone


def _read(
    connection: DuckDBPyConnection, query: str, parameters: Parameters
) -> pa.RecordBatchReader:
    import duckdb

    try:
        answer = connection.sql(query, params=parameters)
    except duckdb.Error:
        connection.execute(query, parameters)  # complains of the same, and says where
        raise
    if answer is None:
        raise BadQuery("The statement gives no rows.")
    return answer.to_arrow_reader(_BATCH)
