"""Queries: conditions that select runs, and SQL with limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from msgspec import Meta

from runfold._serve.http.arrow_response import ArrowResponse, encode_table
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.request_fields import RequestFields

if TYPE_CHECKING:
    import pyarrow as pa

    from runfold._logdir.run_log import RunLog
    from runfold._serve.run_source import Source

_SECONDS = 20.0
_MEMORY = 500_000_000
_MOST_ROWS = 100_000
_MOST_BYTES = 64_000_000


class WhereRequest(RequestFields):
    """A condition, as in `runs.where`."""

    condition: Annotated[str, Meta(min_length=1, max_length=10_000)]


class SqlRequest(RequestFields):
    """A SQL query, as in `runs.sql`."""

    query: Annotated[str, Meta(min_length=1, max_length=100_000)]


class WhereResponse(TypedDict):
    """Names of runs."""

    runs: list[str]


@endpoint("POST /api/where", WhereRequest, queue="work")
def choose_runs(source: Source, request: WhereRequest) -> WhereResponse:
    """List the runs that match a condition. Raises BadExpression with the error's position."""
    return {"runs": list(source.runs().where(request.condition))}


@endpoint("POST /api/sql", SqlRequest, queue="query", response=ArrowResponse)
def answer(source: Source, request: SqlRequest) -> bytes:
    """Return the first 100,000 rows of a query's result, up to 64 MB.

    The response is an Arrow stream; its metadata "rows" and "truncated" show whether it is
    complete. The query waits for its turn, then runs in a separate process with limits of
    20 s and 500 MB. Each table is a consistent snapshot, but runs can change while the
    query executes. Raises BadQuery with the error's position, and QueryStopped at a limit.
    """
    from runfold._tables.sql.database import run_limited
    from runfold._tables.sql.relations import Source as Relations

    runs = source.runs()

    def read(names: list[str]) -> list[RunLog]:
        # A run can be deleted between reading two tables of one query.
        return runs._logs([name for name in names if name in runs])

    with source.held():
        relations = Relations(list(runs), read, runs._list_problems)
    limits: Any = {"limit_seconds": _SECONDS, "limit_memory": _MEMORY}
    sizes: Any = {"most_rows": _MOST_ROWS, "most_bytes": _MOST_BYTES}
    result = run_limited(
        relations, request.query, **limits, **sizes, workers=source.query_workers, hold=source.held
    )
    rows, count = result
    return encode_table(_plain(rows), rows=count, truncated=count > len(rows))


def _plain(rows: pa.Table) -> pa.Table:
    """Convert columns of types that the page does not support to text."""
    import pyarrow as pa

    for number, field in enumerate(rows.schema):
        if not _is_known(field.type):
            texts = [
                None if cell is None else str(cell) for cell in rows.column(number).to_pylist()
            ]
            rows = rows.set_column(number, field.name, pa.array(texts, pa.string()))
    return rows


def _is_known(kind: Any) -> bool:
    """Whether the page's Arrow reader supports a type and the types nested in it."""
    import pyarrow as pa

    unsupported = (
        pa.types.is_interval,
        pa.types.is_decimal,
        pa.types.is_union,
        pa.types.is_duration,
    )
    if any(is_type(kind) for is_type in unsupported):
        return False
    if pa.types.is_nested(kind):
        return all(_is_known(kind.field(number).type) for number in range(kind.num_fields))
    return not pa.types.is_dictionary(kind) or _is_known(kind.value_type)
