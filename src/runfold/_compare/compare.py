"""Comparison of groups of runs by one score per run: is A better than B?"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from runfold._compare.comparison import Comparison
from runfold._compare.pairs import compare_pair, correct, summarize
from runfold._compare.scores import At, check_at, name_group, read_scores, score_tag, tabulate
from runfold._compare.task_scores import Normalize, Tasks, check_normalize, fold_tasks
from runfold._compare.verdict import explain_correction, judge, judge_overall, warn
from runfold._humanize import human_count, human_list, not_one_of
from runfold._reduce.curve_points import DUPLICATES
from runfold._reduce.groups import By, make_groups
from runfold._reduce.scalar_tags import choose_tags
from runfold._tables.by_run.direction import Better, find_direction
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._logdir.run_log import RunLog

MIN_RESAMPLES = 100


def compare(
    logs: Iterable[RunLog],
    tags: str | Sequence[str],
    by: By = None,
    at: At = "last",
    better: Better | None = None,
    *,
    level: float = 0.95,
    normalize: Normalize = None,
    resamples: int = 10_000,
    seed: int = 0,
    duplicates: str = "last",
) -> Comparison:
    """Compare groups of runs by one score per run and tag.

    Runs without a score are left out and reported.

    Args:
        logs: the runs.
        tags: names and globs; several tags are tasks of one benchmark.
        by: how to group runs, as in `make_groups`.
        at: "last", "best", "min", "max", "auc" (area under the curve), or a step, for the
            last value at or before it.
        better: "higher" or "lower". Default: guessed from each tag's name.
        level: confidence level of the intervals; a p-value is significant below 1 - level.
        normalize: how to put tasks on a common scale before they are combined: "range" maps
            the lowest and highest score of any run to 0..1; a mapping gives the two ends for
            each tag. In both cases, 1 is the better end.
        resamples: number of resamples in bootstraps and permutation tests.
        seed: seed for the resampling.
        duplicates: what to do with several values at one step of a run: "last" (as in
            `runs.table()`) and "first" keep that value, "mean" uses their mean, and "error"
            raises CannotFold.

    Raises:
        CannotFold: no run has a score, or an argument is invalid.
        UnknownTag: no run has this tag.
        UnknownStatistic: `at` is not a known score.
    """
    at = check_at(at)
    _check(level, resamples, duplicates)
    grouping = make_groups(logs, by)
    names = choose_tags((log for group in grouping.groups for log in group.logs), tags)
    check_normalize(normalize, names)
    directions = {tag: find_direction(tag, better) for tag in names}
    grouped = [log for group in grouping.groups for log in group.logs]
    read = read_scores(grouped, directions, at, duplicates)
    scored = {
        tag: score_tag(grouping.groups, directions[tag], at, duplicates, read[tag]) for tag in names
    }
    table, scoreless = _drop_scoreless(tabulate(grouping.groups, list(scored.values())))
    samples = {
        tag: {group: rows[~np.isnan(rows[:, n]), n] for group, rows in table.items()}
        for n, tag in enumerate(names)
    }
    if not any(result.scores for result in scored.values()):
        reasons = "; ".join(note for result in scored.values() for note in result.left_out)
        raise CannotFold(f"No run has a score: {reasons}.")
    tasks = Tasks([], [], [])
    with np.errstate(over="ignore", invalid="ignore"):  # scores near the limits of float64
        groups = [
            summarize(tag, name, scores, level)
            for tag, sample in samples.items()
            for name, scores in sample.items()
            if len(scores)
        ]
        pairs = correct(
            [
                compare_pair((tag, a, b), sample[a], sample[b], sign, level, resamples, seed)
                for tag, sample in samples.items()
                for sign in [directions[tag].sign]
                for a, b in _each_pair(sample, sign)
            ],
            level,
        )
        if len(names) > 1:
            random = np.random.default_rng(seed)
            tasks = fold_tasks(
                table, list(directions.values()), normalize, level, resamples, random
            )
    tests = sum(not math.isnan(pair.p_welch) for pair in pairs)
    sentences = [
        judge(
            directions[tag],
            [group for group in groups if group.tag == tag],
            [pair for pair in pairs if pair.tag == tag],
            at,
            level,
            tests,
        )
        for tag in names
    ]
    is_known = all(direction.better for direction in directions.values())
    sentences.append(judge_overall(tasks.groups, tasks.pairs, level, is_known))
    warnings = [warning for result in scored.values() for warning in result.warnings]
    return Comparison(
        at=at,
        level=level,
        directions=tuple(directions.values()),
        scores=tuple(score for result in scored.values() for score in result.scores),
        groups=tuple(groups),
        pairs=tuple(pairs),
        overall=tuple(tasks.groups),
        overall_pairs=tuple(tasks.pairs),
        sentence="\n".join(filter(None, sentences)),
        correction=explain_correction(tests, level),
        warnings=(*warnings, *warn(groups, pairs, level), *tasks.warnings),
        left_out=(
            *grouping.left_out,
            *(note for result in scored.values() for note in result.left_out),
            *scoreless,
        ),
    )


def _drop_scoreless(
    table: dict[str, NDArray[np.float64]],
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """Return the groups with a finite score, and a note on those without."""
    kept = {group: rows for group, rows in table.items() if np.isfinite(rows).any()}
    names = [name_group(group) for group in table if group not in kept]
    if not names:
        return kept, []
    groups = f"{human_count(len(names), 'group')} without a finite score"
    return kept, [f"{groups}: {human_list(names)}"]


def _each_pair(sample: dict[str, NDArray[np.float64]], sign: int) -> Iterator[tuple[str, str]]:
    """Yield each pair of groups, the group with the better mean first."""
    for pair in combinations([name for name, scores in sample.items() if len(scores)], 2):
        a, b = sorted(pair, key=lambda name: float(-sign * sample[name].mean()))
        yield a, b


def _check(level: float, resamples: int, duplicates: str) -> None:
    if not 0 < level < 1:
        raise CannotFold(f"level must be between 0 and 1, such as 0.95, got {level}.")
    if resamples < MIN_RESAMPLES:
        raise CannotFold(f"resamples must be at least {MIN_RESAMPLES}, got {resamples}.")
    if duplicates not in DUPLICATES:
        raise CannotFold(not_one_of("duplicates", duplicates, DUPLICATES))
