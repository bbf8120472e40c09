"""Which configuration files belong to a run, depending on where they are."""

import os
from pathlib import Path

import pytest

from runfold._logdir.config_files import ConfigFiles
from runfold._logdir.discover import discover

EVENTS = "events.out.tfevents.1700000000.host.1.0"


def make(root: Path, *paths: str) -> Path:
    for name in paths:
        path = root / (name + EVENTS if name.endswith("/") else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


def near(run: str, *paths: Path) -> list[str]:
    """Return the files of a run, relative to its folder."""
    discovery = discover(*paths)
    files = ConfigFiles()
    files.update(discovery.config_files, discovery.tops)
    found = files.near(discovery.runs[run].path)
    for path, name in found:
        assert os.path.abspath(os.path.join(discovery.runs[run].path, name)) == path
    return [name for _, name in found]


def test_files_are_in_order_of_precedence(tmp_path: Path):
    names = (
        *("trainer_state.json", "args.json", "args.yml", "config.json", "config.yaml"),
        *("params.json", ".hydra/overrides.yaml", ".hydra/config.yaml", "hparams.yml"),
        *("hparams.yaml", ".hydra/hydra.yaml", "notes.yaml", "params.pkl"),
        *("1700000000.25/hparams.yml", "1700000001.5/hparams.yml"),
    )
    make(tmp_path, "run/", *(f"run/{name}" for name in names))
    assert near("run", tmp_path) == [
        "hparams.yaml",
        "hparams.yml",
        "1700000001.5/hparams.yml",
        "1700000000.25/hparams.yml",
        ".hydra/config.yaml",
        "params.json",
        "config.yaml",
        "config.json",
        "args.yml",
        "args.json",
        ".hydra/overrides.yaml",
        "trainer_state.json",
    ]


def test_the_runs_own_folder_comes_first_and_nothing_above_the_logdir_is_used(tmp_path: Path):
    make(tmp_path, "config.yaml", "logs/config.yaml", "logs/a/args.json", "logs/a/b/run/")
    make(
        tmp_path,
        "logs/a/b/run/config.json",
        "logs/a/other/config.yaml",
        "logs/a/.hydra/config.yaml",
    )
    assert near("a/b/run", tmp_path / "logs") == [
        "config.json",
        "../../.hydra/config.yaml",
        "../../args.json",
        "../../../config.yaml",
    ]


def test_a_run_given_by_its_own_path_has_only_its_own_files(tmp_path: Path):
    make(tmp_path, "config.yaml", "run/config.json", "run/")
    assert near(".", tmp_path / "run") == ["config.json"]
    assert near(".", tmp_path / "run" / EVENTS) == ["config.json"]


def test_a_glob_searches_the_folders_after_its_first_wildcard(tmp_path: Path):
    make(tmp_path, "config.yaml", "logs/args.json", "logs/a/params.json", "logs/a/run/")
    make(tmp_path, "logs/a/run/.hydra/config.yaml")
    assert near("a/run", tmp_path / "logs" / "*" / "run") == [
        ".hydra/config.yaml",
        "../params.json",
        "../../args.json",
    ]


def test_each_of_several_paths_ends_the_search(tmp_path: Path):
    make(tmp_path, "config.yaml", "a/config.yaml", "a/run/", "b/run/")
    assert near("a/run", tmp_path / "a", tmp_path / "b") == ["../config.yaml"]
    assert near("b/run", tmp_path / "a", tmp_path / "b") == []


@pytest.mark.parametrize("how", ["folder", "file"])
@pytest.mark.parametrize("name", [".hydra", "1700000000.25"])
def test_a_link_cannot_show_a_configuration_from_elsewhere(tmp_path: Path, how, name):
    make(tmp_path, "outside/config.yaml", "outside/hparams.yml", "logs/run/")
    (tmp_path / "logs" / "run" / name).symlink_to(tmp_path / "outside")
    path = tmp_path / "logs" if how == "folder" else tmp_path / "logs" / "run" / EVENTS
    assert near("run" if how == "folder" else ".", path) == []


def test_a_linked_run_has_its_own_files(tmp_path: Path):
    make(tmp_path, "outside/config.yaml", "outside/run/", "outside/run/hparams.yaml", "logs/a/")
    (tmp_path / "logs" / "run").symlink_to(tmp_path / "outside" / "run")
    assert near("run", tmp_path / "logs") == ["hparams.yaml"]
