"""The public interface in one script: opening, querying, reducing and logging."""

import pkgutil
import re
from pathlib import Path

import pytest

import runfold as rf


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rf.Runs:
    monkeypatch.chdir(tmp_path)
    for seed, lr in ((1, 0.01), (2, 0.01), (3, 0.1), (4, 0.1)):
        with rf.track(f"runs/seed-{seed}", hparams={"lr": lr}, system=False) as run:
            for step in range(3):
                losses = {"train/loss": lr / (step + seed), "val/loss": lr / (step + 2 * seed)}
                run.log(losses, step=step)
    return rf.open("runs/")


def test_every_point_is_a_row_and_every_tag_a_column(runs: rf.Runs) -> None:
    series = runs["seed-1"]["train/loss"]
    assert (len(series.steps), len(series.values), len(series.wall_times)) == (3, 3, 3)
    assert series.plot().axes[0].get_ylabel() == "train/loss"
    long = runs.scalars(tags="train/*")
    assert list(long) == ["run", "tag", "step", "wall_time", "value"]
    assert len(long) == 12
    assert {"train/loss", "val/loss"} <= set(runs.scalars(wide=True))


def test_runs_are_rows_that_can_be_selected_and_queried(runs: rf.Runs) -> None:
    assert list(runs.table()["status"]) == ["finished"] * 4
    assert list(runs.where("lr < 0.1 and status == 'finished'")) == ["seed-1", "seed-2"]
    query = "select run, min(value) from scalars where tag = 'val/loss' group by run"
    assert sorted(runs.sql(query)["run"]) == list(runs)
    assert set(runs.hparams()["hparam"]) == {"lr"}
    assert len(runs.images()) == len(runs.histograms()) == len(runs.problems()) == 0


def test_groups_are_reduced_plotted_and_written(runs: rf.Runs) -> None:
    reduced = runs.reduce(["mean", "std"], by="lr")
    assert len(reduced.plot("val/loss").axes[0].lines) == 2
    reduced.to_tensorboard("reduced/")
    reduced.to_csv("reduced.csv")
    assert sorted(path.name for path in Path("reduced").iterdir()) == ["band", "mean", "std"]
    assert Path("reduced.csv").read_text().startswith("lr,tag,step")


def test_every_public_name_exists_and_has_a_docstring() -> None:
    assert [name for name in rf.__all__ if not getattr(rf, name).__doc__] == []
    assert set(rf.__all__) <= set(dir(rf))


def test_docstring_of_the_package_lists_every_public_name() -> None:
    listed = re.findall(r"^ {4}rf\.(\w+) {2,}\S", rf.__doc__ or "", re.MULTILINE)
    assert sorted(listed) == sorted(rf.__all__)


def test_every_other_module_is_private_by_name() -> None:
    names = {module.name for module in pkgutil.iter_modules(rf.__path__)}
    public = {name for name in names if not name.startswith("_")}
    assert public == {"compat", "errors", "integrations"}


def test_library_calls_are_named_like_their_commands(tmp_path: Path) -> None:
    with rf.track(tmp_path / "runs" / "seed-1", system=False) as run:
        run.log({"loss": 1.0, "debug/x": 2.0}, step=1)
    report = rf.edit(tmp_path / "runs", tmp_path / "clean", delete_tags="debug/*")
    assert len(report.changed) == 1
    assert [*rf.open(tmp_path / "clean").scalars()["tag"].unique()] == ["loss"]
    assert rf.repair(tmp_path / "clean", dry_run=True).changed == []
    assert rf.upload(tmp_path / "clean", tmp_path / "copy") == 2  # the log and its heartbeat
    names = [experiment.name for experiment in rf.experiments(tmp_path / "clean")]
    assert names == ["seed-1"]
    with pytest.raises(rf.errors.CannotStop):
        rf.stop(tmp_path / "clean" / "seed-1")
