"""Every table of the package is one class of DataFrame, and stays one when it is worked with."""

import pytest
from writers import torch as write_all_kinds

import runfold as rf
from runfold.tables.table import Table

KINDS = [
    "audio",
    "boxes",
    "embeddings",
    "experiments",
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
def test_every_kind_gives_a_table(runs, kind):
    assert type(getattr(runs, kind)()) is Table
    assert type(getattr(runs["seed-1"], kind)()) is Table


def test_wide_tables_folds_and_system_metrics_are_tables(runs):
    assert type(runs.scalars(wide=True)) is Table
    assert type(runs.hparams(wide=True)) is Table
    assert type(runs["seed-1"].system()) is Table
    assert type(runs.reduce("mean", lax_tags=True).frame()) is Table


def test_what_is_made_of_a_table_is_one(runs):
    table = runs.scalars()
    assert type(table[table["step"] > 0].sort_values("step").head(3)[["run", "step"]]) is Table


def test_long_table_takes_24_bytes_a_point_for_its_numbers(runs):
    table = runs.scalars()
    assert all(str(table[name].dtype) == "category" for name in ("run", "tag"))
    assert table.memory_usage(index=False, deep=True)[["step", "wall_time", "value"]].sum() == (
        24 * len(table)
    )
