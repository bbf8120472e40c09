"""Comparisons of groups, from logs to tables, a verdict and warnings."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.grouped_runs import write_groups
from helpers.logs import scalars, write
from scipy import stats

import runfold as rf
from runfold._compare.compare import compare
from runfold._compare.comparison import ROWS
from runfold.errors import CannotFold, UnknownStatistic, UnknownTag

FAST = [0.1, 0.12, 0.11, 0.09, 0.13, 0.1]
SLOW = [0.5, 0.45, 0.55, 0.5, 0.6]
OTHER = [0.1, 0.13, 0.12, 0.11, 0.1]


def test_two_groups_that_differ(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"slow": SLOW, "fast": FAST}})
    comparison = compare(logs, "loss", by="parent")
    assert [(row.group, row.n, row.mean) for row in comparison.groups] == [
        ("fast", 6, pytest.approx(np.mean(FAST))),
        ("slow", 5, pytest.approx(np.mean(SLOW))),
    ]
    (pair,) = comparison.pairs
    welch = stats.ttest_ind(FAST, SLOW, equal_var=False)
    assert (pair.a, pair.b, pair.p_welch) == ("fast", "slow", pytest.approx(welch.pvalue))
    assert pair.p_welch_holm == pair.p_welch
    low, high = welch.confidence_interval(0.95)
    assert comparison.sentence == (
        "fast is better than slow on loss (last value, lower is better, guessed from its name):"
        f" 0.108 against 0.52, a difference of -0.412 (95% CI {low:.3g} to {high:.3g};"
        " Welch p < 0.0001)."
        " fast beats slow in 100% of pairs of runs (95% CI 66.5% to 100%)."
    )
    assert comparison.warnings == ()
    assert comparison.left_out == ()
    assert comparison.overall == comparison.overall_pairs == ()


def test_two_groups_that_do_not_differ(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": FAST, "b": OTHER}})
    comparison = compare(logs, "loss", by="parent", better="higher", level=0.9)
    p = stats.ttest_ind(FAST, OTHER, equal_var=False).pvalue
    assert comparison.sentence.startswith(
        "No clear difference between b and a on loss (last value, higher is better):"
        " 0.112 against 0.108, a difference of 0.00367 (90% CI"
    )
    assert f"Welch p = {p:.2g})" in comparison.sentence


def test_verdict_on_three_groups_names_clear_and_unclear_differences(tmp_path: Path) -> None:
    groups = {"a": SLOW, "b": FAST, "c": [*SLOW[1:], 0.52]}
    logs = write_groups(tmp_path, {"acc": groups})
    comparison = compare(logs, "acc", by="parent")
    assert [(pair.a, pair.b) for pair in comparison.pairs] == [("a", "b"), ("c", "a"), ("c", "b")]
    welch = [stats.ttest_ind(groups[a], groups[b], equal_var=False) for a, b in ("ab", "ca", "cb")]
    corrected = 0.0
    for number, factor in zip(np.argsort([row.pvalue for row in welch]), (3, 2, 1), strict=True):
        corrected = max(corrected, factor * welch[number].pvalue)
        assert comparison.pairs[number].p_welch_holm == pytest.approx(corrected)
    # Not "c is best", because p against a is 0.91.
    assert comparison.sentence == (
        "No group is clearly best on acc (last value, higher is better, guessed from its name)."
        " c has the best mean, 0.524 (95% CI 0.455 to 0.593). It is clearly better than b"
        " (p = 0.00012), but not clearly better than a (p = 0.91)."
        " Welch's test, Holm-corrected over 3 pairs."
    )


def test_interval_and_p_value_of_a_row_have_the_same_correction(tmp_path: Path) -> None:
    groups = {"a": SLOW, "b": FAST, "c": [*SLOW[1:], 0.52]}
    comparison = compare(write_groups(tmp_path, {"acc": groups}), "acc", by="parent")
    p = {(pair.a, pair.b): pair.p_welch for pair in comparison.pairs}
    smallest = min(p, key=p.__getitem__)
    (pair,) = (pair for pair in comparison.pairs if (pair.a, pair.b) == smallest)
    welch = stats.ttest_ind(groups[pair.a], groups[pair.b], equal_var=False)
    plain, corrected = (welch.confidence_interval(level) for level in (0.95, 1 - 0.05 / 3))
    assert (pair.low, pair.high) == pytest.approx((plain.low, plain.high))
    assert (pair.low_holm, pair.high_holm) == pytest.approx((corrected.low, corrected.high))
    assert f"{corrected.low:.3g} to {corrected.high:.3g}" in str(comparison)
    assert comparison.correction == (
        "The 95% CI of a - b on one tag and the p-values are Holm-corrected over 3 pairs;"
        " no other interval is corrected."
    )
    assert comparison.correction in str(comparison).split("\n")
    assert comparison.correction in comparison._repr_html_()


def test_two_groups_on_two_tags_have_one_corrected_sentence_per_tag(tmp_path: Path) -> None:
    tags = {tag: {"a": FAST, "b": SLOW} for tag in ("x/loss", "y/loss")}
    comparison = compare(write_groups(tmp_path, tags), "*", by="parent")
    pair = comparison.pairs[0]
    assert pair.low_holm < pair.low < pair.high < pair.high_holm
    interval = f"(95% CI {pair.low_holm:.3g} to {pair.high_holm:.3g}; Welch p < 0.0001"
    assert interval in comparison.sentence.split("\n")[0]
    assert ", both Holm-corrected over 2 pairs)" in comparison.sentence.split("\n")[0]


def test_group_without_a_score_is_reported_and_does_not_hide_the_others(tmp_path: Path) -> None:
    tags = {
        "x/loss": {"a": FAST, "b": SLOW},
        "y/loss": {"a": FAST, "b": SLOW},
        "speed": {"c": [1.0]},
    }
    comparison = compare(write_groups(tmp_path, tags), "*/loss", by="parent")
    assert {(row.group, row.n) for row in comparison.groups} == {("a", len(FAST)), ("b", len(SLOW))}
    assert [row.group for row in comparison.overall] == ["a", "b"]
    assert comparison.left_out[-1] == "1 group without a finite score: c"


def test_duplicate_steps_have_the_same_value_as_in_the_table(tmp_path: Path) -> None:
    for run, value in (("a/1", 1.0), ("b/1", 2.0)):
        write(tmp_path / run, scalars("loss", (0, 9.0), (1, 8.0), (1, value)))
    runs = rf.open(tmp_path)
    comparison = runs.compare("loss", by="parent")
    assert [row.score for row in comparison.scores] == runs.table()["loss"].tolist() == [1.0, 2.0]
    assert comparison.left_out == (
        "2 duplicate points of 'loss' in 2 runs (a/1, b/1): the last value at a step is used"
        " (duplicates=, --duplicates)",
    )
    with pytest.raises(CannotFold, match="more than one value at step 1"):
        runs.compare("loss", by="parent", duplicates="error")


def test_groups_of_one_run_do_not_mention_a_correction(tmp_path: Path) -> None:
    comparison = compare(
        write_groups(tmp_path, {"acc": {"a": [1], "b": [2], "c": [3]}}), "acc", by="run"
    )
    assert "(no test)" in comparison.sentence
    assert "Holm" not in comparison.sentence
    assert comparison.sentence.endswith(").")


def test_best_of_three_groups_differs_clearly_from_both(tmp_path: Path) -> None:
    groups = {"a": [3456.0, 3457.0, 3458.0], "b": [1000.0, 1001.0, 1002.0], "c": [1.0, 2.0, 3.0]}
    comparison = compare(write_groups(tmp_path, {"reward": groups}), "reward", by="parent")
    assert comparison.sentence.startswith("a is best on reward (last value, higher")
    assert (
        ": 3457 (95% CI 3455 to 3459), better than b (p < 0.0001) and c (p <" in comparison.sentence
    )


def test_groups_can_share_the_best_mean(tmp_path: Path) -> None:
    groups = {"a": [1.0] * 5, "b": [1.0] * 5, "c": SLOW}
    comparison = compare(write_groups(tmp_path, {"acc": groups}), "acc", by="parent")
    assert (
        "a and b share the best mean, 1 (95% CI 1 to 1). a is clearly better" in comparison.sentence
    )


def test_no_group_is_clearly_best(tmp_path: Path) -> None:
    groups = {"a": FAST, "b": OTHER, "c": [*FAST, 0.13]}
    comparison = compare(write_groups(tmp_path, {"loss": groups}), "loss", by="parent")
    assert comparison.sentence.startswith("No group is clearly best on loss")
    assert "a has the best mean" in comparison.sentence


def test_verdict_with_unknown_direction_says_higher(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"norm": {"a": FAST, "b": SLOW}})
    comparison = compare(logs, "norm", by="parent")
    assert comparison.sentence.startswith(
        "b is higher than a on norm (last value, unknown whether higher or lower is better)"
    )
    assert comparison.sentence.endswith(
        "b is higher than a in 100% of pairs of runs (95% CI 66.5% to 100%)."
    )


def test_one_group_is_only_described(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": FAST}})
    comparison = compare(logs, "loss")
    assert comparison.pairs == ()
    assert comparison.sentence == (
        "Nothing to compare: the mean of all runs is 0.108 (95% CI 0.0929 to 0.124) on loss"
        " (last value, lower is better, guessed from its name). Set by= (--by) to form groups."
    )
    assert "the mean of 6 runs of a is" in compare(logs, "loss", by="parent").sentence


def test_few_runs_cause_a_warning(tmp_path: Path) -> None:
    groups = {"a": [1.0, 2.0, 3.0], "b": [7.0, 8.0, 9.0]}
    comparison = compare(write_groups(tmp_path, {"loss": groups}), "loss", by="parent")
    assert comparison.warnings == (
        "Few runs (3 of a, 3 of b): with fewer than 5 per group, intervals and p-values are"
        " unreliable.",
        "Regardless of the scores, the p-values of the Mann-Whitney and permutation tests are at"
        " least 0.1 for 3 runs against 3.",
    )
    assert comparison.pairs[0].p_permutation == 0.1


def test_warning_about_few_runs_includes_the_correction(tmp_path: Path) -> None:
    groups = {
        name: [number, number + 1, number + 2, number + 3] for number, name in enumerate("abc")
    }
    comparison = compare(write_groups(tmp_path, {"loss": groups}), "loss", by="parent")
    assert "at least 0.0286 (0.0857 when corrected) for 4 runs against 4" in comparison.warnings[1]


def test_limits_of_few_runs_are_one_warning(tmp_path: Path) -> None:
    groups = {name: list(range(2 + number)) for number, name in enumerate("abc")}
    comparison = compare(write_groups(tmp_path, {"loss": groups}), "loss", by="parent")
    assert len(comparison.warnings) == 2
    assert (
        "are at least 0.2 for 2 runs against 3, 0.133 for 2 runs against 4"
        in comparison.warnings[1]
    )


@pytest.mark.parametrize(
    ("a", "b", "phrase"),
    [
        ([1.0], [2.0], "a is ahead of b on loss (last value, lower is better, guessed from its"),
        ([0.1] * 5, [0.2] * 5, "because the runs within each group have equal scores"),
        ([0.1] * 5, [0.1] * 5, "a and b have equal means on loss"),
        ([0.1] * 5, [0.3, 0.4, 0.5, 0.6, 0.7], "a is better than b"),
        ([math.nan], [math.inf], "No run has a finite score on loss"),
        ([math.nan] * 2, [1.0] * 2, "Nothing to compare"),
        ([1e300, -1e300, 3e300], [1e300, 2e300, 5e299], "the squared scores overflow float64"),
    ],
)
def test_groups_without_runs_or_spread_have_a_verdict(
    a: list[float], b: list[float], phrase: str, tmp_path: Path
) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": a, "b": b}})
    comparison = compare(logs, "loss", by="parent")
    assert phrase in comparison.sentence
    assert str(comparison)


def test_diverged_run_is_left_out_and_reported(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": [*FAST, math.nan], "b": SLOW}})
    comparison = compare(logs, "loss", by="parent")
    assert comparison.groups[0].n == 6
    assert "1 run of a has no finite last value of 'loss'" in comparison.warnings[0]
    assert "a/seed-6 (nan)" in comparison.warnings[0]
    assert "Warning: 1 run of a has no finite" in str(comparison)
    assert [row.run for row in comparison.scores if math.isnan(row.score)] == ["a/seed-6"]


def test_several_tags_are_also_compared_together(tmp_path: Path) -> None:
    tags = {"loss": {"a": FAST, "b": SLOW}, "acc": {"a": SLOW, "b": FAST}, "norm": {"a": FAST}}
    logs = write_groups(tmp_path, tags)
    comparison = compare(logs, ["loss", "acc"], by="parent", normalize="range")
    assert [row.tag for row in comparison.pairs] == ["loss", "acc"]
    assert comparison.pairs[0].p_welch_holm > comparison.pairs[0].p_welch
    assert [row.group for row in comparison.overall] == ["a", "b"]
    assert comparison.sentence.split("\n")[2].startswith(
        "Across 2 tags, a is better than b: an interq"
    )
    (pair,) = comparison.overall_pairs
    assert (pair.a, pair.b, pair.improvement) == ("a", "b", 1.0)
    assert comparison == compare(logs, ["loss", "acc"], by="parent", normalize="range")


def test_tags_of_both_directions_still_have_a_winner(tmp_path: Path) -> None:
    tags = {"loss": {"a": SLOW, "b": FAST}, "acc": {"a": FAST, "b": SLOW}}
    comparison = compare(write_groups(tmp_path, tags), "*", by="parent")
    assert comparison.sentence.split("\n")[-1] == (
        "Across 2 tags, b beats a in 100% of pairs of runs (95% CI 66.5% to 100%)."
    )
    assert "over all tags" not in str(comparison)


def test_single_runs_have_no_clear_winner(tmp_path: Path) -> None:
    tags = {tag: {"a": [1.0], "b": [2.0]} for tag in ("loss/x", "loss/y")}
    comparison = compare(write_groups(tmp_path, tags), "*", by="parent")
    assert comparison.sentence.split("\n")[-1] == (
        "a is ahead of b across 2 tags, but there are too few runs for an interval: an"
        " interquartile mean of 1 (no 95% CI) against 2 (no 95% CI). a beats b in 100% of pairs"
        " of runs."
    )


def test_verdict_on_several_tags_names_clear_and_unclear_differences(tmp_path: Path) -> None:
    groups = {"a": FAST, "b": SLOW, "c": OTHER}
    logs = write_groups(tmp_path, {"loss/x": groups, "loss/y": groups})
    last = compare(logs, "loss/*", by="parent").sentence.split("\n")[-1]
    iqm = stats.trim_mean([*FAST, *FAST], 0.25)
    assert f"a has the best interquartile mean, {iqm:.3g} (95% CI" in last
    assert "clearly different from b, not clearly different from c" in last


def test_tables_are_available_as_columns_and_frames(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {tag: {"a": FAST, "b": SLOW} for tag in ("loss/x", "loss/y")})
    comparison = compare(logs, "*", by="parent")
    for table in ROWS:
        columns = comparison.columns(table)
        assert len(columns[next(iter(columns))]) == len(getattr(comparison, table)) > 0
        pd.testing.assert_frame_equal(pd.DataFrame(comparison.frame(table)), pd.DataFrame(columns))
    assert comparison.columns("scores")["run"] == [row.run for row in comparison.scores]
    with pytest.raises(UnknownStatistic, match=r"no table 'pair'. Did you mean 'pairs'"):
        comparison.columns("pair")


def test_text_and_html_show_tables_and_sentence(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"<a>": FAST, "b": SLOW}, "acc": {"c": [1.0]}})
    comparison = compare(logs, "loss", by="parent")
    lines = repr(comparison).split("\n")
    assert lines[0].split() == ["group", "n", "mean", "std", "95%", "CI", "median", "iqm"]
    assert lines[4].split()[:3] == ["a", "b", "a"]
    assert comparison.sentence in lines
    assert lines[-2:] == [
        "Left out: 1 run without the tag 'loss': c/seed-0.",
        "Left out: 1 group without a finite score: c.",
    ]
    assert "Left out: 1 run without" in comparison._repr_html_()
    assert comparison._repr_html_().count("<table>") == 2
    assert "<a>" not in comparison._repr_html_()


def test_invalid_arguments_raise_a_one_line_message(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": FAST, "b": SLOW}})
    with pytest.raises(UnknownTag, match=r"^No tag 'los' of kind scalar. Did you mean 'loss'\?$"):
        compare(logs, "los", by="parent")
    with pytest.raises(UnknownStatistic, match=r"^No score 'bst'. Did you mean 'best'\?$"):
        compare(logs, "loss", by="parent", at="bst")
    with pytest.raises(CannotFold, match=r"^No run has a score: 11 runs whose 'loss' ends before"):
        compare(logs, "loss", by="parent", at=7)
    with pytest.raises(
        CannotFold, match=r"^level must be between 0 and 1, such as 0.95, got 95\.$"
    ):
        compare(logs, "loss", by="parent", level=95)
    with pytest.raises(CannotFold, match=r"^resamples must be at least 100, got 1\.$"):
        compare(logs, "loss", by="parent", resamples=1)
    with pytest.raises(CannotFold, match=r"not 'lst'. Did you mean 'last'\?$"):
        compare(logs, "loss", by="parent", duplicates="lst")


def test_several_tags_without_a_finite_score_are_left_out(tmp_path: Path) -> None:
    for lr in (1, 2):
        write(tmp_path / f"lr={lr}", *(scalars(tag, (1, math.nan)) for tag in ("a", "b")))
    found = rf.open(tmp_path).compare(["a", "b"], by=r"lr=(?P<lr>\d)", better="lower")
    assert (found.groups, found.pairs, found.overall) == ((), (), ())
    left_out = "is left out of the comparison over all tags: no group has a score for this tag."
    assert found.warnings[-2:] == (f"'a' {left_out}", f"'b' {left_out}")
