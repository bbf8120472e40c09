"""Groups of runs compared: tables of numbers, and the sentence that says who is better."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from starlette.routing import Route

from runfold.reduce.compare import compare as compare_logs
from runfold.reduce.comparison import ROWS
from runfold.serve.answer import JsonResponse
from runfold.serve.errors import BadRequest
from runfold.serve.grouping import Group, Key, group_logs
from runfold.serve.request import Limit, read_json
from runfold.text import human_count

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.serve.source import Source

# Each pair is tested by permutations on each tag, and a thousand take some seconds.
_MOST_PAIRS = 2000


@dataclass(frozen=True)
class Comparing:
    """What to compare, as in `runs.compare`."""

    tags: Annotated[tuple[str, ...], Limit(1, 100)]
    by: Key | tuple[Key, ...] | None = None
    groups: tuple[Group, ...] | None = None
    at: Literal["last", "best", "min", "max", "auc"] | int = "last"
    better: Literal["higher", "lower"] | None = None
    runs: tuple[str, ...] | None = None


async def compare(request: Request) -> Response:
    """Whether one group of runs is better than another, in numbers and in words."""
    asked = await read_json(request, Comparing)
    source: Source = request.app.state.source
    return JsonResponse(await source.compute(make_comparison, source, asked))


def make_comparison(source: Source, asked: Comparing) -> dict[str, Any]:
    """The tables of a comparison, its sentence and warnings, and what was left out.

    Raises UnknownRun, UnknownTag, and CannotFold where nothing can be compared.
    """
    for tag in asked.tags:
        source.logs_with(tag)  # here a tag is never a glob
    grouping = group_logs(source, asked.runs, asked.by, asked.groups)
    pairs = math.comb(len(grouping.groups), 2) * len(asked.tags)
    if pairs > _MOST_PAIRS:
        raise BadRequest(
            f"{human_count(len(grouping.groups), 'group')} on {human_count(len(asked.tags), 'tag')}"
            f" are {pairs:,} pairs, and {_MOST_PAIRS:,} are compared at most. Choose fewer tags or"
            " runs, or group by something that takes fewer values."
        )
    owner = {log.name: group.name for group in grouping.groups for log in group.logs}
    found = compare_logs(
        [log for group in grouping.groups for log in group.logs],
        list(asked.tags),
        lambda log: owner[log.name],
        asked.at,
        asked.better,
        duplicates="last",
    )
    return {
        **{_camel(table): [_row(row) for row in getattr(found, table)] for table in ROWS},
        "directions": [_row(direction) for direction in found.directions],
        "level": found.level,
        "sentence": found.sentence,
        "correction": found.correction,
        "warnings": list(found.warnings),
        "leftOut": [*grouping.left_out, *found.left_out],
    }


def _row(row: Any) -> dict[str, Any]:
    return {_camel(name): value for name, value in asdict(row).items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


ROUTES = [Route("/api/compare", compare, methods=["POST"])]
