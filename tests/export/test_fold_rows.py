"""A fold as tidy columns: keys of the groups, tag, x, and every statistic."""

import numpy as np
import pandas as pd
import pytest

from runfold._export.fold_rows import rows_of
from runfold._export.formats import FORMATS
from runfold._export.table_file import write_table
from runfold._reduce.folded import Curve, Folded, Group


def curve(tag, x, *statistics, x_type=np.int64):
    x = np.array(x, x_type)
    values = {name: np.arange(len(x)) + len(name) / 10 for name in statistics}
    return Curve(tag, ("s1", "s2"), x, x + 1000.0, np.full(len(x), 2), values)


def group(name, key, *curves):
    return Group(name, key, ("s1", "s2"), {}, {each.tag: each for each in curves})


def fold(*groups, statistics=("mean",), x="step"):
    return Folded({each.name: each for each in groups}, statistics, x)


def by_keys(*keys):
    return fold(*(group(str(n), key, curve("loss", [0], "mean")) for n, key in enumerate(keys)))


def test_one_row_per_group_tag_and_step():
    folded = fold(
        group("lr=0.1", {"lr": 0.1}, curve("loss", [0, 10], "mean", "std")),
        group(
            "lr=1", {"lr": 1.0}, curve("loss", [0], "mean", "std"), curve("acc", [5], "mean", "std")
        ),
        statistics=("mean", "std"),
    )
    pd.testing.assert_frame_equal(
        pd.DataFrame(rows_of(folded)),
        pd.DataFrame(
            {
                "lr": [0.1, 0.1, 1.0, 1.0],
                "tag": ["loss", "loss", "loss", "acc"],
                "step": [0, 10, 0, 5],
                "wall_time": [1000.0, 1010.0, 1000.0, 1005.0],
                "runs": [2, 2, 2, 2],
                "mean": [0.4, 1.4, 0.4, 0.4],
                "std": [0.3, 1.3, 0.3, 0.3],
            }
        ),
    )


def test_without_keys_there_is_no_column_for_them():
    rows = rows_of(fold(group("", {}, curve("loss", [2**53 + 1, 2**63 - 1], "mean"))))
    assert list(rows) == ["tag", "step", "wall_time", "runs", "mean"]
    assert rows["step"].tolist() == [2**53 + 1, 2**63 - 1]


@pytest.mark.parametrize(
    ("x", "names"),
    [
        ("wall_time", ["tag", "wall_time", "runs", "mean"]),
        ("relative", ["tag", "relative_time", "wall_time", "runs", "mean"]),
        ("samples", ["tag", "samples", "wall_time", "runs", "mean"]),
        ("mean", ["tag", "mean_x", "wall_time", "runs", "mean"]),
        ("tag", ["tag", "tag_x", "wall_time", "runs", "mean"]),
    ],
)
def test_the_x_has_its_name(x, names):
    rows = rows_of(fold(group("", {}, curve("loss", [0.5], "mean", x_type=float)), x=x))
    assert list(rows) == names
    assert rows[names[1]].tolist() == [0.5]
    assert rows[names[1]].dtype == np.float64


def test_a_key_with_the_name_of_another_column_gets_a_suffix():
    rows = rows_of(by_keys({"mean": 1.0, "tag": "a", "runs": True, "step": 2.0, "tag_key": "b"}))
    keys = ["mean_key", "tag_key", "runs_key", "step_key", "tag_key_key"]
    assert list(rows) == [*keys, "tag", "step", "wall_time", "runs", "mean"]
    assert [list(rows[key]) for key in keys] == [[1.0], ["a"], [True], [2.0], ["b"]]


def test_a_custom_statistic_with_the_name_of_a_column_gets_a_suffix():
    rows = rows_of(fold(group("", {}, curve("loss", [0], "runs")), statistics=("runs",)))
    assert list(rows) == ["tag", "step", "wall_time", "runs", "runs_statistic"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.1, 1.0], np.array([0.1, 1.0])),
        ([1, 2], np.array([1, 2])),
        ([np.float32(0.5), 2], np.array([0.5, 2.0])),
        ([True, False], np.array([True, False])),
        (["adam", "sgd"], ["adam", "sgd"]),
        (["adam", 0.5], ["adam", "0.5"]),
        ([True, 48.0], ["true", "48"]),
        ([None, 0.5], [None, 0.5]),
    ],
)
def test_a_key_keeps_its_type_and_a_mixture_becomes_text(values, expected):
    column = rows_of(by_keys(*({"key": value} for value in values)))["key"]
    assert type(column) is type(expected)
    if isinstance(expected, np.ndarray):
        assert column.dtype == expected.dtype
    assert list(column) == list(expected)


def test_a_key_that_a_group_lacks_is_missing():
    rows = rows_of(by_keys({"algo": "ppo"}, {"algo": "dqn", "size": 3.0}))
    assert (rows["algo"], rows["size"]) == (["ppo", "dqn"], [None, 3.0])


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_fold_of_nothing_has_columns_and_no_rows(tmp_path, suffix):
    rows = rows_of(fold())
    assert {name: len(values) for name, values in rows.items()} == {
        **{"tag": 0, "step": 0, "wall_time": 0},
        **{"runs": 0, "mean": 0},
    }
    write_table(rows, tmp_path / f"out{suffix}")
