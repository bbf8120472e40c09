"""Histograms, text, tensors, curves and layouts as tables."""

import math

import numpy as np
import pandas as pd
import pytest
from helpers.logs import values, write
from tensorboard.plugins.custom_scalar import layout_pb2

import runfold as rf
from runfold._events.value_encoding import histogram, histogram_tensor, tensor, text
from runfold.errors import BadLog, UnknownTag


def test_histograms_have_arrays_of_edges_and_counts_and_scalar_totals(tmp_path):
    old = histogram("old", -1.0, 2.0, 8.0, 3.5, 12.25, [-0.5, 0.25, 1e308], [3, 0, 5])
    write(tmp_path, values(old, histogram_tensor("new", [[0, 1, 2], [1, 3, 4]]), step=5))
    table = rf.open(tmp_path).histograms()
    assert table["tag"].tolist() == ["old", "new"]
    assert table["step"].tolist() == [5, 5]
    np.testing.assert_array_equal(table["left"][0], [-1.0, -0.5, 0.25])
    np.testing.assert_array_equal(table["right"][0], [-0.5, 0.25, 2.0])
    np.testing.assert_array_equal(table["counts"][1], [2, 4])
    assert table["num"].tolist() == [8.0, 6.0]
    assert (table["sum"][0], math.isnan(table["sum"][1])) == (3.5, True)
    assert table["min"].dtype == np.float64


def test_text_is_a_string_or_an_array_of_strings(tmp_path):
    write(tmp_path, values(text("one", "a"), text("many", [["a", "b"], ["c", "ü"]])))
    single, many = rf.open(tmp_path).text()["text"]
    assert single == "a"
    assert many.tolist() == [["a", "b"], ["c", "ü"]]


def test_tensors_keep_dtype_and_shape(tmp_path):
    arrays: dict[str, np.ndarray] = {
        "matrix": np.arange(6, dtype=np.int16).reshape(2, 3),
        "empty": np.zeros((0, 3), np.float32),
        "complex": np.array([1 + 2j]),
        "flags": np.array([True, False]),
    }
    write(tmp_path, values(*(tensor(tag, array, "mine") for tag, array in arrays.items())))
    for row in rf.open(tmp_path).tensors().itertuples():
        np.testing.assert_array_equal(row.value, arrays[row.tag])
        assert row.value.dtype == arrays[row.tag].dtype
        assert row.value.shape == arrays[row.tag].shape


def test_pr_curve_has_one_array_per_column(tmp_path):
    write(tmp_path, values(tensor("pr", np.arange(12.0).reshape(6, 2), "pr_curves")))
    (curve,) = rf.open(tmp_path).pr_curves().itertuples()
    assert curve.true_positives.tolist() == [0, 1]
    assert curve.recall.tolist() == [10, 11]
    assert curve.thresholds.tolist() == [0, 1]


def test_layout_has_its_categories(tmp_path):
    layout = layout_pb2.Layout()
    layout.category.add(title="Losses", closed=True).chart.add(title="both").multiline.tag.append(
        "loss"
    )
    message = tensor("layout", np.array(layout.SerializeToString(), object), "custom_scalars")
    write(tmp_path, values(message))
    (layout,) = rf.open(tmp_path).layouts()["layout"]
    (category,) = layout.categories
    assert (category.title, category.closed, category.charts[0].tags) == ("Losses", True, ("loss",))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("histograms", tensor("x", np.arange(3.0), "histograms")),
        ("text", tensor("x", np.arange(3.0), "text")),
        ("pr_curves", tensor("x", np.arange(3.0), "pr_curves")),
        ("layouts", tensor("x", np.arange(3.0), "custom_scalars")),
        ("meshes", tensor("x", np.arange(3.0), "mesh")),
        ("audio", tensor("x", np.arange(3.0), "audio")),
        ("images", tensor("x", np.arange(3.0), "images")),
    ],
)
def test_value_of_the_wrong_kind_is_one_problem_or_raises(method, message, tmp_path):
    write(tmp_path, values(message))
    runs = rf.open(tmp_path)
    for _ in range(2):
        table = getattr(runs, method)()
        assert table.empty
        assert {"run", "tag", "step", "wall_time"} <= set(table.columns)
    (problem,) = runs.problems().to_dict("records")
    assert (problem["code"], problem["run"]) == ("bad-value", ".")
    assert problem["offset"] > 0
    with pytest.raises(BadLog):
        getattr(rf.open(tmp_path, strict=True), method)()


def test_every_table_has_categorical_runs_and_tags_and_int64_steps(tmp_path):
    write(tmp_path, values(text("note", "a"), step=2**53 + 1))
    table = rf.open(tmp_path).text()
    assert isinstance(table["run"].dtype, pd.CategoricalDtype)
    assert isinstance(table["tag"].dtype, pd.CategoricalDtype)
    assert table["step"].tolist() == [2**53 + 1]


@pytest.mark.parametrize(
    ("tags", "texts"),
    [
        ("note", ["a"]),
        ("note/text_summary", ["a"]),
        ("plan", ["exact"]),
        ("not?", ["a"]),
        (["note", "plan/*"], ["a", "suffixed"]),
        (iter(["note"]), ["a"]),
    ],
)
def test_texts_are_selected_with_or_without_the_suffix_of_their_tag(tmp_path, tags, texts):
    stored = {"note/text_summary": "a", "plan": "exact", "plan/text_summary": "suffixed"}
    write(tmp_path, values(*(text(tag, content) for tag, content in stored.items())))
    assert rf.open(tmp_path).text(tags)["text"].tolist() == texts


def test_tags_are_selected_within_the_kind(tmp_path):
    write(tmp_path, values(text("note/a", "a"), text("note/b", "b"), tensor("t", np.arange(3.0))))
    runs = rf.open(tmp_path)
    assert runs.text("*/b")["text"].tolist() == ["b"]
    with pytest.raises(UnknownTag, match="No tag 't'"):
        runs.text("t")
