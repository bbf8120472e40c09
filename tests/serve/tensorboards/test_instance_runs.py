"""The runs that an instance shows, tested with real folders and event files."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.cli_runs import losses, write
from helpers.logs import hparams, scalars
from helpers.logs import write as write_log

from runfold._serve.tensorboards.instance_runs import Follower, Sources, resolve
from runfold.errors import CannotStore


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for name in ("plain", "sweep/a", "sweep/a/eval", "sweep/b", "other/a"):
        write(tmp_path / "logs" / name, losses(1.0))
    return tmp_path / "logs"


def test_all_runs_are_shown_by_default(logdir: Path) -> None:
    runs = resolve(Sources((str(logdir),)))
    assert list(runs) == ["other/a", "plain", "sweep/a", "sweep/a/eval", "sweep/b"]
    assert runs["plain"].path == str(logdir / "plain")


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ({"runs": ("sweep/a", "plain", "gone")}, ["plain", "sweep/a"]),
        ({"experiments": ("sweep",)}, ["sweep/a", "sweep/a/eval", "sweep/b"]),
        ({"runs": ("other/a",), "experiments": ("plain",)}, ["other/a", "plain"]),
        ({"runs": ()}, []),
    ],
)
def test_exactly_the_selected_runs_are_found(
    logdir: Path, chosen: dict[str, tuple[str, ...]], shown: list[str]
) -> None:
    assert list(resolve(Sources((str(logdir),), **chosen))) == shown


def test_later_runs_of_an_experiment_are_found(logdir: Path) -> None:
    follower = Follower(Sources((str(logdir),), experiments=("later",)))
    assert follower.resolve() == {}
    write(logdir / "later" / "one", losses(1.0))
    assert list(follower.resolve()) == ["later/one"]


def test_a_condition_is_evaluated_again_when_logs_grow(tmp_path: Path) -> None:
    follower = Follower(Sources((str(tmp_path),), where="lr < 0.1"))
    write_log(tmp_path / "a", hparams(lr=0.01), scalars("loss", (0, 1.0)))
    write_log(tmp_path / "b", hparams(lr=1.0), scalars("loss", (0, 1.0)))
    assert list(follower.resolve()) == ["a"]
    write_log(tmp_path / "c", hparams(lr=0.02), scalars("loss", (0, 1.0)))
    assert list(follower.resolve()) == ["a", "c"]
    assert follower.problem == ""


def test_a_condition_that_no_run_can_match_shows_nothing_and_says_why(logdir: Path) -> None:
    follower = Follower(Sources((str(logdir),), where="lr < 0.1"))
    assert follower.resolve() == {}
    assert "lr" in follower.problem


def test_a_deleted_logdir_shows_nothing_until_it_is_back(logdir: Path) -> None:
    follower = Follower(Sources((str(logdir),), runs=("plain",)))
    shutil.rmtree(logdir)
    assert follower.resolve() == {}
    assert follower.problem == f"No such folder: {logdir}."
    write(logdir / "plain", losses(1.0))
    assert list(follower.resolve()) == ["plain"]
    assert follower.problem == ""


def test_selected_runs_that_were_deleted_are_named(logdir: Path) -> None:
    (logdir / "empty").mkdir()
    follower = Follower(Sources((str(logdir),), runs=("plain",), experiments=("lost", "empty")))
    write(logdir / "lost" / "seed-1", losses(1.0))
    assert list(follower.resolve()) == ["lost/seed-1", "plain"]
    assert follower.problem == ""
    shutil.rmtree(logdir / "lost")
    shutil.rmtree(logdir / "plain")
    assert follower.resolve() == {}
    assert follower.problem == "No longer found: lost, plain."


def test_runs_keep_their_names_if_another_logdir_is_deleted(tmp_path: Path) -> None:
    for path in ("x/runs/one", "y/runs/two"):
        write(tmp_path / path, losses(1.0))
    follower = Follower(Sources((str(tmp_path / "x"), str(tmp_path / "y"))))
    assert list(follower.resolve()) == ["x/runs/one", "y/runs/two"]
    shutil.rmtree(tmp_path / "x")
    assert list(follower.resolve()) == ["y/runs/two"]


def test_a_glob_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "other" / "seed-1", losses(1.0))
    glob = str(tmp_path / "lr-*")
    follower = Follower(Sources((glob,)))
    assert follower.resolve() == {}
    assert follower.problem == f"No such folder: {glob}."
    for name in ("lr-1/seed-1", "lr-2/seed-1"):
        write(tmp_path / name, losses(1.0))
    assert list(follower.resolve()) == ["lr-1/seed-1", "lr-2/seed-1"]
    assert follower.problem == ""
    chosen = Follower(Sources((glob,), runs=("lr-2/seed-1",), experiments=("lr-1",)))
    assert list(chosen.resolve()) == ["lr-1/seed-1", "lr-2/seed-1"]
    shutil.rmtree(tmp_path / "lr-1")
    assert list(chosen.resolve()) == ["lr-2/seed-1"]
    assert chosen.problem == "No longer found: lr-1."


def test_sources_that_show_the_same_runs_have_the_same_key() -> None:
    sources = Sources(("/a", "/b"), runs=("x", "y"))
    assert sources.key == Sources(("/b", "/a"), runs=("y", "x", "x")).key
    others: list[Callable[[], Sources]] = [
        lambda: Sources(("/a",), runs=("x", "y")),
        lambda: Sources(("/a", "/b"), runs=None),
        lambda: Sources(("/a", "/b"), experiments=("x", "y")),
        lambda: Sources(("/a", "/b"), runs=("x", "y"), where="lr < 1"),
    ]
    assert len({sources.key, *(make().key for make in others)}) == 5
    for make in others:
        assert Sources.from_json(make().to_json()) == make()


def test_an_invalid_url_is_reported_at_once() -> None:
    with pytest.raises(CannotStore, match="unknown scheme 'gopher'"):
        Follower(Sources(("gopher://bucket/logs",)))


@pytest.mark.parametrize(
    "chosen",
    [{"runs": ("sweep/a",)}, {"experiments": ("sweep",), "where": "lr == 0.1"}],
    ids=["by name", "by a condition"],
)
def test_a_selected_run_is_shown_with_the_folders_of_add_hparams(
    logdir: Path, chosen: dict[str, tuple[str, ...]]
) -> None:
    follower = Follower(Sources((str(logdir),), **chosen))
    follower.resolve()
    write_log(logdir / "sweep/a/1700000000.25", hparams(lr=0.1), scalars("acc", (0, 0.5)))
    write_log(logdir / "other/a/1700000000.25", hparams(lr=0.1), scalars("acc", (0, 0.5)))
    assert list(follower.resolve()) == ["sweep/a", "sweep/a/1700000000.25"]
    assert follower.problem == ""


def test_a_folder_that_contradicts_its_run_is_not_shown_with_it(logdir: Path) -> None:
    write_log(logdir / "sweep/a", hparams(lr=0.2), number=2)
    write_log(logdir / "sweep/a/1700000000.25", hparams(lr=0.1), scalars("acc", (0, 0.5)))
    assert list(resolve(Sources((str(logdir),), runs=("sweep/a",)))) == ["sweep/a"]
