"""One number for each run: the last, best or any other value of a tag."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, cast

import numpy as np

from runfold._compare.score_kinds import KINDS
from runfold._humanize import did_you_mean, escape, human_count, human_list, human_span
from runfold._reduce.axes import STEP
from runfold._reduce.curve_points import Points, place
from runfold._tables.by_run.direction import LOWER, Direction
from runfold.errors import CannotFold, UnknownStatistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.groups import Members

At = str | int

# Seeds seldom end at the very same step; a tenth less is no accident, and a hundredth is
# enough to be seen in an area.
_SHORT, _SHORT_AREA = 0.9, 0.99


@dataclass(frozen=True, slots=True)
class Score:
    """What one run reached; NaN or infinite for a run that diverged."""

    tag: str
    group: str
    run: str
    score: float


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of one tag, and in sentences who has none and what to beware of."""

    scores: list[Score]
    left_out: list[str]
    warnings: list[str]


def check_at(at: At | SupportsIndex) -> At:
    """The kind of score, or the step, that is meant. Raises UnknownStatistic with the near ones."""
    if isinstance(at, str):
        if at in KINDS:
            return at
        hint = did_you_mean(at, KINDS) or f"There are {', '.join(KINDS)}, or a step."
        raise UnknownStatistic(f"No score '{escape(at)}'. {hint}")
    try:
        return operator.index(at)
    except TypeError:
        known = ", ".join(map(repr, KINDS))
        raise UnknownStatistic(f"at is {known} or a step, not {escape(repr(at))}.") from None


def name_score(at: At) -> str:
    """What a score is called in a sentence: `last value`, `value at step 100`."""
    return KINDS[at] if isinstance(at, str) else f"value at step {at}"


def score_tag(
    groups: Sequence[Members], direction: Direction, at: At, duplicates: str = "last"
) -> Scored:
    """The score of every run that has the tag.

    "last" is the value at the largest step and "auc" the area by trapezoids; a
    NaN among what they look at makes them NaN. "best", "min" and "max" look at
    the values that are numbers. A step means the last value at or before it.
    Raises CannotFold for "best" without a direction, and for steps logged
    twice, unless `duplicates` says which value counts.
    """
    tag = direction.tag
    if at == "best" and direction.better is None:
        raise CannotFold(
            f"Is a higher or a lower '{escape(tag)}' better? Its name does not tell: say"
            " better='higher' or 'lower' (--better), or ask for 'min' or 'max' (--at)."
        )
    scored = Scored([], [], [])
    lacking: dict[str, list[str]] = {}
    with_nan: list[str] = []
    doubles: dict[str, int] = {}
    spans: dict[str, tuple[int, int]] = {}
    for group in groups:
        for log in group.logs:
            points = _points(log, tag, duplicates)
            reason = _why_none(points, tag, at)
            if points is None or reason:
                lacking.setdefault(reason, []).append(log.name)
                continue
            scored.scores.append(Score(tag, group.name, log.name, _score(points, direction, at)))
            if points.doubles:
                doubles[log.name] = points.doubles
            spans[log.name] = int(points.x[0]), int(points.x[-1])
            if at in ("best", "min", "max") and np.isnan(points.values).any():
                with_nan.append(log.name)
    for reason, names in lacking.items():
        scored.left_out.append(f"{human_count(len(names), 'run')} {reason}: {human_list(names)}")
    if doubles:
        count = human_count(sum(doubles.values()), "duplicate point")
        scored.left_out.append(
            f"{count} of '{escape(tag)}' in {human_count(len(doubles), 'run')}"
            f" ({human_list(doubles)}): the {duplicates} value of a step counts (duplicates=,"
            " --duplicates)"
        )
    scored.warnings.extend(_warn_diverged(scored.scores, tag, at))
    if with_nan:
        runs = f"{human_count(len(with_nan), 'run')} ({human_list(with_nan)})"
        scored.warnings.append(f"'{escape(tag)}' is NaN in places, which are skipped, in {runs}.")
    if not isinstance(at, int):
        scored.warnings.extend(_warn_spans(spans, tag, at))
    return scored


def tabulate(groups: Sequence[Members], scored: Sequence[Scored]) -> dict[str, NDArray[np.float64]]:
    """The finite scores of each group: a row a run, a column a tag, NaN where there is none."""
    found = {group.name: np.full((len(group.logs), len(scored)), np.nan) for group in groups}
    rows = {log.name: row for group in groups for row, log in enumerate(group.logs)}
    for column, of_tag in enumerate(scored):
        for one in of_tag.scores:
            if math.isfinite(one.score):
                found[one.group][rows[one.run], column] = one.score
    return found


def _points(log: RunLog, tag: str, duplicates: str) -> Points | None:
    series = log.scalars.get(tag)
    return None if series is None else place(log, series, STEP, duplicates)


def _why_none(points: Points | None, tag: str, at: At) -> str:
    """Why a run has no score; empty where it has one."""
    if points is None or not len(points):
        return f"without the tag '{escape(tag)}'"
    if isinstance(at, int) and points.x[-1] < at:
        return f"whose '{escape(tag)}' ends before step {at}"
    if isinstance(at, int) and points.x[0] > at:
        return f"whose '{escape(tag)}' begins after step {at}"
    if at == "auc" and len(points) < 2:
        return f"with one point of '{escape(tag)}', which has no area"
    return ""


def _score(points: Points, direction: Direction, at: At) -> float:
    values = points.values
    if isinstance(at, int):
        return float(values[np.searchsorted(points.x, at, side="right") - 1])
    if at == "last":
        return float(values[-1])
    if at == "auc":
        with np.errstate(invalid="ignore", over="ignore"):  # infinity less infinity
            widths = np.diff(points.x.astype(np.float64))
            return float((widths * (values[1:] + values[:-1])).sum() / 2)
    is_lowest = at == "min" or (at == "best" and direction.better == LOWER)
    found = np.fmin.reduce(values) if is_lowest else np.fmax.reduce(values)
    return float(cast("np.float64", found))


def _warn_spans(spans: Mapping[str, tuple[int, int]], tag: str, at: str) -> list[str]:
    """Say where a run is much shorter than others, which crashed, perhaps, or still goes on."""
    lengths = {name: last - first for name, (first, last) in spans.items()}
    longest = max(lengths.values(), default=0)
    least = (_SHORT_AREA if at == "auc" else _SHORT) * longest
    short = [name for name, length in lengths.items() if length < least]
    if not short:
        return []
    whole = next(span for name, span in spans.items() if lengths[name] == longest)
    return [
        f"{human_count(len(short), 'run')} of '{escape(tag)}' went less far than others"
        f" ({human_span(spans[short[0]])} and {human_span(whole)}, for example), and the"
        f" {KINDS[at]} hardly compares: {human_list(short)}."
    ]


def _warn_diverged(scores: list[Score], tag: str, at: At) -> list[str]:
    """Name the runs that the statistics go without, group by group."""
    lost: dict[str, list[Score]] = {}
    for one in scores:
        if not math.isfinite(one.score):
            lost.setdefault(one.group, []).append(one)
    return [
        f"{human_count(len(found), 'run')} of {name_group(group)}"
        f" {'has' if len(found) == 1 else 'have'} no finite {name_score(at)} of '{escape(tag)}'"
        f" and {'is' if len(found) == 1 else 'are'} left out, which flatters the group:"
        f" {human_list([f'{one.run} ({one.score})' for one in found])}."
        for group, found in lost.items()
    ]


def name_group(name: str) -> str:
    """A group's name as it is shown; the one group of all runs has none of its own."""
    return escape(name) or "all runs"
