"""Questions in words: conditions that choose runs, and SQL within limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from starlette.routing import Route

from runfold.serve.answer import JsonResponse
from runfold.serve.arrow import ArrowResponse, encode_table
from runfold.serve.request import Limit, read_json

if TYPE_CHECKING:
    import pyarrow as pa
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.logdir.log import RunLog
    from runfold.serve.source import Source

_SECONDS = 20.0
_MEMORY = 500_000_000
_MOST_ROWS = 100_000
_MOST_BYTES = 64_000_000


@dataclass(frozen=True)
class Condition:
    """A condition, as `runs.where` takes it."""

    condition: Annotated[str, Limit(1, 10_000)]


@dataclass(frozen=True)
class Query:
    """A query in SQL, as `runs.sql` takes it."""

    query: Annotated[str, Limit(1, 100_000)]


async def where(request: Request) -> Response:
    """The names of the runs for which a condition holds."""
    asked = await read_json(request, Condition)
    source: Source = request.app.state.source
    return JsonResponse(await source.work(choose_runs, source, asked))


def choose_runs(source: Source, asked: Condition) -> dict[str, list[str]]:
    """The names of the runs. Raises BadExpression with the place."""
    return {"runs": list(source.runs().where(asked.condition))}


async def sql(request: Request) -> Response:
    """The first 100,000 rows of the answer to a query, up to 64 MB.

    The query runs in a separate process with 20 s and 500 MB, and waits for its turn.
    """
    asked = await read_json(request, Query)
    source: Source = request.app.state.source
    return ArrowResponse(await source.query(answer, source, asked))


def answer(source: Source, asked: Query) -> bytes:
    """The rows as an Arrow stream, whose metadata "rows" and "truncated" say if these are all.

    Each table is as the runs are at one moment, and while the query works on them the
    runs may change. Raises BadQuery with the place, and QueryStopped at a limit.
    """
    from runfold.tables.database import run_limited
    from runfold.tables.relations import Source as Relations

    runs = source.runs()

    def read(names: list[str]) -> list[RunLog]:
        # Between two tables of one query a run may have been deleted.
        return runs._logs([name for name in names if name in runs])

    with source.held():
        relations = Relations(list(runs), read, runs._list_problems)
    limits: Any = {"limit_seconds": _SECONDS, "limit_memory": _MEMORY}
    sizes: Any = {"most_rows": _MOST_ROWS, "most_bytes": _MOST_BYTES}
    found = run_limited(
        relations, asked.query, **limits, **sizes, crew=source.crew, hold=source.held
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


ROUTES = [
    Route("/api/where", where, methods=["POST"]),
    Route("/api/sql", sql, methods=["POST"]),
]
