"""Comparisons over HTTP are those of the library, with numbers that JSON has."""

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


def test_tables_and_sentence_are_those_of_the_library(logdir):
    found = Client(logdir).post("/api/compare", tags=["loss", "acc"], by="lr", at="best")
    known = rf.open(logdir).compare(["loss", "acc"], by="lr", at="best")
    names = {"overall_pairs": "overallPairs"}
    for table in ("groups", "pairs", "scores", "overall", "overall_pairs"):
        columns = known.columns(table)
        rows = found[names.get(table, table)]
        assert len(rows) == len(columns["n" if table == "groups" else next(iter(columns))])
        for name, cells in columns.items():
            first, *others = name.split("_")
            key = first + "".join(map(str.capitalize, others))
            assert all(same(row[key], cell) for row, cell in zip(rows, cells, strict=True)), name
    assert found["sentence"] == known.sentence
    assert found["correction"] == known.correction != ""
    assert found["warnings"] == list(known.warnings)
    assert [(one["tag"], one["better"]) for one in found["directions"]] == [
        ("loss", "lower"),
        ("acc", "higher"),
    ]


def test_groups_by_hand_and_a_step(logdir):
    runs = [f"lr0.1-seed{seed}" for seed in range(3)]
    groups = [{"name": "first", "runs": runs[:1]}, {"name": "others", "runs": runs[1:]}]
    found = Client(logdir).post("/api/compare", tags=["loss"], groups=groups, at=0)
    assert [(row["group"], row["n"], row["mean"]) for row in found["groups"]] == [
        ("first", 1, 9.0),
        ("others", 2, 9.0),
    ]
    assert found["groups"][0]["std"] == "NaN"
    assert found["leftOut"] == []


def test_runs_without_a_group_are_said_to_be_left_out(logdir):
    write(logdir / "odd", scalars("loss", (0, 1.0)))
    found = Client(logdir).post("/api/compare", tags=["loss"], by="lr", better="higher")
    assert found["leftOut"] == ["1 run without the hparam 'lr': odd"]
    assert found["pairs"][0]["a"] == "lr=0.2"


def test_what_cannot_be_compared_is_refused(logdir, monkeypatch):
    client = Client(logdir)
    assert client.refused("/api/compare", tags=["los"], by="lr")[0] == 404
    assert client.refused("/api/compare", tags=["loss"], runs=["x"])[0] == 404
    status, message = client.refused("/api/compare", tags=["loss"], at="bset")
    assert (status, message[-20:]) == (400, "Did you mean 'best'?")
    assert client.refused("/api/compare", tags=["lo*"], by="lr")[0] == 404
    monkeypatch.setattr(comparing, "_MOST_PAIRS", 1)
    client.post("/api/compare", tags=["loss"], by="lr")
    _, message = client.refused("/api/compare", tags=["loss", "acc"], by="lr")
    assert message.startswith("2 groups on 2 tags are 2 pairs, and 1 are compared at most.")
