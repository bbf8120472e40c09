"""Groups of runs compared: tables of numbers, and the sentence that says who is better."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from msgspec import Meta

from runfold._compare.compare import compare as compare_logs
from runfold._humanize import human_count
from runfold._serve.charts.grouping import Groups, Key, Keys, group_logs
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import BadRequest
from runfold._serve.http.request_fields import Names, RequestFields, Step, Text
from runfold._serve.page_vocabulary import Better, ComparedAt, Json, camel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._serve.run_source import Source

# Each pair is tested by permutations on each tag, and a thousand take some seconds.
_MOST_PAIRS = 2000


class CompareRequest(RequestFields):
    """What to compare, as in `runs.compare`."""

    tags: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=100)]
    by: Key | Keys | None = None
    groups: Groups | None = None
    at: ComparedAt | Step = "last"
    better: Better | None = None
    runs: Names | None = None


class CompareResponse(TypedDict):
    """The tables of a comparison, one object per row, and what they say.

    `level` is that of the intervals; `correction` says how the columns called Holm are made.
    """

    groups: list[dict[str, Json]]
    pairs: list[dict[str, Json]]
    scores: list[dict[str, Json]]
    overall: list[dict[str, Json]]
    overallPairs: list[dict[str, Json]]
    directions: list[dict[str, Json]]
    level: float
    sentence: str
    correction: str
    warnings: list[str]
    leftOut: list[str]


@endpoint("POST /api/compare", CompareRequest, queue="compute")
def make_comparison(source: Source, asked: CompareRequest) -> CompareResponse:
    """Whether one group of runs is better than another, in numbers and in words.

    Tables, a sentence, warnings, and what was left out. Raises UnknownRun, UnknownTag,
    and CannotFold where nothing can be compared.
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
        "groups": _rows(found.groups),
        "pairs": _rows(found.pairs),
        "scores": _rows(found.scores),
        "overall": _rows(found.overall),
        "overallPairs": _rows(found.overall_pairs),
        "directions": _rows(found.directions),
        "level": found.level,
        "sentence": found.sentence,
        "correction": found.correction,
        "warnings": list(found.warnings),
        "leftOut": [*grouping.left_out, *found.left_out],
    }


def _rows(table: Iterable[Any]) -> list[dict[str, Any]]:
    return [{camel(name): value for name, value in asdict(row).items()} for row in table]
