"""Is A better than B? Groups of runs compared by one number a run."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from runfold._compare.comparison import Comparison
from runfold._compare.pairs import compare_pair, correct, summarise
from runfold._compare.scores import At, check_at, name_group, score_tag, tabulate
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
    """Compare groups of runs by one number a run and tag.

    Args:
        logs: the runs.
        tags: names and globs; several tags are tasks of one benchmark.
        by: what makes a group, as in `make_groups`.
        at: "last", "best", "min", "max", "auc" (area under the curve), or a step,
            which means the last value at or before it.
        better: "higher" or "lower"; by default guessed from the name of each tag.
        level: of the intervals, and 1 - level is what a p-value must be below.
        normalize: how tasks come to one scale before they are taken together:
            "range", to 0..1 by the lowest and highest score of any run; or the
            two ends for each tag. In both cases 1 is the better end.
        resamples: how many times bootstraps and permutation tests draw.
        seed: of what they draw.
        duplicates: which value counts where a run has several at one step: the
            "last", as in `runs.table()`, the "first", their "mean"; "error" refuses.

    A run without a score is left out, and said so. Raises CannotFold,
    UnknownTag or UnknownStatistic where nothing can be compared as asked.
    """
    at = check_at(at)
    _check(level, resamples, duplicates)
    grouping = make_groups(logs, by)
    names = choose_tags((log for group in grouping.groups for log in group.logs), tags)
    check_normalize(normalize, names)
    directions = {tag: find_direction(tag, better) for tag in names}
    scored = {tag: score_tag(grouping.groups, directions[tag], at, duplicates) for tag in names}
    table, scoreless = _drop_scoreless(tabulate(grouping.groups, list(scored.values())))
    samples = {
        tag: {group: rows[~np.isnan(rows[:, n]), n] for group, rows in table.items()}
        for n, tag in enumerate(names)
    }
    if not any(one.scores for one in scored.values()):
        reasons = "; ".join(note for one in scored.values() for note in one.left_out)
        raise CannotFold(f"No run has a score: {reasons}.")
    tasks = Tasks([], [], [])
    with np.errstate(over="ignore", invalid="ignore"):  # scores near the end of float64
        groups = [
            summarise(tag, name, scores, level)
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
            ways = list(directions.values())
            tasks = fold_tasks(table, ways, normalize, level, resamples, random)
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
    warnings = [warning for one in scored.values() for warning in one.warnings]
    return Comparison(
        at=at,
        level=level,
        directions=tuple(directions.values()),
        scores=tuple(score for one in scored.values() for score in one.scores),
        groups=tuple(groups),
        pairs=tuple(pairs),
        overall=tuple(tasks.groups),
        overall_pairs=tuple(tasks.pairs),
        sentence="\n".join(filter(None, sentences)),
        correction=explain_correction(tests, level),
        warnings=(*warnings, *warn(groups, pairs, level), *tasks.warnings),
        left_out=(
            *grouping.left_out,
            *(note for one in scored.values() for note in one.left_out),
            *scoreless,
        ),
    )


def _drop_scoreless(
    table: dict[str, NDArray[np.float64]],
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """The groups with any finite score, and in words those without."""
    kept = {group: rows for group, rows in table.items() if np.isfinite(rows).any()}
    names = [name_group(group) for group in table if group not in kept]
    if not names:
        return kept, []
    groups = f"{human_count(len(names), 'group')} without a finite score"
    return kept, [f"{groups}: {human_list(names)}"]


def _each_pair(sample: dict[str, NDArray[np.float64]], sign: int) -> Iterator[tuple[str, str]]:
    """Two groups at a time, the one with the better mean first."""
    for pair in combinations([name for name, scores in sample.items() if len(scores)], 2):
        a, b = sorted(pair, key=lambda name: float(-sign * sample[name].mean()))
        yield a, b


def _check(level: float, resamples: int, duplicates: str) -> None:
    if not 0 < level < 1:
        raise CannotFold(f"level is between 0 and 1, such as 0.95, not {level}.")
    if resamples < MIN_RESAMPLES:
        raise CannotFold(f"resamples is {MIN_RESAMPLES} or more, not {resamples}.")
    if duplicates not in DUPLICATES:
        raise CannotFold(not_one_of("duplicates", duplicates, DUPLICATES))
