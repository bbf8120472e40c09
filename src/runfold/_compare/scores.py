"""One score per run: the last, best or another value of a tag."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, SupportsIndex, cast

import numpy as np

from runfold._compare.score_kinds import KINDS
from runfold._humanize import did_you_mean, escape, human_count, human_list, human_span
from runfold._logdir.run_batches import split_runs
from runfold._logdir.run_engine import map_runs
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

# Runs rarely end at exactly the same step. A run that is 10% shorter is suspicious, and
# even 1% affects the area under a curve.
_SHORT, _SHORT_AREA = 0.9, 0.99


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one run; NaN or infinite if it diverged."""

    tag: str
    group: str
    run: str
    score: float


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of one tag, and sentences on runs without a score and on caveats."""

    scores: list[Score]
    left_out: list[str]
    warnings: list[str]


def check_at(at: At | SupportsIndex) -> At:
    """Return the kind of score, or the step.

    Raises UnknownStatistic, which suggests similar names, if there is no such score.
    """
    if isinstance(at, str):
        if at in KINDS:
            return at
        hint = did_you_mean(at, KINDS) or f"Available: {', '.join(KINDS)}, or a step."
        raise UnknownStatistic(f"No score '{escape(at)}'. {hint}")
    try:
        return operator.index(at)
    except TypeError:
        known = ", ".join(map(repr, KINDS))
        raise UnknownStatistic(f"at must be {known} or a step, got {escape(repr(at))}.") from None


def name_score(at: At) -> str:
    """Return a noun phrase for a score: `last value`, `value at step 100`."""
    return KINDS[at] if isinstance(at, str) else f"value at step {at}"


@dataclass(frozen=True, slots=True)
class RunScore:
    """The score of one run and tag, or the reason why there is none, and what to note about it."""

    score: float = math.nan
    reason: str = ""
    doubles: int = 0
    span: tuple[int, int] = (0, 0)
    has_nan: bool = False


Read = Callable[["RunLog"], RunScore]


def read_scores(
    logs: Sequence[RunLog], directions: Mapping[str, Direction], at: At, duplicates: str
) -> dict[str, Read]:
    """Return a function for each tag that returns a run's score.

    With a memory limit, all scores are computed now, in batches of runs.
    """
    if not any(log.cache is not None for log in logs):
        return {
            tag: partial(_read_score, direction=direction, at=at, duplicates=duplicates)
            for tag, direction in directions.items()
        }
    found: dict[str, dict[RunLog, RunScore | CannotFold]] = {tag: {} for tag in directions}
    read = partial(_read_all, directions=directions, at=at, duplicates=duplicates)
    for start, scores in map_runs(logs, read):
        for number, tag, score in scores:
            found[tag][logs[start + number]] = score
    return {tag: partial(_stored_score, own, tag) for tag, own in found.items()}


def _read_all(
    logs: Sequence[RunLog], directions: Mapping[str, Direction], at: At, duplicates: str
) -> list[tuple[int, str, RunScore | CannotFold]]:
    """Return the score of each run and tag, with the number of the run."""
    numbers = {log: number for number, log in enumerate(logs)}
    found: list[tuple[int, str, RunScore | CannotFold]] = []
    for batch in split_runs(logs, directions.__contains__):
        for log, tags in batch:
            for tag in tags:
                score: RunScore | CannotFold
                try:
                    score = _read_score(log, directions[tag], at, duplicates)
                except CannotFold as error:  # raised when the score is used
                    score = error
                found.append((numbers[log], tag, score))
    return found


def _stored_score(
    scores: Mapping[RunLog, RunScore | CannotFold], tag: str, log: RunLog
) -> RunScore:
    score = scores.get(log) or RunScore(reason=_why_none(None, tag, ""))
    if isinstance(score, CannotFold):
        raise score
    return score


def _read_score(log: RunLog, direction: Direction, at: At, duplicates: str) -> RunScore:
    points = _points(log, direction.tag, duplicates)
    reason = _why_none(points, direction.tag, at)
    if points is None or reason:
        return RunScore(reason=reason)
    return RunScore(
        _score(points, direction, at),
        doubles=points.doubles,
        span=(int(points.x[0]), int(points.x[-1])),
        has_nan=at in ("best", "min", "max") and bool(np.isnan(points.values).any()),
    )


def score_tag(
    groups: Sequence[Members],
    direction: Direction,
    at: At,
    duplicates: str = "last",
    read: Read | None = None,
) -> Scored:
    """Return the score of every run that has the tag.

    "last" is the value at the largest step and "auc" the area by the trapezoidal rule; both
    are NaN if computed from NaN. "best", "min" and "max" ignore NaN. A step selects the
    last value at or before that step. `read` returns the score of a run, from `read_scores`.
    Raises CannotFold for "best" without a direction, and for repeated steps unless `duplicates`
    says which value to use.
    """
    tag = direction.tag
    if at == "best" and direction.better is None:
        raise CannotFold(
            f"Cannot tell from the name of '{escape(tag)}' whether higher or lower is better."
            " Set better='higher' or 'lower' (--better), or use 'min' or 'max' (--at)."
        )
    if read is None:
        read = partial(_read_score, direction=direction, at=at, duplicates=duplicates)
    scored = Scored([], [], [])
    lacking: dict[str, list[str]] = {}
    with_nan: list[str] = []
    doubles: dict[str, int] = {}
    spans: dict[str, tuple[int, int]] = {}
    for group in groups:
        for log in group.logs:
            found = read(log)
            if found.reason:
                lacking.setdefault(found.reason, []).append(log.name)
                continue
            scored.scores.append(Score(tag, group.name, log.name, found.score))
            if found.doubles:
                doubles[log.name] = found.doubles
            spans[log.name] = found.span
            if found.has_nan:
                with_nan.append(log.name)
    for reason, names in lacking.items():
        scored.left_out.append(f"{human_count(len(names), 'run')} {reason}: {human_list(names)}")
    if doubles:
        count = human_count(sum(doubles.values()), "duplicate point")
        scored.left_out.append(
            f"{count} of '{escape(tag)}' in {human_count(len(doubles), 'run')}"
            f" ({human_list(doubles)}): the {duplicates} value at a step is used (duplicates=,"
            " --duplicates)"
        )
    scored.warnings.extend(_warn_diverged(scored.scores, tag, at))
    if with_nan:
        runs = f"{human_count(len(with_nan), 'run')} ({human_list(with_nan)})"
        scored.warnings.append(f"'{escape(tag)}' contains NaN in {runs}; NaN is ignored.")
    if not isinstance(at, int):
        scored.warnings.extend(_warn_spans(spans, tag, at))
    return scored


def tabulate(groups: Sequence[Members], scored: Sequence[Scored]) -> dict[str, NDArray[np.float64]]:
    """Return one array per group, with one row per run and one column per tag.

    Missing and infinite scores are NaN.
    """
    table = {group.name: np.full((len(group.logs), len(scored)), np.nan) for group in groups}
    rows = {log.name: row for group in groups for row, log in enumerate(group.logs)}
    for column, of_tag in enumerate(scored):
        for score in of_tag.scores:
            if math.isfinite(score.score):
                table[score.group][rows[score.run], column] = score.score
    return table


def _points(log: RunLog, tag: str, duplicates: str) -> Points | None:
    series = log.scalars.get(tag)
    return None if series is None else place(log, series, STEP, duplicates)


def _why_none(points: Points | None, tag: str, at: At) -> str:
    """Return the reason why a run has no score, or an empty string if it has one."""
    if points is None or not len(points):
        return f"without the tag '{escape(tag)}'"
    if isinstance(at, int) and points.x[-1] < at:
        return f"whose '{escape(tag)}' ends before step {at}"
    if isinstance(at, int) and points.x[0] > at:
        return f"whose '{escape(tag)}' begins after step {at}"
    if at == "auc" and len(points) < 2:
        return f"with only one point of '{escape(tag)}', so there is no area"
    return ""


def _score(points: Points, direction: Direction, at: At) -> float:
    values = points.values
    if isinstance(at, int):
        return float(values[np.searchsorted(points.x, at, side="right") - 1])
    if at == "last":
        return float(values[-1])
    if at == "auc":
        with np.errstate(invalid="ignore", over="ignore"):  # infinity minus infinity
            widths = np.diff(points.x.astype(np.float64))
            return float((widths * (values[1:] + values[:-1])).sum() / 2)
    is_lowest = at == "min" or (at == "best" and direction.better == LOWER)
    extreme = np.fmin.reduce(values) if is_lowest else np.fmax.reduce(values)
    return float(cast("np.float64", extreme))


def _warn_spans(spans: Mapping[str, tuple[int, int]], tag: str, at: str) -> list[str]:
    """Return a warning if runs are much shorter than others, because they crashed or still run."""
    lengths = {name: last - first for name, (first, last) in spans.items()}
    longest = max(lengths.values(), default=0)
    least = (_SHORT_AREA if at == "auc" else _SHORT) * longest
    short = [name for name, length in lengths.items() if length < least]
    if not short:
        return []
    full = next(span for name, span in spans.items() if lengths[name] == longest)
    return [
        f"'{escape(tag)}' spans fewer steps in {human_count(len(short), 'run')} than in others"
        f" (for example steps {human_span(spans[short[0]])} and {human_span(full)}), so their"
        f" {KINDS[at]} cannot be compared reliably: {human_list(short)}."
    ]


def _warn_diverged(scores: list[Score], tag: str, at: At) -> list[str]:
    """Return one warning per group about runs that are left out because they diverged."""
    diverged: dict[str, list[Score]] = {}
    for score in scores:
        if not math.isfinite(score.score):
            diverged.setdefault(score.group, []).append(score)
    return [
        f"{human_count(len(own), 'run')}{f' of {name_group(group)}' if group else ''}"
        f" {'has' if len(own) == 1 else 'have'} no finite {name_score(at)} of '{escape(tag)}'"
        f" and {'is' if len(own) == 1 else 'are'} left out, which makes the group look better:"
        f" {human_list([f'{score.run} ({score.score})' for score in own])}."
        for group, own in diverged.items()
    ]


def name_group(name: str) -> str:
    """Return a group's name for display; the group of all runs has an empty name."""
    return escape(name) or "all runs"
