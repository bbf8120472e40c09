"""The verdict of a comparison in words, and warnings about it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from runfold._compare.pairs import Pair, Summary, smallest_p
from runfold._compare.scores import At, name_group, name_score
from runfold._humanize import escape, human_count, human_list

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runfold._compare.task_scores import Overall, OverallPair
    from runfold._tables.by_run.direction import Direction

FEW = 5
_LISTED = 6


def judge(
    direction: Direction,
    groups: Sequence[Summary],
    pairs: Sequence[Pair],
    at: At,
    level: float,
    tests: int,
) -> str:
    """Return the verdict on one tag; `tests` is the number of Holm-corrected pairs."""
    known = [group for group in groups if group.n]
    where = f"on {escape(direction.tag)} ({_how(direction, at)})"
    if not known:
        return f"No run has a finite score {where}."
    if len(known) == 1:
        (group,) = known
        runs = "all runs"
        hint = " Set by= (--by) to form groups."
        if group.group:
            runs = f"{human_count(group.n, 'run')} of {name_group(group.group)}"
            hint = ""
        return f"Nothing to compare: the mean of {runs} is {_mean(group, level)} {where}.{hint}"
    if len(pairs) == 1:
        by_name = {group.group: group for group in known}
        return _judge_two(pairs[0], by_name, direction, where, level, tests)
    return _judge_many(known, pairs, direction, where, level, tests)


def _judge_two(
    pair: Pair,
    groups: dict[str, Summary],
    direction: Direction,
    where: str,
    level: float,
    tests: int,
) -> str:
    a, b = name_group(pair.a), name_group(pair.b)
    means = _both_means(groups[pair.a].mean, groups[pair.b].mean)
    fact = f"{means}, a difference of {number(pair.difference)}"
    wins = f" {_wins(pair, level, bool(direction.better))}."
    if math.isnan(pair.p_welch):
        why = _why_untested(pair, [groups[pair.a].std, groups[pair.b].std])
        if not pair.difference:
            return (
                f"{a} and {b} have equal means {where}: {means}. No t-test is possible because"
                f" {why}."
            )
        return (
            f"{a} is ahead of {b} {where}, but no t-test is possible because {why}: {fact}.{wins}"
        )
    corrected = f", both Holm-corrected over {tests} pairs" if tests > 1 else ""
    interval = show_interval(pair.low_holm, pair.high_holm, level)
    tested = f"{interval}; Welch {_equals(pair.p_welch_holm)}{corrected}"
    if pair.p_welch_holm < 1 - level:
        claim = f"{a} is {_word(direction)} than {b} {where}"
    else:
        claim = f"No clear difference between {a} and {b} {where}"
    return f"{claim}: {fact} ({tested}).{wins}"


def explain_correction(tests: int, level: float) -> str:
    """Return a sentence on the correction of the pairs; empty if there is nothing to correct."""
    if tests < 2:
        return ""
    return (
        f"The {name_level(level)} of a - b on one tag and the p-values are Holm-corrected over"
        f" {human_count(tests, 'pair')}; no other interval is corrected."
    )


def _wins(pair: Pair | OverallPair, level: float, is_known: bool) -> str:
    verb = "beats" if is_known else "is higher than"
    ends = ""
    if not math.isnan(pair.improvement_low):
        ends = show_interval(pair.improvement_low, pair.improvement_high, level, percent)
        ends = f" ({ends})"
    share = percent(pair.improvement)
    return f"{name_group(pair.a)} {verb} {name_group(pair.b)} in {share} of pairs of runs{ends}"


def _why_untested(pair: Pair, stds: Sequence[float]) -> str:
    if min(pair.n_a, pair.n_b) < 2:
        return "a group has only one run"
    return (
        "the runs within each group have equal scores"
        if not any(stds)
        else "the squared scores overflow float64"
    )


def _judge_many(
    groups: Sequence[Summary],
    pairs: Sequence[Pair],
    direction: Direction,
    where: str,
    level: float,
    tests: int,
) -> str:
    """Return a sentence on which groups differ clearly from the group with the best mean."""
    best = max(groups, key=lambda group: direction.sign * group.mean)
    level_with = [group.group for group in groups if group.mean == best.mean]
    clear: list[str] = []
    unclear: list[str] = []
    for pair in pairs:
        if pair.a == best.group and pair.b not in level_with:
            is_clear = pair.p_welch_holm < 1 - level
            p = "no test" if math.isnan(pair.p_welch_holm) else _equals(pair.p_welch_holm)
            (clear if is_clear else unclear).append(f"{name_group(pair.b)} ({p})")
    name, word, mean = name_group(best.group), _word(direction), _mean(best, level)
    top = "best" if direction.better else "highest"
    note = f" Welch's test, Holm-corrected over {human_count(tests, 'pair')}." if tests else ""
    if len(level_with) == 1 and not unclear:
        return f"{name} is {top} {where}: {mean}, {word} than {_join(clear)}.{note}"
    has = (
        f"{name} has" if len(level_with) == 1 else f"{_join([*map(name_group, level_with)])} share"
    )
    claims = [f"clearly {word} than {_join(clear)}"] if clear else []
    claims += [f"not clearly {word} than {_join(unclear)}"] if unclear else []
    subject = "It" if len(level_with) == 1 else name
    than = f" {subject} is {', but '.join(claims)}." if claims else ""
    return f"No group is clearly {top} {where}. {has} the {top} mean, {mean}.{than}{note}"


def judge_overall(
    groups: Sequence[Overall], pairs: Sequence[OverallPair], level: float, is_known: bool
) -> str:
    """Return the verdict on all tags together; empty if there is none."""
    if not pairs:
        return ""
    where = f"across {human_count(pairs[0].tasks, 'tag')}"
    if math.isnan(pairs[0].difference):
        if not is_known or len(pairs) > 1:
            return ""
        return f"{where.capitalize()}, {_wins(pairs[0], level, True)}."
    # The better group of each pair is first, so the best group is first in all its pairs.
    seconds = {pair.b for pair in pairs}
    best = next(group for group in groups if group.group not in seconds)
    own = [pair for pair in pairs if pair.a == best.group]
    name = name_group(best.group)
    mean = f"{number(best.iqm)} ({show_interval(best.low, best.high, level)})"
    top = "best" if is_known else "highest"
    if len(own) > 1:
        clear = [name_group(pair.b) for pair in own if _is_clear(pair)]
        unclear = [name_group(pair.b) for pair in own if not _is_clear(pair)]
        differs = f", clearly different from {_join(clear)}" if clear else ""
        similar = f", not clearly different from {_join(unclear)}" if unclear else ""
        return (
            f"{where.capitalize()}, {name} has the {top} interquartile mean,"
            f" {mean}{differs}{similar} (by bootstrap intervals of the differences, not corrected"
            " for multiple comparisons)."
        )
    (pair,) = own
    (other,) = (group for group in groups if group.group == pair.b)
    b, against = name_group(pair.b), show_interval(other.low, other.high, level)
    word = "better" if is_known else "higher"
    if math.isnan(pair.low):
        claim = f"{name} is ahead of {b} {where}, but there are too few runs for an interval"
    elif _is_clear(pair):
        claim = f"{where.capitalize()}, {name} is {word} than {b}"
    else:
        claim = f"No clear difference between {name} and {b} {where}"
    return (
        f"{claim}: an interquartile mean of {mean} against {number(other.iqm)} ({against})."
        f" {_wins(pair, level, is_known)}."
    )


def _is_clear(pair: OverallPair) -> bool:
    return pair.low > 0 or pair.high < 0


def warn(groups: Sequence[Summary], pairs: Sequence[Pair], level: float) -> list[str]:
    """Return warnings about the reliability of the statistics, as sentences."""
    known = [group for group in groups if group.n]
    warnings = []
    by_size = sorted(known, key=lambda group: -group.n)
    few = {group.group: group.n for group in by_size if group.n < FEW}
    if few:
        counts = human_list(
            [
                f"{n} of {name_group(group)}" if group else f"{n} in total"
                for group, n in few.items()
            ]
        )
        warnings.append(
            f"Few runs ({counts}): with fewer than {FEW} per group, intervals and p-values are"
            " unreliable."
        )
    sizes = {tuple(sorted((pair.n_a, pair.n_b))) for pair in pairs}
    limits = []
    for n_a, n_b in sorted(sizes):
        least = smallest_p(n_a, n_b)
        # If all groups have the same size, Holm multiplies the smallest p by the number of pairs.
        corrected = min(least * len(pairs), 1.0) if len(sizes) == 1 else least
        if corrected >= 1 - level:
            note = f" ({number(corrected)} when corrected)" if corrected > least else ""
            runs = f"{human_count(n_a, 'run')} against {n_b}"
            limits.append(f"{number(least)}{note} for {runs}")
    if limits:
        warnings.append(
            "Regardless of the scores, the p-values of the Mann-Whitney and permutation tests are"
            f" at least {human_list(limits)}."
        )
    equal = [f"{name_group(group.group)} ({group.tag})" for group in known if group.std == 0]
    if equal:
        warnings.append(f"All scores are equal in {human_list(equal)}.")
    return warnings


def number(value: float, digits: int = 3) -> str:
    """Return a number as text with `digits` significant digits; `-` for NaN.

    A number below 1e6 keeps all digits before the decimal point.
    """
    if math.isnan(value):
        return "-"
    # 3457 instead of 3.46e+03.
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e6 else f"{value:.{digits}g}"


def percent(share: float) -> str:
    """Return a share as a percentage, such as `93.3%`."""
    return "-" if math.isnan(share) else f"{100 * share:.3g}%"


def show_p(p: float) -> str:
    """Return a p-value as text: `0.012`, `<0.0001`, or `-` if there was no test."""
    if math.isnan(p):
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.2g}"


def show_interval(
    low: float, high: float, level: float, show: Callable[[float], str] = number
) -> str:
    """Return an interval for a sentence: `95% CI 0.1 to 0.2`."""
    if math.isnan(low):
        return f"no {name_level(level)}"
    return f"{name_level(level)} {show_span(low, high, show)}"


def show_span(low: float, high: float, show: Callable[[float], str] = number) -> str:
    """Return the ends of an interval as text, `0.1 to 0.2`; `-` if there is none."""
    return "-" if math.isnan(low) else f"{show(low)} to {show(high)}"


def name_level(level: float) -> str:
    """Return the name of an interval: `95% CI`."""
    return f"{100 * level:.6g}% CI"


def _how(direction: Direction, at: At) -> str:
    if direction.better is None:
        return f"{name_score(at)}, unknown whether higher or lower is better"
    guess = ", guessed from its name" if direction.is_guessed else ""
    return f"{name_score(at)}, {direction.better} is better{guess}"


def _mean(group: Summary, level: float) -> str:
    return f"{number(group.mean)} ({show_interval(group.low, group.high, level)})"


def _word(direction: Direction) -> str:
    return "better" if direction.better else "higher"


def _equals(p: float) -> str:
    return f"p {show_p(p).replace('<', '< ')}" if p < 0.0001 else f"p = {show_p(p)}"


def _both_means(a: float, b: float) -> str:
    """Return two means with enough digits to distinguish them."""
    digits = next((n for n in range(3, 17) if number(a, n) != number(b, n)), 3)
    return f"{number(a, digits)} against {number(b, digits)}"


def _join(parts: Sequence[str]) -> str:
    if len(parts) > _LISTED:
        parts = [*parts[: _LISTED - 1], f"{len(parts) - _LISTED + 1} more"]
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
