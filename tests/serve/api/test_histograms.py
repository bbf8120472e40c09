"""Histograms, precision-recall curves and meshes by HTTP, as Arrow."""

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


def read(answer):
    assert answer.status_code == 200, answer.text
    table = pa.ipc.open_stream(answer.content).read_all()
    told = {key.decode(): json.loads(text) for key, text in table.schema.metadata.items()}
    return table.to_pylist(), told


@pytest.fixture
def client(tmp_path):
    for run, shift in (("a", 0.0), ("b", 2.0)):
        with rf.SummaryWriter(tmp_path / run) as writer:
            for step in range(4):
                samples = np.random.default_rng(step).normal(shift, 1, 1000)
                writer.add_histogram("weights", samples, step)
    return open_client(tmp_path)


def test_histograms_come_as_they_are_stored(client, tmp_path):
    rows, told = read(client.get("/api/histograms", params={"tag": "weights"}))
    stored = rf.open(tmp_path).histograms()
    assert [(row["run"], row["step"]) for row in rows] == [
        (run, n) for run in "ab" for n in range(4)
    ]
    for row, one in zip(rows, stored.itertuples(), strict=True):
        filled = one.counts > 0
        assert row["left"] == one.left[filled].tolist()
        assert row["right"] == one.right[filled].tolist()
        assert row["counts"] == one.counts[filled].tolist()
        assert (row["num"], row["outside"]) == (1000, 0)
        assert row["quantiles"][0] == one.min
        assert row["quantiles"][-1] == one.max
    assert told["leftOut"] == 0
    assert len(told["quantiles"]) == 9


def test_on_bins_all_histograms_share_their_edges_and_keep_their_counts(client):
    rows, _ = read(client.get("/api/histograms", params={"tag": "weights", "bins": 30}))
    assert len({tuple(row["left"]) for row in rows}) == 1
    assert rows[0]["left"][1:] == rows[0]["right"][:-1]
    assert all(len(row["counts"]) == 30 for row in rows)
    np.testing.assert_allclose([sum(row["counts"]) for row in rows], 1000)


@pytest.mark.parametrize(("bins", "message"), [("0", "from 1 to 500"), ("x", "a whole number")])
def test_bins_have_limits(client, bins, message):
    answer = client.get("/api/histograms", params={"tag": "weights", "bins": bins})
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_rule_29_an_answer_takes_so_many_buckets(client, monkeypatch):
    monkeypatch.setattr(histograms, "MOST_BUCKETS", 100)
    rows, told = read(client.get("/api/histograms", params={"tag": "weights"}))
    assert len(rows) + told["leftOut"] == 8
    assert sum(len(row["counts"]) for row in rows) <= 100
    rows, told = read(client.get("/api/histograms", params={"tag": "weights", "bins": 25}))
    assert [(row["run"], row["step"]) for row in rows] == [("a", 0), ("a", 3), ("b", 0), ("b", 3)]
    assert told["leftOut"] == 4


def test_numbers_that_are_none_survive(tmp_path):
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


def test_pr_curves_are_those_of_the_library(tmp_path):
    rng = np.random.default_rng(0)
    with rf.SummaryWriter(tmp_path / "a") as writer:
        for step in range(2):
            labels = rng.integers(0, 2, 100)
            writer.add_pr_curve("pr", labels, rng.random(100), step, num_thresholds=20)
    rows, told = read(open_client(tmp_path).get("/api/pr_curves", params={"tag": "pr"}))
    stored = rf.open(tmp_path).pr_curves()
    assert [row["recall"] for row in rows] == [one.tolist() for one in stored["recall"]]
    assert [row["precision"] for row in rows] == [one.tolist() for one in stored["precision"]]
    assert told == {"leftOut": 0}


@pytest.fixture
def meshes(tmp_path):
    corners = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], float)
    with rf.SummaryWriter(tmp_path / "a") as writer:
        for step in (1, 5):
            faces = np.array([[[0, 1, 2], [0, 1, 9], [-1, 0, 1]]])
            colors = np.full((1, 3, 3), 7)
            writer.add_mesh("cup", corners * step, colors, faces, {"lights": []}, step)
    return open_client(tmp_path)


def test_the_last_mesh_of_each_run_is_sent_with_the_steps_that_there_are(meshes):
    (row,), told = read(meshes.get("/api/meshes", params={"tag": "cup"}))
    assert row["vertices"] == [0, 0, 0, 5, 0, 0, 0, 5, 0]
    assert row["faces"] == [0, 1, 2]  # others name vertices that there are not
    assert row["colors"] == [7] * 9
    assert (row["run"], row["step"], row["batch"]) == ("a", 5, 1)
    assert json.loads(row["config"]) == {"lights": []}
    assert told == {"steps": {"a": [1, 5]}}
    (row,), _ = read(meshes.get("/api/meshes", params={"tag": "cup", "step": 1}))
    assert row["vertices"] == [0, 0, 0, 1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"tag": "cap"}, "No mesh 'cap'. Did you mean 'cup'?"),
        ({"tag": "cup", "step": 2}, "No mesh 'cup' at that step."),
    ],
)
def test_a_mesh_that_is_not_there_is_not_found(meshes, query, message):
    answer = meshes.get("/api/meshes", params=query)
    assert (answer.status_code, answer.json()) == (404, {"error": message})


def test_rule_29_meshes_that_are_too_large_are_not_read(meshes, monkeypatch):
    monkeypatch.setattr(extras, "MOST_MESH_BYTES", 10)
    assert meshes.get("/api/meshes", params={"tag": "cup"}).status_code == 413
