"""Questions in words: conditions that choose runs, and SQL within limits."""

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
    """A condition, as `runs.where` takes it."""

    condition: Annotated[str, Meta(min_length=1, max_length=10_000)]


class SqlRequest(RequestFields):
    """A query in SQL, as `runs.sql` takes it."""

    query: Annotated[str, Meta(min_length=1, max_length=100_000)]


class WhereResponse(TypedDict):
    """The names of runs."""

    runs: list[str]


@endpoint("POST /api/where", WhereRequest, queue="work")
def choose_runs(source: Source, asked: WhereRequest) -> WhereResponse:
    """The names of the runs for which a condition holds. Raises BadExpression with the place."""
    return {"runs": list(source.runs().where(asked.condition))}


@endpoint("POST /api/sql", SqlRequest, queue="query", response=ArrowResponse)
def answer(source: Source, asked: SqlRequest) -> bytes:
    """The first 100,000 rows of the answer to a query, up to 64 MB.

    An Arrow stream, whose metadata "rows" and "truncated" say if these are all. The
    query runs in a separate process with 20 s and 500 MB, and waits for its turn. Each
    table is as the runs are at one moment, and while the query works on them the runs
    may change. Raises BadQuery with the place, and QueryStopped at a limit.
    """
    from runfold._tables.sql.database import run_limited
    from runfold._tables.sql.relations import Source as Relations

    runs = source.runs()

    def read(names: list[str]) -> list[RunLog]:
        # Between two tables of one query a run may have been deleted.
        return runs._logs([name for name in names if name in runs])

    with source.held():
        relations = Relations(list(runs), read, runs._list_problems)
    limits: Any = {"limit_seconds": _SECONDS, "limit_memory": _MEMORY}
    sizes: Any = {"most_rows": _MOST_ROWS, "most_bytes": _MOST_BYTES}
    found = run_limited(
        relations, asked.query, **limits, **sizes, workers=source.query_workers, hold=source.held
    )
    rows, count = found
    return encode_table(_plain(rows), rows=count, truncated=count > len(rows))


def _plain(rows: pa.Table) -> pa.Table:
    """The same rows, as text what a page has no type for."""
    import pyarrow as pa

    for number, field in enumerate(rows.schema):
        if not _is_known(field.type):
            texts = [None if one is None else str(one) for one in rows.column(number).to_pylist()]
            rows = rows.set_column(number, field.name, pa.array(texts, pa.string()))
    return rows


def _is_known(kind: Any) -> bool:
    """Whether the page's reader of Arrow has a type, and what is inside of it."""
    import pyarrow as pa

    strange = (pa.types.is_interval, pa.types.is_decimal, pa.types.is_union, pa.types.is_duration)
    if any(is_such(kind) for is_such in strange):
        return False
    if pa.types.is_nested(kind):
        return all(_is_known(kind.field(number).type) for number in range(kind.num_fields))
    return not pa.types.is_dictionary(kind) or _is_known(kind.value_type)
