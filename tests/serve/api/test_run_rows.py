"""The table over HTTP matches the library's, with one row per run and column metadata."""

import math
import os
import threading

import pandas as pd
import pytest
from helpers.eventfiles import corrupt
from helpers.logs import hparams, scalars, values, write
from helpers.packs import pack
from helpers.serve_client import Client

import runfold as rf
from runfold._events.value_encoding import text


@pytest.fixture
def logdir(tmp_path):
    write(
        tmp_path / "a",
        hparams(lr=0.1, opt="adam", bias=True, hidden=64.0, odd=1.0),
        scalars("loss", (0, 3.0), (2**53 + 1, 1.0)),
        scalars("runfold/system", (0, 1.0)),
        scalars("system/cpu", (0, 1.0)),
        values(text("note", "<script>alert(1)</script>")),
    )
    write(tmp_path / "b", hparams(lr=0.2, odd="x"), scalars("loss", (0, math.nan), (1, math.inf)))
    write(tmp_path / "c", scalars("acc", (0, 0.5), (1, 0.25)))
    return tmp_path


def cells(table, name):
    return table[name].to_pylist()


def test_every_cell_matches_the_library(logdir):
    table = Client(logdir).get("/api/table", stat=["last", "min", "max", "mean", "auc", "first"])
    every = dict.fromkeys(("min", "max", "mean", "auc", "first"), True)
    frame = rf.open(logdir).table(images=False, **every).drop(columns="start")
    others = {"start", "points", "hidden", "problems"}
    assert set(table.column_names) - others == {*frame.columns} - {"hidden"} | {"hparam hidden"}
    for name in frame.columns.drop(["odd", "hidden"]):
        theirs = [None if pd.isna(cell) else cell for cell in frame[name].tolist()]
        mine = [None if cell is None or cell != cell else cell for cell in cells(table, name)]
        assert mine == theirs, name
    assert cells(table, "odd") == ["1.0", "x", None]
    assert cells(table, "start") == [1.0, 1.0, 1.0]


def test_missing_values_are_null_and_nan_is_not(logdir):
    table = Client(logdir).get("/api/table")
    assert str(cells(table, "loss")) == "[1.0, inf, None]"
    assert cells(table, "lr") == [0.1, 0.2, None]
    assert cells(table, "bias") == [True, None, None]
    assert cells(table, "opt") == ["adam", None, None]
    assert cells(table, "steps") == [2**53 + 1, 1, 1]
    assert cells(table, "note") == ["<script>alert(1)</script>", None, None]
    write(logdir / "d", scalars("only", (0, math.nan)))
    assert str(cells(Client(logdir).get("/api/table"), "only")) == "[None, None, None, nan]"


def test_fields_have_metadata(logdir):
    table = Client(logdir).get("/api/table", stat="best")
    properties = {
        field.name: {key.decode(): value.decode() for key, value in field.metadata.items()}
        for field in table.schema
    }
    assert properties["run"] == {"kind": "fixed"}
    assert properties["lr"] == {"kind": "hparam", "name": "lr"}
    assert properties["hparam hidden"] == {"kind": "hparam", "name": "hidden"}
    assert properties["hidden"] == {"kind": "fixed"}
    assert properties["best loss"] == {"kind": "statistic", "name": "loss", "stat": "best"}
    assert properties["note"] == {"kind": "text", "name": "note"}
    assert [name for name in properties if "system" in name] == []


def test_hidden_points_and_problems_are_counted(tmp_path):
    path = write(tmp_path / "a", scalars("loss", *((step, 1.0) for step in range(9))))
    path.write_bytes(corrupt(path.read_bytes(), at=-20))
    write(tmp_path / "a", scalars("loss", (3, 2.0)), number=2)
    table = Client(tmp_path, restarts="step").get("/api/table")
    runs = rf.open(tmp_path, restarts="step")
    assert cells(table, "problems") == [len(runs.problems())] == [1]
    assert cells(table, "hidden") == [runs["a"].hidden] == [5]


def test_long_text_is_truncated(tmp_path):
    write(tmp_path / "a", values(text("note", "é" * 1000)))
    assert cells(Client(tmp_path).get("/api/table"), "note") == ["é" * 500 + "…"]


def test_table_is_updated_when_runs_grow(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    client = Client(tmp_path)
    assert cells(client.get("/api/table"), "loss") == [1.0]
    write(tmp_path / "a", scalars("loss", (1, 0.5)), number=2)
    assert cells(client.get("/api/table"), "loss") == [1.0]
    client.source.refresh()
    assert cells(client.get("/api/table"), "loss") == [0.5]


def test_table_of_no_runs_has_no_rows(tmp_path):
    table = Client(tmp_path).get("/api/table")
    assert (len(table), table.column_names[0]) == (0, "run")


def test_pack_has_the_same_data_as_its_logdir(logdir, tmp_path_factory):
    packed = Client(pack(logdir, tmp_path_factory.mktemp("packs") / "runs.parquet"))
    client = Client(logdir)
    # Compared as text, because NaN is not equal to itself.
    assert str(packed.get("/api/table").to_pydict()) == str(client.get("/api/table").to_pydict())
    for path in ("/api/curves", "/api/fold"):
        mine, theirs = (each.post(path, tags=["loss", "acc"]) for each in (packed, client))
        assert str(mine.to_pydict()) == str(theirs.to_pydict())
        assert mine.schema.metadata == theirs.schema.metadata


REWRITES = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "replaced": lambda path: os.replace(write(path.parent.parent / "new", scalars("x")), path),
}


@pytest.mark.parametrize("how", REWRITES)
def test_a_rewritten_run_loses_only_its_own_cells(logdir, how):
    client = Client(logdir)
    client.source.logs()
    REWRITES[how](next((logdir / "a").iterdir()))
    table = client.get("/api/table")
    assert cells(table, "run") == ["a", "b", "c"]
    assert cells(table, "lr") == [None, 0.2, None]
    assert cells(table, "loss") == [1.0, math.inf, None]
    assert cells(table, "problems") == [1, 0, 0]
    assert cells(table, "note") == [None, None, None]


@pytest.mark.parametrize("how", REWRITES)
def test_error_about_a_changed_file_reveals_no_path(logdir, how):
    client = Client(logdir)
    client.source.logs()
    REWRITES[how](next((logdir / "a").iterdir()))
    response = client.http.get("/api/texts", params={"tag": "note"})
    assert response.status_code == 409
    assert response.json() == {
        "error": "A log file changed while it was being read. Try again in a moment."
    }


def test_responses_are_complete_while_a_run_is_rewritten_constantly(logdir):
    """A thread rewrites a run, as in a real attack, and refreshes the source; a client reads."""
    client = Client(logdir)
    path = next((logdir / "a").iterdir())
    whole = path.read_bytes()
    is_done = threading.Event()

    def rewrite() -> None:
        while not is_done.is_set():
            os.replace(write(logdir.parent / "new", scalars("loss", (0, 1.0))), path)
            client.source.refresh()
            path.write_bytes(whole)

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for _ in range(30):
            table = client.get("/api/table")
            assert cells(table, "run") == ["a", "b", "c"]
            assert cells(table, "lr")[1] == 0.2
    finally:
        is_done.set()
        thread.join()
