"""The statistics that form a band."""

import numpy as np
import pytest
from helpers.folds import curve

from runfold._reduce.bands import Band, choose_band, choose_operations, explain_stray_edges


@pytest.mark.parametrize(
    ("statistics", "band", "label"),
    [
        (["mean", "std"], Band("mean", "std", "std"), "mean ± std"),
        (["std", "sem", "mean"], Band("mean", "std", "std"), "mean ± std"),
        (["max", "iqm", "min"], Band("iqm", "min", "max"), "iqm, min to max"),
        (["median", "q25", "q75"], Band("median", "q25", "q75"), "median, q25 to q75"),
        (["median", "q95", "q25", "q75", "q05"], Band("median", "q05", "q95"), None),
        (["median", "q10", "q20", "q80"], Band("median", "q10", "q80"), None),
        (
            ["mean", "ci95-low", "ci95-high", "std"],
            Band("mean", "ci95-low", "ci95-high"),
            "mean, ci95",
        ),
        (["mean"], None, None),
        (["std", "min", "max"], None, None),
        (["mean", "q10", "q20"], None, None),
        (["mean", "min"], None, None),
    ],
)
def test_first_center_and_first_possible_edge_form_the_band(statistics, band, label):
    assert choose_band(statistics) == band
    if label:
        assert band.label == label


def test_spread_is_subtracted_and_added():
    loss = curve("loss", [0, 1, 2], mean=[1.0, 2.0, np.inf], std=[0.5, np.nan, np.inf])
    center, lower, upper = Band("mean", "std", "std").of(loss)
    np.testing.assert_array_equal(center, [1.0, 2.0, np.inf])
    np.testing.assert_array_equal(lower, [0.5, np.nan, np.nan])
    np.testing.assert_array_equal(upper, [1.5, np.nan, np.inf])


@pytest.mark.parametrize(
    ("statistics", "band"),
    [
        (["iqm", "ci95-low", "ci95-high"], None),
        (["median", "ci95-t-low", "ci95-t-high"], None),
        (["iqm", "sem"], None),
        (["iqm", "ci95-iqm-low", "ci95-iqm-high"], Band("iqm", "ci95-iqm-low", "ci95-iqm-high")),
        (["mean", "ci95-iqm-low", "ci95-iqm-high", "std"], Band("mean", "std", "std")),
        (
            ["mean", "iqm", "ci95-iqm-low", "ci95-iqm-high"],
            Band("iqm", "ci95-iqm-low", "ci95-iqm-high"),
        ),
        (["mean", "ci95-t-low", "ci95-t-high"], Band("mean", "ci95-t-low", "ci95-t-high")),
    ],
)
def test_interval_forms_a_band_only_around_its_own_center(statistics, band):
    assert choose_band(statistics) == band


@pytest.mark.parametrize(
    ("statistics", "sentence"),
    [
        (
            ["iqm", "ci90-low", "ci90-high"],
            "ci90 is computed for the mean, so it does not form a band around the iqm."
            " Use 'ci90-iqm' for a band.",
        ),
        (
            ["median", "sem"],
            "sem is computed for the mean, so it does not form a band around the median."
            " Use 'ci95-median' for a band.",
        ),
        (["median", "sem", "q25", "q75"], ""),
        (["mean", "ci95-low", "ci95-high"], ""),
        (["ci95-low", "ci95-high"], ""),
    ],
)
def test_statistics_that_form_no_band_are_explained(statistics, sentence):
    assert explain_stray_edges(statistics) == sentence


@pytest.mark.parametrize(
    ("operations", "matched"),
    [
        ("iqm,ci95", ["iqm", "ci95-iqm"]),
        ("ci90, median, mean", ["ci90-median", "median", "mean"]),
        (["median", np.ptp, "ci95"], ["median", np.ptp, "ci95-median"]),
    ],
)
def test_plain_interval_is_computed_for_the_first_center(operations, matched):
    chosen, text = choose_operations(operations, by=None)
    assert chosen == matched
    names = ", ".join(getattr(name, "__name__", name) for name in matched)
    assert text == f"The interval was changed to match the line: {names}."


@pytest.mark.parametrize("operations", ["mean, iqm, ci95", "iqm,ci95-t", "ci95", [np.ptp]])
def test_other_operations_are_drawn_as_requested(operations):
    names = operations.replace(" ", "").split(",") if isinstance(operations, str) else operations
    assert choose_operations(operations, by=None) == (names, "")


@pytest.mark.parametrize(
    ("by", "operations"),
    [(None, ["mean", "std"]), ("lr", ["mean", "std"]), ("run", ["mean"]), (["run"], ["mean"])],
)
def test_single_runs_are_drawn_without_a_spread_by_default(by, operations):
    assert choose_operations(None, by) == (operations, "")
