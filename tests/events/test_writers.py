"""Logs from all writers: every kind of data is read as it was logged."""

import math

import numpy as np
import pytest
from helpers import writers

import runfold as rf
from runfold._events.kinds.layout import Category, Chart, Layout, Margin


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A logdir with one run per writer; all runs logged the same data."""
    logdir = tmp_path_factory.mktemp("logdir")
    for name, write in writers.WRITERS.items():
        write(logdir / name)
    return rf.open(logdir)


@pytest.fixture(params=list(writers.WRITERS))
def name(request):
    return request.param


def table_of(runs, name, kind, trial=""):
    """Return the table of a kind. It must be empty if the writer cannot log that kind."""
    table = getattr(runs, kind)(runs=name + trial) if name + trial in runs else None
    if kind in writers.MISSING[name]:
        assert table is None or table.empty
        return None
    return table


def assert_is_series(table):
    assert table["step"].tolist() == writers.STEPS
    assert table["wall_time"].tolist() == writers.TIMES
    assert table["step"].dtype == np.int64


def assert_all_equal(column, expected):
    assert len(column) == len(writers.STEPS)
    for array in column:
        np.testing.assert_array_equal(array, expected)


def test_no_log_has_problems(runs):
    assert runs.problems().empty
    assert runs.hidden == 0


def test_scalars_are_the_logged_float32(runs, name):
    for tag, values in writers.SCALARS.items():
        series = runs[name][tag]
        assert series.steps.tolist() == writers.STEPS
        assert series.wall_times.tolist() == writers.TIMES
        np.testing.assert_array_equal(series.values, np.array(values, np.float32))


def test_histograms_have_edges_counts_and_totals(runs, name):
    table = table_of(runs, name, "histograms")
    assert_is_series(table)
    assert_all_equal(table["left"], writers.EDGES[:-1])
    assert_all_equal(table["right"], writers.EDGES[1:])
    assert_all_equal(table["counts"], writers.COUNTS)
    assert set(table["min"]) == {-1.0}
    assert set(table["max"]) == {2.0}
    assert set(table["num"]) == {8.0}
    # The new format does not store these.
    if name == "tensorflow_2":
        assert all(map(math.isnan, [*table["sum"], *table["sum_squares"]]))
    else:
        assert (set(table["sum"]), set(table["sum_squares"])) == ({3.5}, {12.25})


def test_images_have_the_logged_pixels(runs, name):
    table = table_of(runs, name, "images")
    assert_is_series(table)
    assert set(zip(table["width"], table["height"], strict=True)) == {(6, 4)}
    assert_all_equal([image.numpy() for image in table["image"]], writers.PIXELS)


def test_audio_has_the_logged_samples(runs, name):
    table = table_of(runs, name, "audio")
    if table is None:
        return
    assert_is_series(table)
    assert set(table["sample_rate"]) == {writers.RATE}
    assert_all_equal([clip.wave()[1][:, 0] for clip in table["audio"]], writers.SAMPLES)


def test_text_is_the_logged_text(runs, name):
    table = table_of(runs, name, "text")
    assert_is_series(table)
    assert set(table["text"]) == {writers.TEXT}
    # torch and tensorboardX append a suffix to the tag, which TensorBoard shows.
    assert {tag.removesuffix("/text_summary") for tag in table["tag"]} == {"note"}


def test_tensors_are_the_logged_arrays(runs, name):
    table = table_of(runs, name, "tensors")
    if table is None:
        return
    assert_is_series(table)
    assert_all_equal(table["value"], writers.TENSOR)
    assert {array.dtype for array in table["value"]} == {np.dtype(np.float32)}


def test_pr_curves_have_their_six_rows(runs, name):
    table = table_of(runs, name, "pr_curves")
    assert_is_series(table)
    lines = (
        "true_positives",
        "false_positives",
        "true_negatives",
        "false_negatives",
        "precision",
        "recall",
    )
    for line, expected in zip(lines, writers.PR_CURVE, strict=True):
        assert_all_equal(table[line], expected)
    assert_all_equal(table["thresholds"], [0, 0.5, 1])


def test_meshes_are_combined_from_their_parts(runs, name):
    table = table_of(runs, name, "meshes")
    if table is None:
        return
    assert_is_series(table)
    assert set(table["tag"]) == {"mesh"}
    assert_all_equal(table["vertices"], writers.VERTICES)
    assert_all_equal(table["faces"], writers.FACES)
    assert_all_equal(table["colors"], writers.COLORS)
    assert all(config == writers.MESH_CONFIG for config in table["config"])


def test_graphs_and_run_metadata_are_the_logged_messages(runs, name):
    (graph,) = table_of(runs, name, "graphs")["graph"]
    assert graph.proto() == writers.GRAPH
    assert (graph.names, graph.ops) == (["x", "y"], ["Placeholder", "Relu"])
    (metadata,) = table_of(runs, name, "run_metadata")["metadata"]
    assert metadata.proto() == writers.RUN_METADATA


def test_hparams_metrics_and_session_match_the_trial(runs, name):
    table = table_of(runs, name, "hparams", trial=f"/{writers.TRIAL}")
    if table is None:
        return
    trial = runs[f"{name}/{writers.TRIAL}"]
    # torch stores True as 1.0, which compares equal.
    assert dict(zip(table["hparam"], table["value"], strict=True)) == writers.HPARAMS
    assert trial.metrics()["tag"].tolist() == list(writers.METRICS)
    assert trial.sessions()["status"].tolist() == ["success"]
    assert {tag: trial[tag].values.tolist() for tag in trial} == {
        tag: [value] for tag, value in writers.METRICS.items()
    }


def test_embeddings_have_their_points_and_labels(runs, name):
    table = table_of(runs, name, "embeddings")
    if table is None:
        return
    (embedding,) = table["embedding"]
    np.testing.assert_array_equal(embedding.tensor(), writers.POINTS)
    assert embedding.metadata()["label"].tolist() == writers.LABELS


def test_layouts_have_their_charts(runs, name):
    table = table_of(runs, name, "layouts")
    if table is None:
        return
    (layout,) = table["layout"]
    charts = (
        Chart("both", ("train/loss", "val/loss"), ()),
        Chart("band", (), (Margin("mean", "low", "high"),)),
    )
    assert layout == Layout((Category("Losses", False, charts),))
