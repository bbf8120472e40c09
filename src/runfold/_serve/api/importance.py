"""How much each hparam has to do with a metric: how they rise together, and what it explains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.request_fields import Names, RequestFields, Text
from runfold._serve.page_vocabulary import JsonNumber, MetricStatistic
from runfold._tables.by_run.run_columns import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._serve.run_source import Source

    Floats = NDArray[np.float64]


class ImportanceRequest(RequestFields):
    """A number of each run: a statistic of a tag."""

    tag: Text
    stat: MetricStatistic = "last"
    runs: Names | None = None


class HparamImportance(TypedDict):
    """How much of a metric an hparam explains, and how they rise together; null where unknown."""

    name: str
    importance: JsonNumber | None
    correlation: JsonNumber | None
    runs: int


class ImportanceResponse(TypedDict):
    """Hparams, those that are the same in all runs, and how many runs have the metric."""

    hparams: list[HparamImportance]
    constant: list[str]
    runs: int


@endpoint("POST /api/importance", ImportanceRequest, queue="compute")
def weigh_hparams(source: Source, asked: ImportanceRequest) -> ImportanceResponse:
    """The hparams that explain most of a metric, first.

    `runs` is how many have both; hparams that are the same in all of those are
    only named, under "constant". Raises UnknownRun, UnknownTag, and CannotFold
    for the best of a tag of which nobody knows which way is better.
    """
    source.logs_with(asked.tag)
    chosen = {log.name for log in source.logs(asked.runs)}
    overview = source.runs()._overview()
    rows, values = overview.find_values(Column(asked.stat, asked.tag))
    metric = {
        int(row): float(value)
        for row, value in zip(rows, values, strict=True)
        if value == value and overview.runs[row] in chosen
    }
    found: list[HparamImportance] = []
    constant = []
    for name in overview.known.hparams:
        rows_with = [row for row in metric if name in overview.settings[row]]
        settings = [overview.settings[row][name] for row in rows_with]
        if len(set(map(repr, settings))) < 2:
            constant.append(name)
            continue
        correlation, share = weigh(settings, np.array([metric[row] for row in rows_with]))
        found.append(
            {
                "name": name,
                "importance": share,
                "correlation": correlation,
                "runs": len(settings),
            }
        )
    found.sort(key=lambda one: 1.0 if one["importance"] is None else -one["importance"])
    return {"hparams": found, "constant": constant, "runs": len(metric)}


def weigh(settings: Sequence[Any], values: Floats) -> tuple[float | None, float | None]:
    """Spearman's correlation of settings and values, and the share of variance explained.

    Both are of ranks, so that one run that diverged to 1e30 does not decide. A
    number may explain by a curve with one bend, as a learning rate does that can be
    too low and too high; text by a level for each. The share is adjusted
    for chance, as R² is, and 0 where chance does as well; None where there are too
    few runs to tell. Text has no correlation.
    """
    outcome = rank(values)
    is_number = all(isinstance(one, int | float) for one in settings)
    numbers = np.array(settings, np.float64) if is_number else np.empty(0)
    if not is_number or np.isnan(numbers).any():
        return None, _explain(outcome, *_fit_levels(settings, outcome))
    ranks = rank(numbers)
    return _correlate(ranks, outcome), _explain(outcome, *_fit_bend(ranks, outcome))


def rank(values: Floats) -> Floats:
    """The place of each value among all, from -1 to 1; equal values share the middle of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middles = ends - (counts + 1) / 2
    ranks: Floats = 2 * middles[inverse] / max(len(values) - 1, 1) - 1
    return ranks


def _fit_levels(settings: Sequence[Any], outcome: Floats) -> tuple[Floats, int]:
    """The mean outcome of those with the same setting, and how many terms that takes."""
    _, inverse, counts = np.unique(
        [repr(one) for one in settings], return_inverse=True, return_counts=True
    )
    means = np.bincount(inverse, outcome) / counts
    return means[inverse], len(counts) - 1


def _fit_bend(ranks: Floats, outcome: Floats) -> tuple[Floats, int]:
    """The parabola through the outcomes, and how many terms that takes."""
    # Less than one bend where there are but two places.
    terms = 2 if len(np.unique(ranks)) > 2 else 1
    powers = np.vander(ranks, terms + 1)
    fit, *_ = np.linalg.lstsq(powers, outcome, rcond=None)
    return powers @ fit, terms


def _correlate(a: Floats, b: Floats) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt((a @ a) * (b @ b))
    return float(a @ b) / scale if scale else None


def _explain(outcome: Floats, fitted: Floats, terms: int) -> float | None:
    """The share of the variance of an outcome that a fit of so many terms explains."""
    runs = len(outcome)
    whole, left = outcome - outcome.mean(), outcome - fitted
    total = float(whole @ whole)
    if runs - terms < 2 or not total:
        return None
    by_chance: float = (runs - 1) / (runs - terms - 1)
    return max(0.0, 1 - float(left @ left) / total * by_chance)
