"""Contests over arrays in memory: mean and std, and the bootstrap."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks import folds
from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.folds import RESAMPLES, Array
from benchmarks.logs import Log, tag_names
from benchmarks.measure import measure
from benchmarks.readings import Reading, Series, find_disagreement

FOLDERS: Mapping[str, Mapping[str, Callable[[list[Array]], folds.Fold]]] = {
    "fold": {
        RUNFOLD: folds.fold_with_runfold,
        "NumPy": folds.fold_with_numpy,
        "pandas": folds.fold_with_pandas,
    },
    "bootstrap": {RUNFOLD: folds.resample_with_runfold, "scipy": folds.resample_with_scipy},
}
# The values are 1 plus or minus about this much.
SPREAD = 0.1


def make_fold_contest(log: Log) -> Contest:
    """Return the contest for mean and std of arrays of a log's size; only rounding may differ."""
    title = f"fold: mean and std of {log.tags} arrays in memory, {_shape(log)}"
    return _make_contest("fold", title, log, partial(np.isclose, rtol=1e-12, atol=0))


def make_bootstrap_contest(log: Log) -> Contest:
    """Return the contest for the bootstrap interval of the mean of one array of a log's size.

    The contenders draw different samples, so the ends of their intervals differ by
    about a twentieth of the mean's standard error, and never by half of it.
    """
    title = f"bootstrap: ci95 by {RESAMPLES:,} resamples of an array in memory, {_shape(log)}"
    bound = SPREAD / np.sqrt(log.runs) / 2
    one_tag = replace(log, tags=1)
    return _make_contest("bootstrap", title, one_tag, partial(np.isclose, rtol=0, atol=bound))


def _make_contest(
    work: str, title: str, log: Log, is_close: Callable[[Array, Array], Any]
) -> Contest:
    def contender(name: str) -> Contender:
        once = partial(measure, prepare, [work, name, asdict(log)])
        return Contender(name, once, log.runs * log.tags * log.steps)

    def compare(peer: Contender, ours: Series, theirs: Series) -> str | None:
        return find_disagreement(ours, theirs, differ=lambda *both: ~is_close(*both))

    return Contest(title, ("by", "values"), [contender(name) for name in FOLDERS[work]], compare)


def prepare(work: str, name: str, size: dict[str, Any]) -> Callable[[], Reading]:
    """Return the call with which a contender folds arrays of a log's size."""
    log = Log(**size)
    fold = FOLDERS[work][name](make_arrays(log))

    def call() -> Reading:
        steps = np.arange(log.steps)
        return Reading(
            {
                (statistic, tag): (steps, None, values)
                for tag, folded in zip(tag_names(log.tags), fold(), strict=True)
                for statistic, values in folded.items()
            }
        )

    return call


def make_arrays(log: Log) -> list[Array]:
    """Return one array per tag of a log, with the same values in every call."""
    rng = np.random.default_rng(0)
    return [1.0 + SPREAD * rng.standard_normal((log.runs, log.steps)) for _ in range(log.tags)]


def _shape(log: Log) -> str:
    return f"{log.runs} runs x {log.steps:,} steps"
