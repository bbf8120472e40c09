"""Folds over HTTP match the library's, even if the runs have different steps."""

import math

import numpy as np
import pyarrow as pa
import pytest
from helpers.logs import hparams, scalars, write
from helpers.serve_client import Client, read_metadata

import runfold as rf
from runfold._plot.smoothing import smooth
from runfold._reduce import align as alignment
from runfold._serve.api import folds


@pytest.fixture
def seeds(tmp_path):
    random = np.random.default_rng(0)
    for seed in range(6):
        points = enumerate(random.normal(size=50).tolist())
        lr = 0.1 if seed < 3 else 0.01
        write(tmp_path / f"seed-{seed}", hparams(lr=lr), scalars("loss", *points))
    return tmp_path


def column(table, name, number=0):
    return table.filter(pa.compute.equal(table["series"], number))[name].to_numpy()


@pytest.mark.parametrize(("by", "group"), [("steps", "steps=49"), ("status", "status=unknown")])
def test_any_column_of_the_table_makes_groups(seeds, by, group):
    series = read_metadata(Client(seeds).post("/api/fold", tags=["loss"], by=by))
    assert [(entry["group"], len(entry["runs"])) for entry in series] == [(group, 6)]


@pytest.mark.parametrize("center", ["mean", "median", "iqm"])
@pytest.mark.parametrize(
    ("band", "operations"),
    [
        ("std", ["std"]),
        ("minmax", ["min", "max"]),
        ("q05-q95", ["q05", "q95"]),
        ("q25-q75", ["q25", "q75"]),
        ("ci95", ["ci95"]),
    ],
)
def test_line_and_band_match_the_library(seeds, center, band, operations):
    table = Client(seeds).post("/api/fold", tags=["loss"], by="lr", center=center, band=band)
    if band == "ci95" and center != "mean":
        operations = [f"ci95-{center}"]
    reduced = rf.open(seeds).reduce([center, *operations], by="lr", resamples=1000)
    for number, series in enumerate(read_metadata(table)):
        curve = reduced[series["group"], "loss"]
        edges = list(curve.statistics.values())[1:]
        low, high = (
            edges if len(edges) == 2 else (curve[center] - edges[0], curve[center] + edges[0])
        )
        assert column(table, "x", number).tolist() == list(range(50))
        np.testing.assert_array_equal(column(table, "center", number), curve[center])
        np.testing.assert_array_equal(column(table, "low", number), low)
        np.testing.assert_array_equal(column(table, "high", number), high)
        assert column(table, "count", number).tolist() == [3] * 50
    assert [(entry["group"], entry["runs"]) for entry in read_metadata(table)] == [
        ("lr=0.01", ["seed-3", "seed-4", "seed-5"]),
        ("lr=0.1", ["seed-0", "seed-1", "seed-2"]),
    ]
    assert [entry["note"] for entry in read_metadata(table)] == ["", ""]


def test_standard_error_is_a_band_around_the_mean_only(seeds):
    client = Client(seeds)
    table = client.post("/api/fold", tags=["loss"], band="sem")
    curve = rf.open(seeds).reduce("mean,sem")["loss"]
    np.testing.assert_array_equal(column(table, "low", 0), curve["mean"] - curve["sem"])
    for center in ("median", "iqm"):
        status, error = client.refused("/api/fold", tags=["loss"], band="sem", center=center)
        assert status == 400
        assert f", not with the {center}." in error


def test_different_steps_are_interpolated_with_a_note(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 0.0), (2, 2.0), (4, 4.0)))
    write(tmp_path / "b", scalars("loss", (0, 2.0), (1, 3.0), (2, 4.0)))
    table = Client(tmp_path).post("/api/fold", tags=["loss"], band="minmax")
    assert table["x"].to_pylist() == [0, 1, 2, 4]
    assert table["center"].to_pylist() == [1.0, 2.0, 3.0, 4.0]
    assert table["count"].to_pylist() == [2, 2, 2, 1]
    assert read_metadata(table)[0]["note"] == "Steps differ; aligned with 'interpolate'."


def test_many_different_steps_are_binned_with_a_note(seeds, monkeypatch):
    monkeypatch.setattr(alignment, "_HANDY_CELLS", 500)
    client = Client(seeds)
    assert read_metadata(client.post("/api/fold", tags=["loss"]))[0]["note"] == ""
    write(seeds / "seed-6", scalars("loss", *((3 * step, 0.0) for step in range(50))))
    client = Client(seeds)
    (series,) = read_metadata(table := client.post("/api/fold", tags=["loss"], band="minmax"))
    assert series["note"] == "Steps differ; averaged over 12 bins."
    reduced = rf.open(seeds).reduce(["mean"], bins=12)
    assert table["center"].to_pylist() == reduced["", "loss"]["mean"].tolist()
    monkeypatch.setattr(folds, "_MOST_CELLS", 100)
    status, message = client.refused("/api/fold", tags=["loss"], align="union")
    assert (status, message[:36]) == (413, "The runs have too many different ste")


@pytest.mark.parametrize("align", ["intersection", "union", "nearest", "ffill", "bins"])
def test_every_alignment_of_the_library_is_supported(tmp_path, align):
    write(tmp_path / "a", scalars("loss", (0, 0.0), (2, 2.0), (4, 4.0)))
    write(tmp_path / "b", scalars("loss", (0, 2.0), (1, 3.0), (4, 4.0)))
    bins = 2 if align == "bins" else None
    table = Client(tmp_path).post("/api/fold", tags=["loss"], align=align, bins=bins)
    curve = rf.open(tmp_path).reduce(["mean"], align=align, bins=bins)["", "loss"]
    assert table["x"].to_pylist() == curve.x.tolist()
    assert table["center"].to_pylist() == curve["mean"].tolist()


def test_strict_refuses_different_steps(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 0.0)))
    write(tmp_path / "b", scalars("loss", (1, 0.0)))
    status, message = Client(tmp_path).refused("/api/fold", tags=["loss"], align="strict")
    assert status == 400
    assert "nothing was reduced" in message


def test_narrow_chart_keeps_spikes_and_smoothing_uses_all_points(tmp_path):
    values = np.random.default_rng(0).normal(size=(2, 2000))
    values[0, 777] = 99
    for name, run_values in zip("ab", values, strict=True):
        write(tmp_path / name, scalars("loss", *enumerate(run_values.tolist())))
    client = Client(tmp_path)
    narrow = client.post("/api/fold", tags=["loss"], width=10)
    assert len(narrow) == read_metadata(narrow)[0]["shown"] < 150
    assert 777 in narrow["x"].to_pylist()
    assert read_metadata(narrow)[0]["points"] == 2000
    soft = client.post("/api/fold", tags=["loss"], width=10, range=[100, 300], smooth=0.8)
    expected = smooth(values.mean(axis=0), 0.8)
    assert [expected[x] for x in soft["x"].to_pylist()] == soft["center"].to_pylist()


def test_groups_by_pattern_and_by_members(seeds):
    client = Client(seeds)

    def groups(**fields):
        entries = read_metadata(client.post("/api/fold", tags=["loss"], **fields))
        return [(entry["group"], len(entry["runs"])) for entry in entries]

    assert groups() == [("", 6)]
    assert groups(by=["(?P<seed>[0-4])$"], runs=["seed-1", "seed-2"]) == [
        ("seed=1", 1),
        ("seed=2", 1),
    ]
    by_hand = [{"name": "good", "runs": ["seed-1"]}, {"name": "bad", "runs": ["seed-2", "seed-3"]}]
    assert groups(groups=by_hand) == [("bad", 2), ("good", 1)]
    twice = [{"name": "good", "runs": ["seed-1"]}, {"name": "bad", "runs": ["seed-1"]}]
    refused = client.refused("/api/fold", tags=["loss"], groups=twice)
    assert refused == (400, "Run 'seed-1' is in two groups.")
    gone = [{"name": "gone", "runs": ["../seed-1"]}]
    assert client.refused("/api/fold", tags=["loss"], groups=gone)[0] == 404
    status, message = client.refused("/api/fold", tags=["loss"], by="lrr")
    assert (status, message) == (400, "No hparam 'lrr' in any run. Did you mean 'lr'?")


@pytest.mark.parametrize("by", ["lr", "status", "parent", "(?P<seed>[0-3])$", r"seed-\d", "lrr"])
def test_groups_match_the_fold_and_have_the_same_errors(seeds, by):
    client = Client(seeds)
    response = client.http.post("/api/groups", json={"by": by})
    fold = client.http.post("/api/fold", json={"by": by, "tags": ["loss"]})
    assert response.status_code == fold.status_code
    if response.status_code == 400:
        assert response.json() == fold.json()
        return
    series = read_metadata(client.post("/api/fold", tags=["loss"], by=by))
    assert response.json()["groups"] == [
        {"name": entry["group"], "runs": entry["runs"]} for entry in series
    ]


def test_note_names_what_is_left_out(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0), (1, math.nan)))
    write(tmp_path / "b", scalars("loss", (0, 2.0), (1, 3.0), (1, 4.0)))
    write(tmp_path / "c", scalars("other", (0, 2.0)))
    client = Client(tmp_path, restarts="keep")
    table = client.post("/api/fold", tags=["loss"], band="minmax")
    assert table["center"].to_pylist() == [1.5, 4.0]
    assert read_metadata(table)[0]["runs"] == ["a", "b"]
    (first, *_) = read_metadata(table)
    assert first["note"] == "Left out: 1 duplicate point. Left out: 1 NaN in run a."
    nothing = client.post("/api/fold", tags=["loss"], runs=["c"])
    assert (len(nothing), read_metadata(nothing)) == (0, [])
    assert nothing.schema.names == ["series", "x", "center", "low", "high", "count"]


def test_fold_is_updated_when_runs_grow(seeds):
    client = Client(seeds)
    assert read_metadata(client.post("/api/fold", tags=["loss"]))[0]["points"] == 50
    for seed in range(6):
        write(seeds / f"seed-{seed}", scalars("loss", (50, 0.0)), number=2)
    client.source.refresh()
    assert read_metadata(client.post("/api/fold", tags=["loss"]))[0]["points"] == 51


@pytest.mark.parametrize("pattern", [r"(?P<seed>\d)?-(?P<n>[0-4])", "(?P<all>.)(?!.*5)"])
def test_pattern_makes_the_same_groups_as_the_library(seeds, pattern):
    table = Client(seeds).post("/api/fold", tags=["loss"], by=pattern)
    assert {entry["group"]: entry["runs"] for entry in read_metadata(table)} == {
        name: list(group.runs) for name, group in rf.open(seeds).reduce(by=pattern).groups.items()
    }


def test_pattern_that_would_take_forever_is_cancelled(tmp_path):
    write(tmp_path / ("a" * 60), scalars("loss", (0, 1.0)))
    status, error = Client(tmp_path).refused("/api/fold", tags=["loss"], by="(?P<a>(a+)+)$b")
    assert status == 400
    assert "was cancelled" in error


def test_invalid_pattern_is_refused(seeds):
    for pattern in ("(?P<a>[)", "(?P<a>a{9999999999})"):
        status, error = Client(seeds).refused("/api/fold", tags=["loss"], by=pattern)
        assert status == 400
        assert "is not a valid regular expression" in error
