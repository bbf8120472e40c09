"""Histograms, precision-recall curves and meshes over HTTP, as Arrow."""

import json

import numpy as np
import pyarrow as pa
import pytest
from helpers.logs import values, write
from helpers.serving import open_client

import runfold as rf
from runfold._events import value_encoding as encode
from runfold._serve.api import histograms
from runfold._serve.api import pr_curves_and_meshes as extras


def read(response):
    assert response.status_code == 200, response.text
    table = pa.ipc.open_stream(response.content).read_all()
    metadata = {key.decode(): json.loads(text) for key, text in table.schema.metadata.items()}
    return table.to_pylist(), metadata


@pytest.fixture
def client(tmp_path):
    for run, shift in (("a", 0.0), ("b", 2.0)):
        with rf.SummaryWriter(tmp_path / run) as writer:
            for step in range(4):
                samples = np.random.default_rng(step).normal(shift, 1, 1000)
                writer.add_histogram("weights", samples, step)
    return open_client(tmp_path)


def test_histograms_are_returned_as_stored(client, tmp_path):
    rows, metadata = read(client.get("/api/histograms", params={"tag": "weights"}))
    stored = rf.open(tmp_path).histograms()
    assert [(row["run"], row["step"]) for row in rows] == [
        (run, n) for run in "ab" for n in range(4)
    ]
    for row, histogram in zip(rows, stored.itertuples(), strict=True):
        filled = histogram.counts > 0
        assert row["left"] == histogram.left[filled].tolist()
        assert row["right"] == histogram.right[filled].tolist()
        assert row["counts"] == histogram.counts[filled].tolist()
        assert (row["num"], row["outside"]) == (1000, 0)
        assert row["quantiles"][0] == histogram.min
        assert row["quantiles"][-1] == histogram.max
    assert metadata["leftOut"] == 0
    assert len(metadata["quantiles"]) == 9


def test_binned_histograms_share_their_edges_and_keep_their_counts(client):
    rows, _ = read(client.get("/api/histograms", params={"tag": "weights", "bins": 30}))
    assert len({tuple(row["left"]) for row in rows}) == 1
    assert rows[0]["left"][1:] == rows[0]["right"][:-1]
    assert all(len(row["counts"]) == 30 for row in rows)
    np.testing.assert_allclose([sum(row["counts"]) for row in rows], 1000)


@pytest.mark.parametrize(("bins", "message"), [("0", "between 1 and 500"), ("x", "an integer")])
def test_bins_have_limits(client, bins, message):
    response = client.get("/api/histograms", params={"tag": "weights", "bins": bins})
    assert response.status_code == 400
    assert message in response.json()["error"]


def test_rule_29_the_number_of_buckets_in_a_response_is_limited(client, monkeypatch):
    monkeypatch.setattr(histograms, "MOST_BUCKETS", 100)
    rows, metadata = read(client.get("/api/histograms", params={"tag": "weights"}))
    assert len(rows) + metadata["leftOut"] == 8
    assert sum(len(row["counts"]) for row in rows) <= 100
    rows, metadata = read(client.get("/api/histograms", params={"tag": "weights", "bins": 25}))
    assert [(row["run"], row["step"]) for row in rows] == [("a", 0), ("a", 3), ("b", 0), ("b", 3)]
    assert metadata["leftOut"] == 4


def test_nan_and_infinity_are_handled(tmp_path):
    message = encode.histogram("h", float("nan"), float("inf"), 3, 0, 0, [0.0, 1.0], [1, 2])
    write(
        tmp_path / "a", values(message), values(encode.histogram_tensor("empty", np.empty((0, 3))))
    )
    client = open_client(tmp_path)
    for bins in ({}, {"bins": 4}):
        rows, _ = read(client.get("/api/histograms", params={"tag": "h", **bins}))
        assert sum(rows[0]["counts"]) == 3
        rows, _ = read(client.get("/api/histograms", params={"tag": "empty", **bins}))
        assert np.isnan(rows[0]["quantiles"]).all()


def test_pr_curves_match_the_library(tmp_path):
    rng = np.random.default_rng(0)
    with rf.SummaryWriter(tmp_path / "a") as writer:
        for step in range(2):
            labels = rng.integers(0, 2, 100)
            writer.add_pr_curve("pr", labels, rng.random(100), step, num_thresholds=20)
    rows, metadata = read(open_client(tmp_path).get("/api/pr_curves", params={"tag": "pr"}))
    stored = rf.open(tmp_path).pr_curves()
    assert [row["recall"] for row in rows] == [values.tolist() for values in stored["recall"]]
    assert [row["precision"] for row in rows] == [values.tolist() for values in stored["precision"]]
    assert metadata == {"leftOut": 0}


@pytest.fixture
def meshes(tmp_path):
    corners = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], float)
    with rf.SummaryWriter(tmp_path / "a") as writer:
        for step in (1, 5):
            faces = np.array([[[0, 1, 2], [0, 1, 9], [-1, 0, 1]]])
            colors = np.full((1, 3, 3), 7)
            writer.add_mesh("cup", corners * step, colors, faces, {"lights": []}, step)
    return open_client(tmp_path)


def test_the_last_mesh_of_each_run_is_sent_with_all_steps(meshes):
    (row,), metadata = read(meshes.get("/api/meshes", params={"tag": "cup"}))
    assert row["vertices"] == [0, 0, 0, 5, 0, 0, 0, 5, 0]
    assert row["faces"] == [0, 1, 2]  # the other faces refer to invalid vertices
    assert row["colors"] == [7] * 9
    assert (row["run"], row["step"], row["batch"]) == ("a", 5, 1)
    assert json.loads(row["config"]) == {"lights": []}
    assert metadata == {"steps": {"a": [1, 5]}}
    (row,), _ = read(meshes.get("/api/meshes", params={"tag": "cup", "step": 1}))
    assert row["vertices"] == [0, 0, 0, 1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"tag": "cap"}, "No mesh 'cap'. Did you mean 'cup'?"),
        ({"tag": "cup", "step": 2}, "No mesh 'cup' at this step."),
    ],
)
def test_a_missing_mesh_is_not_found(meshes, query, message):
    response = meshes.get("/api/meshes", params=query)
    assert (response.status_code, response.json()) == (404, {"error": message})


def test_rule_29_meshes_that_are_too_large_are_not_read(meshes, monkeypatch):
    monkeypatch.setattr(extras, "MOST_MESH_BYTES", 10)
    assert meshes.get("/api/meshes", params={"tag": "cup"}).status_code == 413
