"""Curves over HTTP: every point as logged, or only those that a chart of a given width can show."""

import math

import numpy as np
import pyarrow as pa
import pytest
from helpers.eventfiles import record, simple
from helpers.logs import scalars, write
from helpers.serve_client import Client, read_metadata

import runfold as rf
from runfold._plot.smoothing import smooth
from runfold._serve.api import curves
from runfold._serve.charts import chart_request as chart

LAST_STEP = 2**63 - 1


def series(table, number, column="y"):
    mask = pa.compute.equal(table["series"], number)
    return list(zip(*(table.filter(mask)[name].to_pylist() for name in ("x", column)), strict=True))


def test_every_point_with_its_nan_infinity_and_64_bit_steps(tmp_path):
    odd = [(-5, math.inf), (0, math.nan), (2**53 + 1, -math.inf), (LAST_STEP, 5e-324)]
    write(tmp_path / "a", scalars("loss", *odd), scalars("lr", (0, 0.1)))
    write(tmp_path / "b", scalars("loss", (1, 2.0)))
    table = Client(tmp_path).post("/api/curves", tags=["loss", "lr"])
    assert table.schema.types == [pa.int32(), pa.int64(), pa.float64()]
    assert str(series(table, 0)) == str(odd)
    assert series(table, 1) == [(1, 2.0)]
    assert series(table, 2) == [(0, 0.1)]
    assert read_metadata(table) == [
        {"run": "a", "tag": "loss", "points": 4, "shown": 4, "hidden": 0, "lost": 0},
        {"run": "b", "tag": "loss", "points": 1, "shown": 1, "hidden": 0, "lost": 0},
        {"run": "a", "tag": "lr", "points": 1, "shown": 1, "hidden": 0, "lost": 0},
    ]


def test_narrow_chart_keeps_the_spike_and_zooming_in_shows_every_point(tmp_path):
    points = [(step, 9.0 if step == 777 else float(step % 3)) for step in range(2000)]
    write(tmp_path / "a", scalars("loss", *points))
    client = Client(tmp_path)
    narrow = client.post("/api/curves", tags=["loss"], width=10)
    assert len(narrow) <= 40
    assert (777, 9.0) in series(narrow, 0)
    assert read_metadata(narrow)[0]["shown"] == len(narrow)
    near = client.post("/api/curves", tags=["loss"], width=10, range=[770.5, 790])
    assert series(near, 0) == points[770:792]


def test_times_and_other_tags_as_the_x_axis(tmp_path):
    write(tmp_path / "a", scalars("loss", (1, 5.0), (2, 4.0)), scalars("samples", (1, 64), (2, 32)))
    write(tmp_path / "b", scalars("loss", (1, 3.0)))
    client = Client(tmp_path)

    def request_curves(x):
        table = client.post("/api/curves", tags=["loss"], x=x)
        lost = [entry["lost"] for entry in read_metadata(table)]
        return [series(table, 0), series(table, 1), lost]

    first = rf.open(tmp_path)["a"]["loss"].wall_times[0]
    assert request_curves("wall_time") == [[(first, 5.0), (first + 1, 4.0)], [(first, 3.0)], [0, 0]]
    # Relative to the file's first event, which contains its version.
    assert request_curves("relative") == [[(9.0, 5.0), (10.0, 4.0)], [(9.0, 3.0)], [0, 0]]
    assert request_curves({"tag": "samples"}) == [[(32.0, 4.0), (64.0, 5.0)], [], [0, 1]]


def test_point_without_a_time_is_lost_and_counted(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    times = (10.0, math.nan, 12.0)
    data = [record(simple("loss", 1.0), step=n, wall_time=time) for n, time in enumerate(times)]
    (folder / "events.out.tfevents.1").write_bytes(b"".join(data))
    table = Client(tmp_path).post("/api/curves", tags=["loss"], x="wall_time")
    assert table["x"].to_pylist() == [10.0, 12.0]
    assert read_metadata(table)[0]["lost"] == 1


def test_points_with_decreasing_steps_are_sorted_by_step(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0), (2, 2.0), (1, 3.0), (2, 4.0)))
    table = Client(tmp_path, restarts="keep").post("/api/curves", tags=["loss"])
    assert series(table, 0) == [(0, 1.0), (1, 3.0), (2, 2.0), (2, 4.0)]


def test_smoothing_uses_every_point_even_for_a_narrow_chart(tmp_path):
    values = np.random.default_rng(0).normal(size=2000)
    write(tmp_path / "a", scalars("loss", *enumerate(values.tolist())))
    table = Client(tmp_path).post("/api/curves", tags=["loss"], width=20, smooth=0.9)
    assert len(table) < 200
    expected = smooth(values, 0.9)
    assert all(expected[x] == y for x, y in series(table, 0, "smoothed"))
    assert all(values[x] == y for x, y in series(table, 0))


def test_selected_runs_without_the_tag_have_no_series(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    write(tmp_path / "b", scalars("other", (0, 1.0)))
    table = Client(tmp_path).post("/api/curves", tags=["loss"], runs=["b"], smooth=0.5)
    assert (len(table), read_metadata(table)) == (0, [])
    assert table.schema.names == ["series", "x", "y", "smoothed"]
    assert table.schema.field("x").type == pa.int64()


@pytest.mark.parametrize(
    ("request_fields", "status", "message"),
    [
        ({"tags": ["los"]}, 404, "No scalar tag 'los'. Did you mean 'loss'?"),
        ({"tags": ["loss"], "x": {"tag": "los"}}, 404, "No scalar tag 'los'. Did you mean 'loss'?"),
        ({"tags": ["loss"], "runs": ["../a"]}, 404, "No run '../a'."),
        ({"tags": ["loss"], "range": [2, 1]}, 400, "'range' must be [lower, upper]."),
        ({"tags": ["loss"], "width": 0}, 400, "'width' must be between 1 and 4000, not 0."),
        ({"tags": []}, 400, "'tags' has 0 values; 1 to 1000 are allowed."),
        ({"tags": ["loss"], "smooth": 1}, 400, "'smooth' must be between 0 and 0.9999, not 1."),
    ],
)
def test_invalid_requests_are_refused(tmp_path, request_fields, status, message):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    assert Client(tmp_path).refused("/api/curves", **request_fields) == (status, message)


def test_too_many_points_for_a_response_are_refused(tmp_path, monkeypatch):
    write(tmp_path / "a", scalars("loss", *((step, 1.0) for step in range(100))))
    monkeypatch.setattr(chart, "MOST_POINTS", 50)
    client = Client(tmp_path)
    status, message = client.refused("/api/curves", tags=["loss"])
    assert (status, message[:39]) == (413, "The chart has 100 points; at most 50 ca")
    assert len(client.post("/api/curves", tags=["loss"], width=5)) == 10


def test_large_tags_are_downsampled_in_batches(tmp_path, monkeypatch):
    for name in "abc":
        write(tmp_path / name, scalars("loss", *((step, step % 7.0) for step in range(100))))
    whole = Client(tmp_path).post("/api/curves", tags=["loss"], width=5)
    monkeypatch.setattr(curves, "_BATCH", 150)
    assert Client(tmp_path).post("/api/curves", tags=["loss"], width=5).equals(whole)
