"""The columns of the table with one row per run: their names and selection."""

from pathlib import Path

import pytest
from helpers.logs import hparams, scalars, values, write

import runfold as rf
from runfold._events.value_encoding import text
from runfold.errors import CannotFold, UnknownColumn, UnknownTag

FIXED = ["run", "status", "start", "duration", "steps"]


def columns(runs: rf.Runs, **wishes: object) -> list[str]:
    return list(runs.table(**wishes))


def test_duplicate_name_is_written_in_full(tmp_path: Path):
    settings = hparams(lr=0.5, run="x", **{"last lr": 1.0, "best loss": 2.0, "": 3.0})
    write(
        tmp_path,
        settings,
        *(scalars(tag, (0, 7.0)) for tag in ("lr", "step", "status", "loss", "min loss", "")),
        values(text("loss", "words"), text("audio", "none")),
    )
    table = rf.open(tmp_path).table(best="loss")
    assert table.iloc[0].to_dict() | {"start": 0} == {
        "run": ".",
        "status": "unknown",
        "start": 0,
        "duration": 9.0,
        "steps": 0,
        "hparam ": 3.0,
        "hparam best loss": 2.0,
        "hparam last lr": 1.0,
        "lr": 0.5,
        "hparam run": "x",
        "last lr": 7.0,
        "step": 7.0,
        "last status": 7.0,
        "loss": 7.0,
        "last min loss": 7.0,
        "last ": 7.0,
        "best loss": 7.0,
        "best_step loss": 0,
        "text loss": "words",
        "text audio": "none",
    }


def test_names_do_not_depend_on_the_shown_columns(tmp_path: Path):
    write(tmp_path, scalars("loss", (0, 1.0)), values(text("loss", "words")))
    runs = rf.open(tmp_path)
    assert columns(runs, last=False) == [*FIXED, "text loss"]


@pytest.fixture
def sweep(tmp_path: Path) -> rf.Runs:
    for number, (rate, loss) in enumerate([(0.1, 3.0), (0.5, 1.0), ("auto", 2.0)]):
        points = scalars("val/loss", (0, 9.0), (1, loss))
        write(tmp_path / f"seed-{9 + number}", hparams(lr=rate), points, scalars("x", (0, 1.0)))
    write(tmp_path / "seed-1", scalars("val/loss", (0, float("nan"))))
    return rf.open(tmp_path)


def test_columns_have_the_requested_order(sweep: rf.Runs):
    assert columns(sweep, columns=["val/loss", "lr", "val/*"]) == ["run", "val/loss", "lr"]
    assert columns(sweep, columns="*") == [*FIXED, "lr", "val/loss", "x"]
    assert columns(sweep, columns="points") == ["run", "points"]
    assert columns(sweep, columns="best *") == ["run", "best val/loss"]
    with pytest.raises(
        CannotFold, match="Cannot tell from the name of 'x' whether higher or lower is better"
    ):
        columns(sweep, columns="best x")
    with pytest.raises(TypeError):
        columns(sweep, at="100")


def test_full_name_selects_its_column(sweep: rf.Runs):
    names = ["max val/loss", "at 0 val/loss", "last val/loss", "hparam lr", "mean *", "best v*"]
    table = sweep.table(columns=names, runs="seed-9")
    assert table.iloc[0].to_dict() == {
        "run": "seed-9",
        "max val/loss": 9.0,
        "at 0 val/loss": 9.0,
        "val/loss": 3.0,
        "lr": 0.1,
        "mean val/loss": 6.0,
        "mean x": 1.0,
        "best val/loss": 3.0,
    }


def test_unknown_name_lists_similar_names(sweep: rf.Runs):
    with pytest.raises(UnknownColumn, match=r"No column 'val/los'\. Did you mean 'val/loss'"):
        sweep.table(columns=["lr", "val/los"])
    with pytest.raises(UnknownColumn, match="No column 'best val/los'"):
        sweep.table(columns="best val/los")
    with pytest.raises(UnknownColumn, match="No column 'at val/loss'"):
        sweep.table(columns="at val/loss")
    with pytest.raises(UnknownColumn, match="Available: run, status, start, duration, steps"):
        sweep.table(sort="zzz*")
    with pytest.raises(UnknownTag, match="Did you mean 'val/loss'"):
        sweep.table(min="val/lss")
    with pytest.raises(TypeError, match=r"Expected a column name \(str\), got"):
        sweep.table(columns=[1])


def test_column_of_other_runs_is_empty(sweep: rf.Runs):
    some = sweep.where("run == 'seed-1'")
    table = some.table(columns=["lr", "max x", "x"], best="x", better="lower", sort="lr")
    assert list(table) == ["run", "lr", "max x", "x"]
    assert table.isna().iloc[0].tolist() == [False, True, True, True]
    assert columns(some, min="x", at={"x": 5})[-3:] == ["val/loss", "min x", "at 5 x"]
    assert columns(some)[-1] == "val/loss"
    assert some.lacking("x").table(runs="*").shape == some.table().shape
    nothing = sweep.where("lr > 1").table(columns=["lr", "val/*"], sort="val/loss")
    assert (list(nothing), len(nothing)) == (["run", "lr", "val/loss"], 0)
    with pytest.raises(UnknownColumn, match=r"No column 'val/los'\. Did you mean 'val/loss'"):
        some.table(columns="val/los")


def test_column_of_other_runs_never_takes_the_name_of_a_selected_column(tmp_path: Path):
    write(tmp_path / "a", scalars("lr", (0, 1.0)))
    write(tmp_path / "b", hparams(lr=0.5))
    some = rf.open(tmp_path).where("run == 'a'")
    assert some.table(columns=["lr", "hparam lr"]).iloc[0].tolist()[:2] == ["a", 1.0]
    assert columns(some, columns=["lr", "hparam lr"]) == ["run", "lr", "hparam lr"]


def runs_by(runs: rf.Runs, **wishes: object) -> list[str]:
    return runs.table(**wishes)["run"].tolist()


def test_rows_are_sorted_with_missing_values_last(sweep: rf.Runs):
    assert runs_by(sweep) == ["seed-1", "seed-9", "seed-10", "seed-11"]
    assert runs_by(sweep, sort="val/loss") == ["seed-10", "seed-11", "seed-9", "seed-1"]
    backwards = runs_by(sweep, sort="val/loss", reverse=True)
    assert backwards == ["seed-9", "seed-11", "seed-10", "seed-1"]
    assert runs_by(sweep, sort="lr") == ["seed-9", "seed-10", "seed-11", "seed-1"]
    assert runs_by(sweep, sort="run", reverse=True) == ["seed-11", "seed-10", "seed-9", "seed-1"]


def test_rows_are_sorted_by_several_columns_shown_or_not(sweep: rf.Runs):
    rows = runs_by(sweep, columns="lr", sort=["steps", "max val/loss", "lr"])
    assert rows == ["seed-1", "seed-9", "seed-10", "seed-11"]
    rows = runs_by(sweep, columns="lr", sort=["first val/loss", "min val/loss"])
    assert rows == ["seed-10", "seed-11", "seed-9", "seed-1"]
