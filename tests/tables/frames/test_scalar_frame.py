"""Scalars as tables: long and wide, filtered by run and tag."""

import numpy as np
import pandas as pd
import pytest
from helpers.logs import scalars, write

import runfold as rf
from runfold.errors import UnknownRun, UnknownTag


@pytest.fixture
def runs(tmp_path):
    for run in ("a", "b"):
        write(
            tmp_path / run,
            scalars("train/loss", (0, 1.0), (1, 0.5)),
            scalars("val/loss", (1, 0.75)),
            scalars("lr[0]", (0, 0.1)),
        )
    return rf.open(tmp_path)


def test_long_table_has_one_row_per_point_in_file_order(runs):
    table = runs.scalars()
    assert list(table.columns) == ["run", "tag", "step", "wall_time", "value"]
    assert table["run"].tolist() == ["a"] * 4 + ["b"] * 4
    assert table["tag"].tolist()[:4] == ["train/loss", "train/loss", "val/loss", "lr[0]"]
    assert table["value"].tolist()[:4] == [1.0, 0.5, 0.75, 0.1]
    assert isinstance(table["run"].dtype, pd.CategoricalDtype)
    assert isinstance(table["tag"].dtype, pd.CategoricalDtype)
    assert (table["step"].dtype, table["value"].dtype) == (np.int64, np.float64)
    assert table["wall_time"].dtype == np.float64


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("train/loss", ["train/loss"]),
        ("*/loss", ["train/loss", "val/loss"]),
        (["val/loss", "lr*"], ["val/loss", "lr[0]"]),
        ("lr[0]", ["lr[0]"]),
        (("train/*", "train/loss"), ["train/loss"]),
        ([], []),
    ],
)
def test_tags_are_selected_by_name_glob_or_list(runs, selection, expected):
    assert list(runs.scalars(tags=selection)["tag"].unique()) == expected
    assert list(runs.scalars(selection, wide=True).columns) == expected
    assert list(runs["a"].scalars(selection)["tag"].unique()) == expected


def test_runs_are_selected_by_name_glob_or_list(runs):
    assert runs.scalars(runs="b")["run"].unique().tolist() == ["b"]
    assert runs.scalars(runs=["[ab]"])["run"].unique().tolist() == ["a", "b"]
    # Runs that were left out are not categories either.
    assert runs.scalars(runs="b")["run"].cat.categories.tolist() == ["b"]


def test_filter_that_matches_nothing_lists_similar_names(runs):
    with pytest.raises(UnknownTag, match=r"'train/los' of kind scalar. Did you mean 'train/loss'"):
        runs.scalars(tags="train/los")
    with pytest.raises(UnknownTag, match=r"No tag matches 'test/\*'"):
        runs.scalars(tags="test/*")
    with pytest.raises(UnknownRun, match="No run 'c'"):
        runs.scalars(runs="c")


def test_wide_table_has_one_column_per_tag_and_nan_for_missing_points(runs):
    table = runs.scalars(wide=True)
    assert list(table.columns) == ["train/loss", "val/loss", "lr[0]"]
    assert table.index.names == ["run", "step"]
    assert table.index.tolist() == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    expected = [[1.0, np.nan, 0.1], [0.5, 0.75, np.nan]] * 2
    np.testing.assert_array_equal(table.to_numpy(), expected)
    assert table.loc[("b", 1), "val/loss"] == 0.75


def test_tags_can_have_the_names_of_columns(tmp_path):
    names = ["run", "step", "value", "wall_time", "tag", "index"]
    write(tmp_path, *(scalars(name, (3, float(i))) for i, name in enumerate(names)))
    runs = rf.open(tmp_path)
    table = runs.scalars(wide=True)
    assert list(table.columns) == names
    assert table.loc[(".", 3)].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert runs.scalars()["tag"].tolist() == names


def test_repeated_step_takes_two_rows(tmp_path):
    write(tmp_path, scalars("a", (0, 1.0), (1, 2.0), (1, 3.0)), scalars("b", (1, 4.0), (0, 5.0)))
    table = rf.open(tmp_path).scalars(wide=True)
    assert table.index.get_level_values("step").tolist() == [0, 1, 1]
    np.testing.assert_array_equal(table.to_numpy(), [[1.0, 5.0], [2.0, 4.0], [3.0, np.nan]])


def test_steps_beyond_float64_stay_distinct_in_the_wide_table(tmp_path):
    write(tmp_path, scalars("a", (2**53, 1.0)), scalars("b", (2**53 + 1, 2.0)))
    table = rf.open(tmp_path).scalars(wide=True)
    assert table.index.get_level_values("step").tolist() == [2**53, 2**53 + 1]


def test_changing_a_table_does_not_change_others(runs):
    first = runs["a"].scalars(tags="lr*")
    first.loc[0, "value"] = 7.0
    assert runs["a"]["lr[0]"].values.tolist() == [0.1]
    assert runs["a"].scalars(tags="lr*")["value"].tolist() == [0.1]
