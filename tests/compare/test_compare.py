"""Groups of runs compared: from logs to tables, a sentence and warnings."""

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
    found = compare(logs, "loss", by="parent")
    assert [(one.group, one.n, one.mean) for one in found.groups] == [
        ("fast", 6, pytest.approx(np.mean(FAST))),
        ("slow", 5, pytest.approx(np.mean(SLOW))),
    ]
    (pair,) = found.pairs
    welch = stats.ttest_ind(FAST, SLOW, equal_var=False)
    assert (pair.a, pair.b, pair.p_welch) == ("fast", "slow", pytest.approx(welch.pvalue))
    assert pair.p_welch_holm == pair.p_welch
    low, high = welch.confidence_interval(0.95)
    assert found.sentence == (
        "fast is better than slow on loss (last value, lower is better, guessed from its name):"
        f" 0.108 against 0.52, a difference of -0.412 (95% CI {low:.3g} to {high:.3g};"
        " Welch p < 0.0001)."
        " A run of fast beats one of slow in 100% of pairs (95% CI 66.5% to 100%)."
    )
    assert found.warnings == ()
    assert found.left_out == ()
    assert found.overall == found.overall_pairs == ()


def test_two_groups_that_do_not_differ(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": FAST, "b": OTHER}})
    found = compare(logs, "loss", by="parent", better="higher", level=0.9)
    p = stats.ttest_ind(FAST, OTHER, equal_var=False).pvalue
    assert found.sentence.startswith(
        "No clear difference between b and a on loss (last value, higher is better):"
        " 0.112 against 0.108, a difference of 0.00367 (90% CI"
    )
    assert f"Welch p = {p:.2g})" in found.sentence


def test_three_groups_name_whom_the_best_is_told_from(tmp_path: Path) -> None:
    groups = {"a": SLOW, "b": FAST, "c": [*SLOW[1:], 0.52]}
    logs = write_groups(tmp_path, {"acc": groups})
    found = compare(logs, "acc", by="parent")
    assert [(pair.a, pair.b) for pair in found.pairs] == [("a", "b"), ("c", "a"), ("c", "b")]
    welch = [stats.ttest_ind(groups[a], groups[b], equal_var=False) for a, b in ("ab", "ca", "cb")]
    corrected = 0.0
    for number, factor in zip(np.argsort([one.pvalue for one in welch]), (3, 2, 1), strict=True):
        corrected = max(corrected, factor * welch[number].pvalue)
        assert found.pairs[number].p_welch_holm == pytest.approx(corrected)
    # Not "c is best", which a p of 0.91 against a does not bear out.
    assert found.sentence == (
        "No group is clearly best on acc (last value, higher is better, guessed from its name)."
        " c has the best mean, 0.524 (95% CI 0.455 to 0.593). It is clearly better than b"
        " (p = 0.00012), but not clearly better than a (p = 0.91)."
        " Welch's test, Holm-corrected over 3 pairs."
    )


def test_interval_and_p_value_of_a_row_are_corrected_alike_and_it_is_said(tmp_path: Path) -> None:
    groups = {"a": SLOW, "b": FAST, "c": [*SLOW[1:], 0.52]}
    found = compare(write_groups(tmp_path, {"acc": groups}), "acc", by="parent")
    p = {(pair.a, pair.b): pair.p_welch for pair in found.pairs}
    smallest = min(p, key=p.__getitem__)
    (pair,) = (pair for pair in found.pairs if (pair.a, pair.b) == smallest)
    welch = stats.ttest_ind(groups[pair.a], groups[pair.b], equal_var=False)
    plain, corrected = (welch.confidence_interval(level) for level in (0.95, 1 - 0.05 / 3))
    assert (pair.low, pair.high) == pytest.approx((plain.low, plain.high))
    assert (pair.low_holm, pair.high_holm) == pytest.approx((corrected.low, corrected.high))
    assert f"{corrected.low:.3g} to {corrected.high:.3g}" in str(found)
    assert found.correction == (
        "The 95% CI of a - b on one tag and the p-values are Holm-corrected over 3 pairs;"
        " no other interval is corrected."
    )
    assert found.correction in str(found).split("\n")
    assert found.correction in found._repr_html_()


def test_two_groups_on_two_tags_have_one_corrected_sentence_each(tmp_path: Path) -> None:
    tags = {tag: {"a": FAST, "b": SLOW} for tag in ("x/loss", "y/loss")}
    found = compare(write_groups(tmp_path, tags), "*", by="parent")
    pair = found.pairs[0]
    assert pair.low_holm < pair.low < pair.high < pair.high_holm
    interval = f"(95% CI {pair.low_holm:.3g} to {pair.high_holm:.3g}; Welch p < 0.0001"
    assert interval in found.sentence.split("\n")[0]
    assert ", both Holm-corrected over 2 pairs)" in found.sentence.split("\n")[0]


def test_group_without_a_score_is_named_and_does_not_hide_the_others(tmp_path: Path) -> None:
    tags = {
        "x/loss": {"a": FAST, "b": SLOW},
        "y/loss": {"a": FAST, "b": SLOW},
        "speed": {"c": [1.0]},
    }
    found = compare(write_groups(tmp_path, tags), "*/loss", by="parent")
    assert {(row.group, row.n) for row in found.groups} == {("a", len(FAST)), ("b", len(SLOW))}
    assert [row.group for row in found.overall] == ["a", "b"]
    assert found.left_out[-1] == "1 group without a finite score: c"


def test_several_values_at_one_step_count_as_in_the_table(tmp_path: Path) -> None:
    for run, value in (("a/1", 1.0), ("b/1", 2.0)):
        write(tmp_path / run, scalars("loss", (0, 9.0), (1, 8.0), (1, value)))
    runs = rf.open(tmp_path)
    found = runs.compare("loss", by="parent")
    assert [one.score for one in found.scores] == runs.table()["loss"].tolist() == [1.0, 2.0]
    assert found.left_out == (
        "2 duplicate points of 'loss' in 2 runs (a/1, b/1): the last value of a step counts"
        " (duplicates=, --duplicates)",
    )
    with pytest.raises(CannotFold, match="more than one value at step 1"):
        runs.compare("loss", by="parent", duplicates="error")


def test_groups_of_one_run_are_not_said_to_be_corrected(tmp_path: Path) -> None:
    found = compare(
        write_groups(tmp_path, {"acc": {"a": [1], "b": [2], "c": [3]}}), "acc", by="run"
    )
    assert "(no test)" in found.sentence
    assert "Holm" not in found.sentence
    assert found.sentence.endswith(").")


def test_best_of_three_groups_is_told_from_both(tmp_path: Path) -> None:
    groups = {"a": [3456.0, 3457.0, 3458.0], "b": [1000.0, 1001.0, 1002.0], "c": [1.0, 2.0, 3.0]}
    found = compare(write_groups(tmp_path, {"reward": groups}), "reward", by="parent")
    assert found.sentence.startswith("a is best on reward (last value, higher")
    assert ": 3457 (95% CI 3455 to 3459), better than b (p < 0.0001) and c (p <" in found.sentence


def test_groups_share_the_best_mean(tmp_path: Path) -> None:
    groups = {"a": [1.0] * 5, "b": [1.0] * 5, "c": SLOW}
    found = compare(write_groups(tmp_path, {"acc": groups}), "acc", by="parent")
    assert "a and b share the best mean, 1 (95% CI 1 to 1). a is clearly better" in found.sentence


def test_groups_none_of_which_stands_out(tmp_path: Path) -> None:
    groups = {"a": FAST, "b": OTHER, "c": [*FAST, 0.13]}
    found = compare(write_groups(tmp_path, {"loss": groups}), "loss", by="parent")
    assert found.sentence.startswith("No group is clearly best on loss")
    assert "a has the best mean" in found.sentence


def test_unknown_direction_speaks_of_higher(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"norm": {"a": FAST, "b": SLOW}})
    found = compare(logs, "norm", by="parent")
    assert found.sentence.startswith(
        "b is higher than a on norm (last value, which way is better is unknown)"
    )
    assert found.sentence.endswith(
        "A run of b is higher than one of a in 100% of pairs (95% CI 66.5% to 100%)."
    )


def test_one_group_is_only_described(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": FAST}})
    found = compare(logs, "loss")
    assert found.pairs == ()
    assert found.sentence == (
        "Nothing to compare: the mean of all runs is 0.108 (95% CI 0.0929 to 0.124) on loss"
        " (last value, lower is better, guessed from its name). by= (--by) makes groups."
    )
    assert "the mean of 6 runs of a is" in compare(logs, "loss", by="parent").sentence


def test_few_runs_are_warned_of(tmp_path: Path) -> None:
    groups = {"a": [1.0, 2.0, 3.0], "b": [7.0, 8.0, 9.0]}
    found = compare(write_groups(tmp_path, {"loss": groups}), "loss", by="parent")
    assert found.warnings == (
        "Few runs (3 of a, 3 of b): with fewer than 5 a group, intervals and p-values are"
        " unreliable.",
        "Whatever the scores, the p of Mann-Whitney's and of the permutation test is at least 0.1"
        " for 3 runs against 3.",
    )
    assert found.pairs[0].p_permutation == 0.1


def test_correction_counts_in_what_few_runs_can_show(tmp_path: Path) -> None:
    groups = {
        name: [number, number + 1, number + 2, number + 3] for number, name in enumerate("abc")
    }
    found = compare(write_groups(tmp_path, {"loss": groups}), "loss", by="parent")
    assert "at least 0.0286 (0.0857 when corrected) for 4 runs against 4" in found.warnings[1]


def test_what_few_runs_can_show_is_one_warning(tmp_path: Path) -> None:
    groups = {name: list(range(2 + number)) for number, name in enumerate("abc")}
    found = compare(write_groups(tmp_path, {"loss": groups}), "loss", by="parent")
    assert len(found.warnings) == 2
    assert "is at least 0.2 for 2 runs against 3, 0.133 for 2 runs against 4" in found.warnings[1]


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        ([1.0], [2.0], "a is ahead of b on loss (last value, lower is better, guessed from its"),
        ([0.1] * 5, [0.2] * 5, "no t-test is possible, as no group has a spread"),
        ([0.1] * 5, [0.1] * 5, "a and b are level on loss"),
        ([0.1] * 5, [0.3, 0.4, 0.5, 0.6, 0.7], "a is better than b"),
        ([math.nan], [math.inf], "No run has a finite score on loss"),
        ([math.nan] * 2, [1.0] * 2, "Nothing to compare"),
        ([1e300, -1e300, 3e300], [1e300, 2e300, 5e299], "beyond float64 if squared"),
    ],
)
def test_groups_without_runs_or_spread_are_survived(
    a: list[float], b: list[float], says: str, tmp_path: Path
) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": a, "b": b}})
    found = compare(logs, "loss", by="parent")
    assert says in found.sentence
    assert str(found)


def test_diverged_run_is_left_out_of_the_statistics_and_named(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": [*FAST, math.nan], "b": SLOW}})
    found = compare(logs, "loss", by="parent")
    assert found.groups[0].n == 6
    assert "1 run of a has no finite last value of 'loss'" in found.warnings[0]
    assert "a/seed-6 (nan)" in found.warnings[0]
    assert "Beware: 1 run of a has no finite" in str(found)
    assert [one.run for one in found.scores if math.isnan(one.score)] == ["a/seed-6"]


def test_several_tags_are_also_taken_together(tmp_path: Path) -> None:
    tags = {"loss": {"a": FAST, "b": SLOW}, "acc": {"a": SLOW, "b": FAST}, "norm": {"a": FAST}}
    logs = write_groups(tmp_path, tags)
    found = compare(logs, ["loss", "acc"], by="parent", normalize="range")
    assert [one.tag for one in found.pairs] == ["loss", "acc"]
    assert found.pairs[0].p_welch_holm > found.pairs[0].p_welch
    assert [one.group for one in found.overall] == ["a", "b"]
    assert found.sentence.split("\n")[2].startswith("Over 2 tags, a is better than b: an interq")
    (pair,) = found.overall_pairs
    assert (pair.a, pair.b, pair.improvement) == ("a", "b", 1.0)
    assert found == compare(logs, ["loss", "acc"], by="parent", normalize="range")


def test_tags_of_both_directions_still_say_who_wins(tmp_path: Path) -> None:
    tags = {"loss": {"a": SLOW, "b": FAST}, "acc": {"a": FAST, "b": SLOW}}
    found = compare(write_groups(tmp_path, tags), "*", by="parent")
    assert found.sentence.split("\n")[-1] == (
        "Over 2 tags, a run of b beats one of a in 100% of pairs (95% CI 66.5% to 100%)."
    )
    assert "over all tags" not in str(found)


def test_one_run_a_group_and_tag_is_ahead_at_most(tmp_path: Path) -> None:
    tags = {tag: {"a": [1.0], "b": [2.0]} for tag in ("loss/x", "loss/y")}
    found = compare(write_groups(tmp_path, tags), "*", by="parent")
    assert found.sentence.split("\n")[-1] == (
        "a is ahead of b over 2 tags, as far as so few runs can tell: an interquartile mean of 1"
        " (no 95% CI) against 2 (no 95% CI). A run of a beats one of b in 100% of pairs."
    )


def test_several_tags_and_groups_name_whom_the_best_is_told_from(tmp_path: Path) -> None:
    groups = {"a": FAST, "b": SLOW, "c": OTHER}
    logs = write_groups(tmp_path, {"loss/x": groups, "loss/y": groups})
    last = compare(logs, "loss/*", by="parent").sentence.split("\n")[-1]
    iqm = stats.trim_mean([*FAST, *FAST], 0.25)
    assert f"a has the best interquartile mean, {iqm:.3g} (95% CI" in last
    assert "clearly apart from b, not clearly apart from c" in last


def test_tables_come_as_columns_and_frames(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {tag: {"a": FAST, "b": SLOW} for tag in ("loss/x", "loss/y")})
    found = compare(logs, "*", by="parent")
    for table in ROWS:
        columns = found.columns(table)
        assert len(columns[next(iter(columns))]) == len(getattr(found, table)) > 0
        pd.testing.assert_frame_equal(pd.DataFrame(found.frame(table)), pd.DataFrame(columns))
    assert found.columns("scores")["run"] == [one.run for one in found.scores]
    with pytest.raises(UnknownStatistic, match=r"no table 'pair'. Did you mean 'pairs'"):
        found.columns("pair")


def test_text_and_html_show_tables_and_sentence(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"<a>": FAST, "b": SLOW}, "acc": {"c": [1.0]}})
    found = compare(logs, "loss", by="parent")
    lines = repr(found).split("\n")
    assert lines[0].split() == ["group", "n", "mean", "std", "95%", "CI", "median", "iqm"]
    assert lines[4].split()[:3] == ["a", "b", "a"]
    assert found.sentence in lines
    assert lines[-2:] == [
        "Left out: 1 run without the tag 'loss': c/seed-0.",
        "Left out: 1 group without a finite score: c.",
    ]
    assert "Left out: 1 run without" in found._repr_html_()
    assert found._repr_html_().count("<table>") == 2
    assert "<a>" not in found._repr_html_()


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    logs = write_groups(tmp_path, {"loss": {"a": FAST, "b": SLOW}})
    with pytest.raises(UnknownTag, match=r"^No tag 'los' of kind scalar. Did you mean 'loss'\?$"):
        compare(logs, "los", by="parent")
    with pytest.raises(UnknownStatistic, match=r"^No score 'bst'. Did you mean 'best'\?$"):
        compare(logs, "loss", by="parent", at="bst")
    with pytest.raises(CannotFold, match=r"^No run has a score: 11 runs whose 'loss' ends before"):
        compare(logs, "loss", by="parent", at=7)
    with pytest.raises(CannotFold, match=r"^level is between 0 and 1, such as 0.95, not 95\.$"):
        compare(logs, "loss", by="parent", level=95)
    with pytest.raises(CannotFold, match=r"^resamples is 100 or more, not 1\.$"):
        compare(logs, "loss", by="parent", resamples=1)
    with pytest.raises(CannotFold, match=r"not 'lst'. Did you mean 'last'\?$"):
        compare(logs, "loss", by="parent", duplicates="lst")
