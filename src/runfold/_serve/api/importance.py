"""Importance of hparams for a metric: rank correlation, and the variance that each explains."""

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
    """A metric: one statistic of a tag for each run."""

    tag: Text
    stat: MetricStatistic = "last"
    runs: Names | None = None


class HparamImportance(TypedDict):
    """How much of a metric an hparam explains, and how the two correlate; null if unknown."""

    name: str
    importance: JsonNumber | None
    correlation: JsonNumber | None
    runs: int


class ImportanceResponse(TypedDict):
    """Hparams, the names of constant hparams, and the number of runs with the metric."""

    hparams: list[HparamImportance]
    constant: list[str]
    runs: int


@endpoint("POST /api/importance", ImportanceRequest, queue="compute")
def weigh_hparams(source: Source, request: ImportanceRequest) -> ImportanceResponse:
    """Rank hparams by how much of a metric they explain, highest first.

    An hparam's `runs` is the number of runs that have both it and the metric. Hparams with the same
    value in all of these runs are listed by name under "constant". Raises UnknownRun, UnknownTag,
    and CannotFold for the best value of a tag whose direction is unknown.
    """
    source.logs_with(request.tag)
    chosen = {log.name for log in source.logs(request.runs)}
    overview = source.runs()._overview()
    rows, values = overview.find_values(Column(request.stat, request.tag))
    metric = {
        int(row): float(value)
        for row, value in zip(rows, values, strict=True)
        if value == value and overview.runs[row] in chosen
    }
    entries: list[HparamImportance] = []
    constant = []
    for name in overview.listed_hparams:
        rows_with = [row for row in metric if name in overview.settings[row]]
        settings = [overview.settings[row][name] for row in rows_with]
        if len(set(map(repr, settings))) < 2:
            constant.append(name)
            continue
        correlation, share = weigh(settings, np.array([metric[row] for row in rows_with]))
        entries.append(
            {
                "name": name,
                "importance": share,
                "correlation": correlation,
                "runs": len(settings),
            }
        )
    entries.sort(key=lambda entry: 1.0 if entry["importance"] is None else -entry["importance"])
    return {"hparams": entries, "constant": constant, "runs": len(metric)}


def weigh(settings: Sequence[Any], values: Floats) -> tuple[float | None, float | None]:
    """Return Spearman's correlation of settings and values, and the share of variance explained.

    Both use ranks, so that a run that diverged to 1e30 does not dominate. Numbers are
    fitted with a parabola, because a learning rate, for example, can be too low or too
    high. Text is fitted with one level per value. Like adjusted R², the share is
    corrected for chance: it is 0 if chance explains as much, and None if there are too
    few runs. Text has no correlation.
    """
    outcome = rank(values)
    is_number = all(isinstance(setting, int | float) for setting in settings)
    numbers = np.array(settings, np.float64) if is_number else np.empty(0)
    if not is_number or np.isnan(numbers).any():
        return None, _explain(outcome, *_fit_levels(settings, outcome))
    ranks = rank(numbers)
    return _correlate(ranks, outcome), _explain(outcome, *_fit_bend(ranks, outcome))


def rank(values: Floats) -> Floats:
    """Return the rank of each value, scaled to -1 to 1; equal values share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middles = ends - (counts + 1) / 2
    ranks: Floats = 2 * middles[inverse] / max(len(values) - 1, 1) - 1
    return ranks


def _fit_levels(settings: Sequence[Any], outcome: Floats) -> tuple[Floats, int]:
    """Return the mean outcome for each setting, and the number of terms in the fit."""
    _, inverse, counts = np.unique(
        [repr(setting) for setting in settings], return_inverse=True, return_counts=True
    )
    means = np.bincount(inverse, outcome) / counts
    return means[inverse], len(counts) - 1


def _fit_bend(ranks: Floats, outcome: Floats) -> tuple[Floats, int]:
    """Return the parabola fitted to the outcomes, and the number of terms in the fit."""
    # Two distinct values allow only a line.
    terms = 2 if len(np.unique(ranks)) > 2 else 1
    powers = np.vander(ranks, terms + 1)
    fit, *_ = np.linalg.lstsq(powers, outcome, rcond=None)
    return powers @ fit, terms


def _correlate(a: Floats, b: Floats) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt((a @ a) * (b @ b))
    return float(a @ b) / scale if scale else None


def _explain(outcome: Floats, fitted: Floats, terms: int) -> float | None:
    """Return the share of an outcome's variance that a fit with `terms` terms explains."""
    runs = len(outcome)
    whole, residual = outcome - outcome.mean(), outcome - fitted
    total = float(whole @ whole)
    if runs - terms < 2 or not total:
        return None
    by_chance: float = (runs - 1) / (runs - terms - 1)
    return max(0.0, 1 - float(residual @ residual) / total * by_chance)
