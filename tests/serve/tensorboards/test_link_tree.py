"""The tree of links, and what TensorBoard's own reader finds in it."""

import os
from pathlib import Path

import pytest
from helpers.cli_runs import losses, write
from helpers.writers import tensorboardx
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer

from runfold._logdir.discover import discover
from runfold._serve.tensorboards.instance_runs import Sources, resolve
from runfold._serve.tensorboards.link_tree import tree_path, update_tree


def update(tree: Path, logdir: Path, *runs: str) -> bool:
    return update_tree(str(tree), resolve(Sources((str(logdir),), runs=runs or None)))


def names(tree: Path) -> list[str]:
    """Return the files below a folder, whether or not they are links."""
    paths = [Path(top, name) for top, _, files in os.walk(tree) for name in files]
    return sorted(str(path.relative_to(tree)) for path in paths)


def shown(tree: Path) -> set[str]:
    """Return the runs that TensorBoard's own reader finds."""
    return set(EventMultiplexer().AddRunsFromDirectory(str(tree)).Runs())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "tree"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    return tmp_path / "logs"


def test_a_run_below_another_is_shown_only_when_selected(tree: Path, logdir: Path) -> None:
    for name in ("a", "a/below", "a/below/deep"):
        write(logdir / name, losses(1.0))
    assert update(tree, logdir, "a", "a/below/deep") is True
    assert shown(tree) == {"a", "a/below/deep"}
    assert update(tree, logdir, "a", "a/below/deep") is False


@pytest.mark.parametrize(
    "name",
    ["two words", 'it\'s "so"', "a,b:c", "C:\\x", "größe/日本", "$(touch x)", "-x", "a\nb", "%2e"],
)
def test_odd_names_are_unchanged(tree: Path, logdir: Path, name: str) -> None:
    write(logdir / name, losses(1.0))
    update(tree, logdir, name)
    assert shown(tree) == {name}


def test_invalid_bytes_in_names_are_escaped(tree: Path, logdir: Path) -> None:
    write(logdir / os.fsdecode(b"caf\xe9"), losses(1.0))
    update(tree, logdir)
    assert shown(tree) == {"caf\\xe9"}
    assert len(os.fsencode(tree_path("\\xe9" * 100))) <= 255
    assert tree_path("\\xe9" * 100) != tree_path("\\xe9" * 101)


def test_the_logdir_itself_can_be_a_run(tree: Path, logdir: Path) -> None:
    write(logdir, losses(1.0))
    write(logdir / "below", losses(1.0))
    update(tree, logdir, ".")
    assert shown(tree) == {"."}


def test_files_and_runs_are_added_and_removed(tree: Path, logdir: Path) -> None:
    write(logdir / "a", losses(1.0))
    write(logdir / "b/c", losses(1.0))
    update(tree, logdir)
    write(logdir / "a", losses(2.0), "events.out.tfevents.2")
    (logdir / "b/c/events.out.tfevents.1").unlink()
    (logdir / "b/c").rmdir()
    assert update(tree, logdir) is True
    assert names(tree) == ["a/events.out.tfevents.1", "a/events.out.tfevents.2"]
    assert sorted(os.listdir(tree)) == ["a"]


def test_a_wrong_link_is_corrected(tree: Path, logdir: Path) -> None:
    write(logdir / "a", losses(1.0))
    (tree / "a").mkdir(parents=True)
    (tree / "a/events.out.tfevents.1").symlink_to("/nowhere")
    assert update(tree, logdir) is True
    assert os.path.samefile(tree / "a/events.out.tfevents.1", logdir / "a/events.out.tfevents.1")


def test_only_links_are_removed(tree: Path, logdir: Path) -> None:
    kept = write(logdir / "a", losses(1.0))
    (tree / "mine").mkdir(parents=True)
    (tree / "mine/notes.txt").write_text("kept")
    (tree / "whole").symlink_to(logdir)
    update(tree, logdir, "a")
    update_tree(str(tree), {})
    assert names(tree) == ["mine/notes.txt"]
    assert kept.exists()


def test_plugin_files_are_shown_but_not_runs_among_them(tree: Path, logdir: Path) -> None:
    write(logdir / "a", losses(1.0))
    write(logdir / "a/plugins", losses(1.0))
    profile = logdir / "a/plugins/profile/2026/host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(b"profile")
    update(tree, logdir, "a")
    assert shown(tree) == {"a"}
    assert (tree / "a/plugins/profile/2026/host.xplane.pb").read_bytes() == b"profile"


def test_a_profile_alone_is_shown(tree: Path, logdir: Path) -> None:
    (logdir / "a").mkdir(parents=True)
    (logdir / "a/events.out.tfevents.1.profile-empty").touch()
    update(tree, logdir)
    assert names(tree) == ["a/events.out.tfevents.1.profile-empty"]


def test_the_configuration_of_embeddings_is_shown(tree: Path, logdir: Path) -> None:
    tensorboardx(logdir / "a")
    run = next(run for run in discover(logdir).runs.values() if run.config)
    assert run.config is not None
    update(tree, logdir, run.name)
    folder = tree / tree_path(run.name)
    assert names(folder) == sorted(os.path.basename(path) for path in (*run.files, run.config))
    assert (folder / "projector_config.pbtxt").read_text() == Path(run.config).read_text()


def test_only_event_files_can_be_links_out_of_the_run(tree: Path, logdir: Path) -> None:
    write(logdir / "a", losses(1.0))
    elsewhere = write(logdir.parent / "elsewhere", losses(2.0), "events.out.tfevents.2")
    (logdir / "a/plugins").mkdir()
    for link in ("events.out.tfevents.2", "projector_config.pbtxt", "plugins/x"):
        (logdir / "a" / link).symlink_to(elsewhere)
    (logdir / "a/plugins/inner").symlink_to("../events.out.tfevents.1")
    (logdir / "b").mkdir()
    (logdir / "b/events.out.tfevents.1").symlink_to(elsewhere)
    (logdir.parent / "private").mkdir()
    (logdir.parent / "private/notes.txt").touch()
    (logdir / "b/plugins").symlink_to(logdir.parent / "private")
    update(tree, logdir)
    assert names(tree) == [
        "a/events.out.tfevents.1",
        "a/events.out.tfevents.2",
        "a/plugins/inner",
        "b/events.out.tfevents.1",
    ]
