"""A selection of runs supports everything that the runs of a whole logdir support."""

import pickle
from pathlib import Path

import pytest
from helpers.logs import hparams, scalars, values, write

import runfold as rf
from runfold._events.value_encoding import hparams_end
from runfold.errors import BadExpression, RunfoldError, UnknownRun, UnknownTag

POINTS = scalars("loss", (0, 2.0), (10, 1.0))


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write(tmp_path / "a", hparams(lr=0.1), POINTS)
    write(tmp_path / "b", hparams(lr=0.5), POINTS, values(hparams_end("failure")))
    write(tmp_path / "c", hparams(lr=0.1), scalars("loss", (0, 3.0)), scalars("acc", (5, 0.5)))
    return tmp_path


@pytest.fixture
def runs(logdir: Path) -> rf.Runs:
    return rf.open(logdir)


def test_tables_contain_only_selected_runs(runs: rf.Runs):
    some = runs.where("lr == 0.1")
    assert isinstance(some, rf.Runs)
    assert list(some) == ["a", "c"]
    assert len(some) == 2
    assert "b" not in some
    assert some["a"] is runs["a"]
    assert some.scalars()["run"].unique().tolist() == ["a", "c"]
    assert some.hparams(wide=True).index.tolist() == ["a", "c"]
    assert some.tags == {"scalar": ["loss", "acc"], "hparams": ["_hparams_/session_start_info"]}
    assert some.table()["run"].tolist() == ["a", "c"]
    assert some.reduce("count", tags="loss", align="union").groups[""].runs == ("a", "c")
    assert len(some.problems()) == 0
    rows = some.sql("select distinct run from scalars order by run").arrow()
    assert rows["run"].to_pylist() == ["a", "c"]
    assert some.load() is some
    assert repr(some).startswith("2 runs of 3 in ")
    assert "<caption>2 runs of 3</caption>" in some._repr_html_()
    assert list(some.where("steps > 6")) == ["a"]


def test_comparison_contains_only_selected_runs(runs: rf.Runs):
    comparison = runs.where("has('loss') and lr < 9").compare("loss", by="lr")
    assert {score.run for score in comparison.scores} == {"a", "b", "c"}
    comparison = (runs - runs.where("run == 'a'")).compare("loss", by="lr")
    assert {score.run for score in comparison.scores} == {"b", "c"}


def test_problems_contain_only_selected_runs(logdir: Path):
    broken = write(logdir / "d", hparams(lr=9.0), POINTS)
    broken.write_bytes(broken.read_bytes()[:-1] + b"x")
    runs = rf.open(logdir)
    query = "select count(*) as n from problems"
    for chosen, count in ((runs, 1), (runs.where("lr > 1"), 1), (runs.where("lr < 1"), 0)):
        assert len(chosen.problems()) == count
        assert chosen.sql(query).arrow()["n"].to_pylist() == [count]


def test_run_outside_the_selection_is_explained(runs: rf.Runs):
    some = runs.where("lr == 0.1")
    with pytest.raises(UnknownRun, match="Run 'b' is not in this selection of runs"):
        some["b"]
    with pytest.raises(UnknownRun, match="No run 'bb'"):
        some["bb"]


def test_selection_does_not_change_after_a_refresh(logdir: Path, runs: rf.Runs):
    some = runs.where("lr == 0.1")
    write(logdir / "d", hparams(lr=0.1), POINTS)
    write(logdir / "a", scalars("loss", (20, 0.5)), number=2)
    changes = some.refresh()
    assert changes.runs == ["d"]
    assert list(some) == ["a", "c"]
    assert list(runs) == ["a", "b", "c", "d"]
    assert some["a"]["loss"].values.tolist() == [2.0, 1.0, 0.5]
    assert list(runs.where("lr == 0.1")) == ["a", "c", "d"]


def test_selection_can_be_pickled(runs: rf.Runs):
    some = pickle.loads(pickle.dumps(runs.where("lr == 0.1")))
    assert list(some) == ["a", "c"]
    assert list(pickle.loads(pickle.dumps(runs))) == ["a", "b", "c"]


def test_function_of_a_run_selects_too(runs: rf.Runs):
    assert list(runs.where(lambda run: "acc" in run)) == ["c"]


def test_selections_can_be_combined(logdir: Path, runs: rf.Runs):
    low, failed = runs.where("lr < 0.2"), runs.failed()
    assert list(runs - failed) == ["a", "c"]
    assert list(low | failed) == ["a", "b", "c"]
    assert list(low & runs.lacking("acc")) == ["a"]
    with pytest.raises(RunfoldError, match=r"from the same rf\.open\(\) call"):
        runs - rf.open(logdir)
    with pytest.raises(TypeError):
        runs - {"a"}


def test_failed_runs(runs: rf.Runs):
    assert list(runs.failed()) == ["b"]


def test_runs_that_lack_a_tag(runs: rf.Runs):
    assert list(runs.lacking("acc")) == ["a", "b"]
    assert list(runs.lacking(["loss", "acc"])) == ["a", "b"]
    with pytest.raises(UnknownTag, match="Did you mean 'loss'"):
        runs.lacking("los")


def test_runs_that_ended_early(logdir: Path, runs: rf.Runs):
    assert list(runs.shorter(10)) == ["c"]
    write(logdir / "empty")
    assert list(rf.open(logdir).shorter(0)) == ["empty"]


def test_newest_runs(tmp_path: Path):
    for name, time in (("a", 30.0), ("b", 10.0), ("c", 20.0)):
        write(tmp_path / name, lambda buffer, time=time: buffer.scalar("x", 1.0, 0, -time))
    runs = rf.open(tmp_path)
    assert list(runs.newest(2)) == ["b", "c"]
    assert list(runs.newest()) == ["b"]
    assert len(runs.newest(99)) == 3
    assert len(runs.newest(0)) == 0


def test_runs_that_repeat_an_earlier_one(logdir: Path, runs: rf.Runs):
    write(logdir / "z", hparams(lr=0.5), POINTS, values(hparams_end("failure")))
    write(logdir / "no hparams", POINTS)
    runs = rf.open(logdir)
    assert list(runs.duplicates()) == ["c", "z"]
    assert list(runs.duplicates("content")) == ["z"]
    assert list(runs - runs.duplicates("content")) == ["a", "b", "c", "no hparams"]
    with pytest.raises(RunfoldError, match="Did you mean 'content'"):
        runs.duplicates("contents")


def test_invalid_condition_raises_before_anything_is_read(runs: rf.Runs):
    with pytest.raises(BadExpression):
        runs.where("lr <")
    assert not runs["a"]._unread.is_loaded
