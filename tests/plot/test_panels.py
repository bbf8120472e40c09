"""The content of a figure, before anything is drawn."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.plot_folds import curve, fold, seeds
from numpy.testing import assert_allclose, assert_array_equal

from runfold._plot.panels import find_band, make_sheet
from runfold._plot.smoothing import smooth
from runfold._reduce.bands import Band
from runfold.errors import RunfoldError, UnknownStatistic, UnknownTag

FOUR = ("mean", "std", "ci95-low", "ci95-high", "min", "max")


def test_each_group_is_a_line_with_its_band() -> None:
    loss = curve("loss", {"mean": [3, 2], "std": [1, 0.5]})
    sheet = make_sheet(fold(("lr=1", loss)))
    (stroke,) = sheet.panels[0].strokes
    assert (stroke.group, stroke.statistic, sheet.panels[0].tag) == ("lr=1", "mean", "loss")
    assert [values.tolist() for values in (stroke.x, stroke.y)] == [[0, 10], [3, 2]]
    assert_array_equal([stroke.lower, stroke.upper], [[2, 1.5], [4, 2.5]])
    assert (sheet.caption, sheet.groups) == ("mean ± std", {"lr=1": "lr=1 (n=3)"})


def test_line_and_edges_are_smoothed_and_the_caption_says_so() -> None:
    loss = curve("loss", {"mean": [3, 2, 4], "std": [1, 0.5, 2]})
    sheet = make_sheet(fold(("", loss)), weight=0.6)
    (stroke,) = sheet.panels[0].strokes
    assert_array_equal(stroke.y, smooth([3, 2, 4], 0.6))
    assert_array_equal(stroke.lower, smooth([2, 1.5, 2], 0.6))
    assert_array_equal(stroke.upper, smooth([4, 2.5, 6], 0.6))
    # Smoothing the mean and the std before adding them gives the same band.
    assert_allclose(stroke.upper, smooth([3, 2, 4], 0.6) + smooth([1, 0.5, 2], 0.6))
    assert sheet.caption == "mean ± std, smoothed 0.6"


def test_statistics_without_a_band_are_separate_lines() -> None:
    sheet = make_sheet(fold(("", curve("loss", {"min": [1], "median": [2]}))))
    assert [(stroke.statistic, stroke.lower) for stroke in sheet.panels[0].strokes] == [
        ("min", None),
        ("median", None),
    ]
    assert sheet.caption == ""


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, Band("mean", "std", "std")),
        ("std", Band("mean", "std", "std")),
        ("ci95", Band("mean", "ci95-low", "ci95-high")),
        ("max", Band("mean", "min", "max")),
        ("none", None),
    ],
)
def test_band_can_be_chosen(wanted: str | None, found: Band | None) -> None:
    assert find_band(FOUR, wanted) == found


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            "ci9",
            "Statistic 'ci9' was not computed. Available: mean, std, ci95, min, max."
            " Did you mean 'ci95'?",
        ),
        (
            "mean",
            "'mean' is not the edge of a band. Available: mean, std, ci95, min, max."
            " A band needs a line and a spread, such as mean and std.",
        ),
    ],
)
def test_unknown_band_is_rejected(wanted: str, message: str) -> None:
    with pytest.raises(UnknownStatistic) as caught:
        find_band(FOUR, wanted)
    assert str(caught.value) == message


def test_interval_of_another_center_is_not_drawn_and_a_note_says_why() -> None:
    loss = curve("loss", {"iqm": [2, 1], "ci95-low": [0, 0], "ci95-high": [3, 3]})
    sheet = make_sheet(fold(("", loss)))
    assert [(stroke.statistic, stroke.lower) for stroke in sheet.panels[0].strokes] == [
        ("iqm", None)
    ]
    hint = (
        "ci95 is computed for the mean, so it does not form a band around the iqm."
        " Use 'ci95-iqm' for a band."
    )
    assert sheet.notes == [hint]
    with pytest.raises(
        UnknownStatistic, match=f"'ci95' is not the edge of a band. Available: iqm, ci95. {hint}"
    ):
        find_band(tuple(loss.statistics), "ci95")


def test_band_can_be_chosen_by_the_short_name_of_the_interval() -> None:
    edges = ("ci95-iqm-low", "ci95-iqm-high")
    assert find_band(("iqm", "std", *edges), "ci95") == Band("iqm", *edges)


def test_no_band_draws_only_the_line() -> None:
    sheet = make_sheet(seeds(), band="none")
    assert [stroke.statistic for stroke in sheet.panels[0].strokes] == ["mean"]
    assert sheet.panels[0].strokes[0].lower is None
    assert sheet.caption == "mean"


def test_tags_match_globs_and_groups_without_tags_are_left_out() -> None:
    loss, speed = (curve(tag, {"mean": [1.0]}) for tag in ("val/loss", "speed"))
    folded = fold(("a", loss), ("b", speed), ("a", speed))
    assert [panel.tag for panel in make_sheet(folded, "val/*").panels] == ["val/loss"]
    assert list(make_sheet(folded, "val/*").groups) == ["a"]
    with pytest.raises(UnknownTag, match=r"No tag 'los'. Did you mean 'val/loss'\?"):
        make_sheet(folded, "los")


def test_nothing_to_draw_is_rejected() -> None:
    with pytest.raises(RunfoldError, match="no tag was folded"):
        make_sheet(replace(seeds(), groups={}))


def test_first_of_very_many_tags_are_drawn_with_a_note() -> None:
    tags = [f"tag-{number}" for number in range(61)]
    sheet = make_sheet(seeds(tags=tags, size=1))
    assert [panel.tag for panel in sheet.panels] == tags[:60]
    assert sheet.notes == [
        "Only the first 60 of 61 tags are drawn. Choose others by name or glob (tags=, --tag)."
    ]


def test_hundreds_of_groups_are_rejected_with_a_hint() -> None:
    folded = seeds(*(f"run-{number}" for number in range(101)), size=1)
    with pytest.raises(RunfoldError) as caught:
        make_sheet(folded)
    assert str(caught.value) == (
        "101 groups are too many for one figure; the limit is 100. Draw fewer runs (--where, or"
        " runs.where() in Python), group them by something else (by=, --by), or raise the limit"
        " (max_groups=, --max-groups)."
    )
    assert len(make_sheet(folded, max_groups=101).groups) == 101


def test_long_shared_folder_is_in_the_caption() -> None:
    names = [f"a-folder-with-a-rather-long-name/of-a-sweep/lr-{rate}" for rate in (1, 2)]
    sheet = make_sheet(seeds(*names))
    assert list(sheet.groups.values()) == ["lr-1 (n=3)", "lr-2 (n=3)"]
    assert sheet.caption == "a-folder-with…ther-long-name/of-a-sweep/, mean ± std"


def test_labels_of_groups_and_tags_are_distinct() -> None:
    names = [
        f"a-very-long-beginning-{lr}-a-very-long-middle-part-{seed}-and-an-end-that-is-long-too"
        for lr in (0.1, 0.01, 0.001)
        for seed in range(6)
    ]
    sheet = make_sheet(seeds(*names, tags=names[:5], size=1))
    assert len(set(sheet.groups.values())) == 18
    assert len({panel.label for panel in sheet.panels}) == 5
    assert all(label.endswith(" (n=3)") for label in sheet.groups.values())
    assert max(map(len, sheet.groups.values())) <= 46


def test_runs_are_counted_if_a_tag_has_fewer() -> None:
    few, all_ = curve("a", {"mean": [1.0]}, runs=2), curve("b", {"mean": [1.0]}, runs=5)
    assert make_sheet(fold(("g", few), ("g", all_))).groups == {"g": "g (n=2-5)"}
    assert make_sheet(fold(("", all_))).groups == {"": "5 runs"}


def test_one_run_has_neither_band_nor_caption() -> None:
    alone = curve("loss", {"mean": [2, 1], "std": [math.nan, math.nan]}, runs=1)
    sheet = make_sheet(fold(("", alone)))
    assert (sheet.has_band, sheet.caption, sheet.groups) == (False, "", {"": "1 run"})


@pytest.mark.parametrize(
    ("seconds", "label", "last"),
    [
        (90, "relative time (s)", 90),
        (600, "relative time (min)", 10),
        (7200, "relative time (h)", 2),
        (864000, "relative time (d)", 10),
    ],
)
def test_relative_time_has_a_suitable_unit(seconds: float, label: str, last: float) -> None:
    loss = curve("loss", {"mean": [2, 1]}, x=[0.0, seconds])
    sheet = make_sheet(fold(("", loss), x="relative"))
    assert sheet.x_label == label
    assert sheet.panels[0].strokes[0].x.tolist() == [0, last]


@pytest.mark.parametrize(("x", "label"), [("wall_time", "time"), ("samples", "samples")])
def test_other_axes_have_their_own_names(x: str, label: str) -> None:
    assert make_sheet(replace(seeds(), x=x)).x_label == label


def test_log_y_leaves_out_values_up_to_zero_and_cuts_the_band() -> None:
    loss = curve("loss", {"mean": [10, 1, -1], "std": [1, 2, 3]})
    sheet = make_sheet(fold(("", loss)), log_y=True)
    (panel,) = sheet.panels
    (stroke,) = panel.strokes
    assert_array_equal(stroke.y, [10, 1, math.nan])
    assert_array_equal(stroke.lower, [9, 0.1, 0.1])
    assert_array_equal(stroke.upper, [11, 3, 2])
    assert panel.floor == 0.1
    assert sheet.notes == [
        "1 value of 'loss' is not drawn: a log y-axis can only show values above 0.",
        "The band of 'loss' is cut off one decade below the lowest line, to limit"
        " the range of the log y-axis.",
    ]


def test_log_x_leaves_out_step_zero() -> None:
    sheet = make_sheet(seeds(size=3), log_x=True)
    (stroke,) = sheet.panels[0].strokes
    assert stroke.x.tolist() == [10, 20]
    assert stroke.lower is not None
    assert {len(stroke.y), len(stroke.lower)} == {2}
    assert sheet.notes == [
        "1 value of 'loss' is not drawn: a log x-axis can only show values above 0."
    ]


def test_log_axis_without_positive_values_is_empty() -> None:
    loss = curve("loss", {"mean": [-1, 0], "std": [0, 0]})
    (stroke,) = make_sheet(fold(("", loss)), log_y=True).panels[0].strokes
    assert np.isnan(stroke.y).all()
