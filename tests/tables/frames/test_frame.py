"""All tables are instances of `Table`, and so are tables derived from them."""

import pickle

import pandas as pd
import pytest
from helpers.writers import torch as write_all_kinds

import runfold as rf
from runfold._tables.frames.frame import Table

KINDS = [
    "audio",
    "boxes",
    "embeddings",
    "hparam_domains",
    "graphs",
    "histograms",
    "hparams",
    "images",
    "layouts",
    "meshes",
    "metrics",
    "pr_curves",
    "problems",
    "run_metadata",
    "scalars",
    "sessions",
    "tensors",
    "text",
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logdir")
    write_all_kinds(folder / "seed-1")
    return rf.open(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_returns_a_table(runs, kind):
    assert type(getattr(runs, kind)()) is Table
    assert type(getattr(runs["seed-1"], kind)()) is Table


def test_wide_tables_reductions_and_system_metrics_are_tables(runs):
    assert type(runs.scalars(wide=True)) is Table
    assert type(runs.hparams(wide=True)) is Table
    assert type(runs["seed-1"].system()) is Table
    assert type(runs.reduce("mean", lax_tags=True).frame()) is Table


def test_derived_tables_are_tables(runs):
    table = runs.scalars()
    assert type(table[table["step"] > 0].sort_values("step").head(3)[["run", "step"]]) is Table


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(("kind", "cell"), [("images", "image"), ("audio", "audio")])
def test_pickled_table_contains_its_images_and_clips(tmp_path, kind, cell, is_packed):
    write_all_kinds(tmp_path / "logs" / "seed-1")
    path = tmp_path / ("logs.parquet" if is_packed else "logs")
    if is_packed:
        rf.open(tmp_path / "logs").pack(path)
    table = getattr(rf.open(path), kind)()
    expected = [(repr(value), value.data) for value in table[cell]]
    table.to_pickle(tmp_path / "table.pickle")
    path.rename(tmp_path / "elsewhere")
    again = pd.read_pickle(tmp_path / "table.pickle")
    assert type(again) is Table
    assert [(repr(value), value.data) for value in again[cell]] == expected
    assert pickle.loads(pickle.dumps(again)).drop(columns=cell).equals(table.drop(columns=cell))


def test_long_table_takes_24_bytes_per_point_for_its_numbers(runs):
    table = runs.scalars()
    assert all(str(table[name].dtype) == "category" for name in ("run", "tag"))
    assert table.memory_usage(index=False, deep=True)[["step", "wall_time", "value"]].sum() == (
        24 * len(table)
    )
