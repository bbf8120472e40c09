"""The table of runs, one row per run: status, hparams and statistics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

from runfold._conventions import is_story_tag, is_system_tag
from runfold._humanize import utf8
from runfold._logdir.gc_pause import pause_collector
from runfold._serve.answer_cache import remember
from runfold._serve.http.arrow_response import ArrowResponse, encode_table, number_array, text_array
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.request_fields import RequestFields
from runfold._serve.page_vocabulary import TABLE_STATISTICS, Statistic
from runfold._tables.arrow.cell_forms import spell
from runfold._tables.by_run.run_columns import MOST_TAGS, Column, Naming

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from runfold._serve.run_source import Source
    from runfold._tables.by_run.overview import Cells, Overview

FIXED = ("run", "status", "start", "duration", "steps", "points")
# A cell has no room for more characters; the run's own view shows the full text.
_LONGEST = 500
_INT64 = 1 << 63
_STALE = 5.0


class TableRequest(RequestFields):
    """The statistics of each tag to include in the table."""

    stat: Annotated[tuple[Statistic, ...], Meta(min_length=1, max_length=8)] = TABLE_STATISTICS


@endpoint("GET /api/table", TableRequest, queue="work", response=ArrowResponse)
def make_table(source: Source, request: TableRequest) -> bytes:
    """Return one row per run: status, hparams, statistics of every tag, and the latest text.

    The response is an Arrow stream. Each field's metadata has its `kind` (fixed, hparam,
    statistic or text), its `name` unless it is fixed, and the `stat` of a statistic.
    Missing values are null, not NaN. `start` and `duration` are in seconds.
    `leftOut` in the schema's metadata is the number of tags of each kind without a column.
    """
    # A run whose heartbeat stops is treated as crashed, although no file has changed.
    now = int(time.monotonic() / _STALE)
    return remember(source, (request, now), lambda: _tabulate(source, request))


def _tabulate(source: Source, request: TableRequest) -> bytes:
    import pyarrow as pa

    runs = source.runs()
    overview = runs._overview()
    naming = Naming(overview.known, most=MOST_TAGS)
    fields: dict[str, pa.Field] = {}
    arrays: list[pa.Array] = []

    def add(title: str, array: pa.Array, **properties: str) -> None:
        metadata = {key: utf8(text) for key, text in properties.items()}
        fields[title] = pa.field(title, array.type, metadata=metadata)
        arrays.append(array)

    with pause_collector():
        for name in FIXED:
            add(name, to_array(overview.cells(Column(name))), kind="fixed")
        for name, counts in (("hidden", overview.hidden), ("problems", overview.problems)):
            add(name, number_array(np.array(counts, np.int64)), kind="fixed")
        for column, properties in _columns(overview, request.stat):
            title = utf8(naming.name(column))
            title = utf8(column.full) if title in fields else title
            add(title, to_array(overview.cells(column)), name=column.name, **properties)
    runs._keep(overview)
    table = pa.Table.from_arrays(arrays, schema=pa.schema(list(fields.values())))
    return encode_table(table, leftOut=_count_left_out(overview))


def _columns(
    overview: Overview, statistics: Sequence[Statistic]
) -> Iterator[tuple[Column, dict[str, str]]]:
    """Yield all columns but the fixed ones, with their metadata."""
    known = overview.known
    for name in overview.listed_hparams:
        yield Column("hparam", name), {"kind": "hparam"}
    for stat in dict.fromkeys(statistics):
        for tag in _first(known.scalars):
            if stat in ("best", "best_step") and not overview.knows_best(tag):
                continue
            yield Column(stat, tag), {"kind": "statistic", "stat": stat}
    for tag in _first(known.texts):
        yield Column("text", tag), {"kind": "text"}


def _first(tags: Sequence[str]) -> list[str]:
    """Return the first tags, except those that a tracked run records about itself."""
    return _others(tags)[:MOST_TAGS]


def _others(tags: Sequence[str]) -> list[str]:
    return [tag for tag in tags if not _is_own(tag)]


def _count_left_out(overview: Overview) -> dict[str, int]:
    """Return the number of tags without a column, for each kind that has such tags."""
    kinds = {"scalar": overview.known.scalars, "text": overview.known.texts}
    counts = {kind: len(_others(tags)) - MOST_TAGS for kind, tags in kinds.items()}
    return {kind: count for kind, count in counts.items() if count > 0}


def _is_own(tag: str) -> bool:
    """Whether a tracked run records this tag about itself. The run's view shows these tags."""
    return is_story_tag(tag) or is_system_tag(tag)


def to_array(cells: Cells) -> pa.Array:
    """Return cells as booleans, integers, floats or text, whichever represents them all exactly."""
    if isinstance(cells, np.ndarray):
        return number_array(cells)
    types = set(map(type, cells)) - {type(None)}
    if types == {bool}:
        return _numbers(cells, np.bool_, False)
    if types == {int} and all(cell is None or -_INT64 <= cell < _INT64 for cell in cells):
        return _numbers(cells, np.int64, 0)
    if types and types <= {int, float} and all(_is_exact(cell) for cell in cells):
        return _numbers(cells, np.float64, 0.0)
    return text_array([None if cell is None else _clip(spell(cell)) for cell in cells])


def _numbers(cells: list[Any], kind: type[np.generic], blank: Any) -> pa.Array:
    known = np.array([cell is not None for cell in cells], np.bool_)
    return number_array(np.array([blank if cell is None else cell for cell in cells], kind), known)


def _is_exact(number: float | None) -> bool:
    return not isinstance(number, int) or -(2**53) <= number <= 2**53


def _clip(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
