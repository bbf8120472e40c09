"""Comparisons over HTTP match the library's; non-finite numbers become strings."""

import math

import pytest
from helpers.logs import hparams, scalars, write
from helpers.serve_client import Client

import runfold as rf
from runfold._serve.api import comparisons as comparing


@pytest.fixture
def logdir(tmp_path):
    for seed in range(4):
        for lr in (0.1, 0.2):
            write(
                tmp_path / f"lr{lr}-seed{seed}",
                hparams(lr=lr),
                scalars("loss", (0, 9.0), (1, lr + seed / 100)),
                scalars("acc", (0, 0.1), (1, 1 - lr + seed / 100)),
            )
    return tmp_path


def same(mine, theirs):
    if isinstance(theirs, float) and not math.isfinite(theirs):
        return mine == ("NaN" if math.isnan(theirs) else f"{'-' * (theirs < 0)}Infinity")
    return mine == theirs


def test_tables_and_sentence_match_the_library(logdir):
    result = Client(logdir).post("/api/compare", tags=["loss", "acc"], by="lr", at="best")
    known = rf.open(logdir).compare(["loss", "acc"], by="lr", at="best")
    names = {"overall_pairs": "overallPairs"}
    for table in ("groups", "pairs", "scores", "overall", "overall_pairs"):
        columns = known.columns(table)
        rows = result[names.get(table, table)]
        assert len(rows) == len(columns["n" if table == "groups" else next(iter(columns))])
        for name, cells in columns.items():
            first, *others = name.split("_")
            key = first + "".join(map(str.capitalize, others))
            assert all(same(row[key], cell) for row, cell in zip(rows, cells, strict=True)), name
    assert result["sentence"] == known.sentence
    assert result["correction"] == known.correction != ""
    assert result["warnings"] == list(known.warnings)
    assert [(entry["tag"], entry["better"]) for entry in result["directions"]] == [
        ("loss", "lower"),
        ("acc", "higher"),
    ]


def test_groups_by_members_and_a_step(logdir):
    runs = [f"lr0.1-seed{seed}" for seed in range(3)]
    groups = [{"name": "first", "runs": runs[:1]}, {"name": "others", "runs": runs[1:]}]
    result = Client(logdir).post("/api/compare", tags=["loss"], groups=groups, at=0)
    assert [(row["group"], row["n"], row["mean"]) for row in result["groups"]] == [
        ("first", 1, 9.0),
        ("others", 2, 9.0),
    ]
    assert result["groups"][0]["std"] == "NaN"
    assert result["leftOut"] == []


def test_runs_without_a_group_are_reported_as_left_out(logdir):
    write(logdir / "odd", scalars("loss", (0, 1.0)))
    result = Client(logdir).post("/api/compare", tags=["loss"], by="lr", better="higher")
    assert result["leftOut"] == ["1 run without the hparam 'lr': odd"]
    assert result["pairs"][0]["a"] == "lr=0.2"


def test_invalid_comparisons_are_refused(logdir, monkeypatch):
    client = Client(logdir)
    assert client.refused("/api/compare", tags=["los"], by="lr")[0] == 404
    assert client.refused("/api/compare", tags=["loss"], runs=["x"])[0] == 404
    status, message = client.refused("/api/compare", tags=["loss"], at="bset")
    assert (status, message[-20:]) == (400, "Did you mean 'best'?")
    assert client.refused("/api/compare", tags=["lo*"], by="lr")[0] == 404
    monkeypatch.setattr(comparing, "_MOST_PAIRS", 1)
    client.post("/api/compare", tags=["loss"], by="lr")
    _, message = client.refused("/api/compare", tags=["loss", "acc"], by="lr")
    assert message.startswith("2 groups on 2 tags make 2 pairs; the limit is 1.")
