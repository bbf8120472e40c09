"""Comparisons between groups of runs: tables of numbers, and a sentence with the result."""

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

# Limit on pairs of groups, counted once per tag. Each pair needs a permutation test. A thousand
# tests take a few seconds.
_MOST_PAIRS = 2000


class CompareRequest(RequestFields):
    """The arguments of `runs.compare`."""

    tags: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=100)]
    by: Key | Keys | None = None
    groups: Groups | None = None
    at: ComparedAt | Step = "last"
    better: Better | None = None
    runs: Names | None = None


class CompareResponse(TypedDict):
    """The tables of a comparison, one object per row, and a summary.

    `level` is the confidence level; `correction` explains the Holm-corrected columns.
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
def make_comparison(source: Source, request: CompareRequest) -> CompareResponse:
    """Compare groups of runs, in numbers and in words.

    Return tables, a sentence, warnings and notes on what was left out. Raises UnknownRun,
    UnknownTag, and CannotFold if nothing can be compared.
    """
    for tag in request.tags:
        source.logs_with(tag)  # a tag is never a glob here
    grouping = group_logs(source, request.runs, request.by, request.groups)
    pairs = math.comb(len(grouping.groups), 2) * len(request.tags)
    if pairs > _MOST_PAIRS:
        raise BadRequest(
            f"{human_count(len(grouping.groups), 'group')} on"
            f" {human_count(len(request.tags), 'tag')} make {pairs:,} pairs; the limit is"
            f" {_MOST_PAIRS:,}. Choose fewer tags or runs, or group by a column with fewer values."
        )
    owner = {log.name: group.name for group in grouping.groups for log in group.logs}
    comparison = compare_logs(
        [log for group in grouping.groups for log in group.logs],
        list(request.tags),
        lambda log: owner[log.name],
        request.at,
        request.better,
        duplicates="last",
    )
    return {
        "groups": _rows(comparison.groups),
        "pairs": _rows(comparison.pairs),
        "scores": _rows(comparison.scores),
        "overall": _rows(comparison.overall),
        "overallPairs": _rows(comparison.overall_pairs),
        "directions": _rows(comparison.directions),
        "level": comparison.level,
        "sentence": comparison.sentence,
        "correction": comparison.correction,
        "warnings": list(comparison.warnings),
        "leftOut": [*grouping.left_out, *comparison.left_out],
    }


def _rows(table: Iterable[Any]) -> list[dict[str, Any]]:
    return [{camel(name): value for name, value in asdict(row).items()} for row in table]
