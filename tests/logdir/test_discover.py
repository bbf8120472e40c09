"""The runs found below a path, compared with TensorBoard's own search."""

import errno
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path

import pytest
from helpers.faultfiles import powerless
from tensorboard.backend.event_processing import io_wrapper
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer

from runfold._logdir.discover import Discovery, discover
from runfold._logdir.log_paths import MAX_DEPTH
from runfold.errors import LogdirNotFound

EVENTS = "events.out.tfevents.1700000000.host.1.0"


def make(root: Path, *files: str) -> Path:
    """Create empty files; a name that ends in / gets an event file with the usual name."""
    for file in files:
        path = root / (file + EVENTS if file.endswith("/") else file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


def names(discovery: Discovery) -> list[str]:
    assert discovery.problems == []
    return list(discovery.runs)


def codes(discovery: Discovery) -> list[tuple[str, str]]:
    return [(problem.code.value, os.path.basename(problem.file)) for problem in discovery.problems]


TREES = {
    "flat": ["seed-1/", "seed-2/", "seed-10/"],
    "nested": ["lr-1/seed-1/", "lr-1/seed-1/eval/", "lr-2/"],
    "root is a run too": [EVENTS, "train/", "validation/"],
    "other files": ["a/", "b/checkpoint.pt", "c/notes.txt", "a/notes.txt"],
    "tfevents anywhere in the name": ["a/x.tfevents", "b/tfevents", "c/my-tfevents-copy.bak"],
    "capital letters do not match": ["a/x.TFEvents", "b/"],
    "hidden": [".hidden/", "a/.tfevents"],
    "profile-empty marks a run": [f"a/{EVENTS}.profile-empty"],
    "a folder with tfevents in its name": ["x.tfevents.d/notes.txt", "y.tfevents.d/"],
    "glob characters": ["lr=[0.1]/", "a*/", "b?/"],
    "spaces and letters": ["ein Lauf/", "größe/", "实验/"],
    "empty": [],
}


@pytest.mark.parametrize("tree", TREES)
def test_names_and_files_match_tensorboard(tmp_path, tree):
    make(tmp_path, *TREES[tree])
    theirs = EventMultiplexer().AddRunsFromDirectory(str(tmp_path))
    ours = discover(tmp_path)
    assert sorted(names(ours)) == sorted(theirs.Runs())
    for run in ours.runs.values():
        listed = io_wrapper.ListDirectoryAbsolute(run.path)
        assert run.files == sorted(filter(io_wrapper.IsSummaryEventsFile, listed))


def test_runs_are_in_natural_order(tmp_path):
    make(tmp_path, "seed-10/", "seed-2/", EVENTS, "seed-1/b/", "seed-1/")
    assert names(discover(tmp_path)) == [".", "seed-1", "seed-1/b", "seed-2", "seed-10"]


def test_files_are_in_order_of_creation(tmp_path):
    begun = ["a.tfevents", *(f"events.out.tfevents.17.host.5.{n}" for n in (0, 1, 2, 9, 10, 11))]
    make(tmp_path, *reversed(begun))
    run = discover(tmp_path).runs["."]
    assert [os.path.basename(file) for file in run.files] == begun


def test_a_single_run_folder_is_named_as_in_tensorboard(tmp_path):
    make(tmp_path, "seed-1/")
    theirs = EventMultiplexer().AddRunsFromDirectory(str(tmp_path / "seed-1"))
    assert names(discover(tmp_path / "seed-1")) == list(theirs.Runs()) == ["."]


def test_an_event_file_is_a_run_with_only_that_file(tmp_path):
    make(tmp_path, "a.tfevents.1", "a.tfevents.2", "plain-name")
    assert discover(tmp_path / "a.tfevents.2").runs["."].files == [str(tmp_path / "a.tfevents.2")]
    assert discover(tmp_path / "plain-name").runs["."].files == [str(tmp_path / "plain-name")]


def test_names_are_relative_to_the_common_folder_of_several_paths(tmp_path):
    make(tmp_path, "a/runs/seed-1/", "b/runs/seed-1/", "b/runs/")
    a, b = tmp_path / "a/runs", tmp_path / "b/runs"
    assert names(discover(a, b)) == ["a/runs/seed-1", "b/runs", "b/runs/seed-1"]
    assert names(discover(a / "seed-1", a)) == ["seed-1"]
    assert names(discover(a / "seed-1" / EVENTS, b / "seed-1")) == [
        "a/runs/seed-1",
        "b/runs/seed-1",
    ]


def test_overlapping_paths_list_each_run_and_file_once(tmp_path):
    make(tmp_path, "a/", "b/")
    (tmp_path / "link").symlink_to("a")
    discovery = discover(tmp_path, tmp_path, tmp_path / "a", tmp_path / "link" / EVENTS)
    assert names(discovery) == ["a", "b"]
    assert discovery.runs["a"].files == [str(tmp_path / "a" / EVENTS)]


def test_names_are_relative_to_the_fixed_part_of_a_glob(tmp_path, monkeypatch):
    make(tmp_path, "runs/x/seed-1/", "runs/y/seed-2/", "runs/y/eval/", "runs/.z/seed-3/")
    make(tmp_path, "runs/README")
    monkeypatch.chdir(tmp_path)
    assert names(discover("runs/*/seed-?")) == ["x/seed-1", "y/seed-2"]
    assert names(discover("runs/*/")) == ["x/seed-1", "y/eval", "y/seed-2"]
    assert names(discover("runs/**/seed-*")) == ["x/seed-1", "y/seed-2"]
    assert names(discover("runs/**")) == names(discover("runs"))
    assert names(discover("runs/*/eval")) == ["y/eval"]
    assert names(discover("runs/y/*/*tfevents*")) == ["eval", "seed-2"]
    assert names(discover("*/.z")) == ["runs/.z/seed-3"]
    assert names(discover(str(tmp_path / "runs/[x]"))) == ["x/seed-1"]
    assert names(discover("runs/x/*", "runs/y/*")) == ["x/seed-1", "y/eval", "y/seed-2"]


def test_an_existing_path_is_not_a_glob(tmp_path):
    make(tmp_path, "lr=[1]/", "lr=1/")
    assert discover(tmp_path / "lr=[1]").runs["."].path == str(tmp_path / "lr=[1]")


def test_home_relative_and_dotted_paths_are_expanded(tmp_path, monkeypatch):
    make(tmp_path, "real/deep/x/", "real/y/")
    (tmp_path / "link").symlink_to("real/deep")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "real")
    assert names(discover("~/real/y")) == ["."]
    assert names(discover(".")) == ["deep/x", "y"]
    assert names(discover("../link/../y")) == ["."]
    assert os.path.isabs(discover("y").runs["."].files[0])


def test_a_projector_configuration_is_found_and_makes_a_run(tmp_path):
    make(tmp_path, "a/", "a/projector_config.pbtxt", "b/projector_config.pbtxt", "c/")
    runs = discover(tmp_path).runs
    assert {name: (run.config is not None, len(run.files)) for name, run in runs.items()} == {
        "a": (True, 1),
        "b": (True, 0),
        "c": (False, 1),
    }


# Missing paths


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("rnus", "No logdir 'rnus'. Did you mean 'runs'?"),
        ("runs/sede-1", "No logdir 'runs/sede-1'. Did you mean 'seed-1'?"),
        ("rnus/seed-1", "No logdir 'rnus/seed-1': there is no 'rnus'. Did you mean 'runs'?"),
        ("zebra/", "No logdir 'zebra/'."),
        ("runs/x*", "Nothing matches 'runs/x*'."),
        ("nul\0*", "No logdir 'nul\\x00*'."),
        ("", "The path of the logdir is empty."),
    ],
)
def test_a_missing_logdir_raises_a_one_line_message(tmp_path, monkeypatch, path, message):
    make(tmp_path, "runs/seed-1/")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LogdirNotFound) as caught:
        discover(path)
    assert str(caught.value) == message


def test_at_least_one_path_is_required():
    with pytest.raises(ValueError, match="at least one path"):
        discover()


# Links, special files and unusual names


def test_a_symlink_loop_lists_each_real_folder_once(tmp_path):
    make(tmp_path, "a/b/", "c/")
    (tmp_path / "a/b/up").symlink_to(tmp_path)
    (tmp_path / "a/b/again").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to("self")
    discovery = discover(tmp_path)
    assert list(discovery.runs) == ["a/b", "c"]
    assert codes(discovery) == [
        ("symlink-loop", "again"),
        ("symlink-loop", "up"),
        ("symlink-loop", "self"),
    ]
    discovery = discover(tmp_path / "**" / "b")
    assert list(discovery.runs) == ["a/b"]
    assert codes(discovery) == [("link-not-followed", "again"), ("link-not-followed", "up")]


def test_a_real_folder_takes_precedence_over_a_link(tmp_path):
    make(tmp_path, "exp/seed-3/", "exp/seed-4/")
    (tmp_path / "best").symlink_to("exp/seed-3")
    assert names(discover(tmp_path)) == ["exp/seed-3", "exp/seed-4"]
    assert names(discover(tmp_path / "best")) == ["."]


def test_links_out_of_the_logdir_are_followed_once(tmp_path):
    make(tmp_path, "elsewhere/x/", "logs/a/")
    (tmp_path / "logs/out-2").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "logs/out-10").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/back").symlink_to(tmp_path / "logs/a")
    (tmp_path / "logs/a/linked.tfevents").symlink_to(tmp_path / "elsewhere/x" / EVENTS)
    discovery = discover(tmp_path / "logs")
    assert names(discovery) == ["a", "out-2/x"]
    assert len(discovery.runs["a"].files) == 2


def test_special_files_and_dangling_links_are_reported_and_never_opened(tmp_path):
    make(tmp_path, "a/")
    os.mkfifo(tmp_path / "a" / "fifo.tfevents")
    (tmp_path / "a" / "null.tfevents").symlink_to("/dev/null")
    (tmp_path / "a" / "gone.tfevents").symlink_to("nowhere")
    (tmp_path / "a" / "other-gone").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as server, chdir(tmp_path / "a"):
        server.bind("socket.tfevents")
    discovery = discover(tmp_path)
    assert discovery.runs["a"].files == [str(tmp_path / "a" / EVENTS)]
    assert codes(discovery) == [
        ("special-file", "fifo.tfevents"),
        ("dangling-link", "gone.tfevents"),
        ("special-file", "null.tfevents"),
        ("special-file", "socket.tfevents"),
    ]
    alone = discover(tmp_path / "a" / "fifo.tfevents")
    assert (alone.runs, codes(alone)) == ({}, [("special-file", "fifo.tfevents")])


def test_names_that_are_not_utf8_become_distinct_valid_text(tmp_path):
    raw = os.fsencode(tmp_path)
    for name in (b"caf\xe9", b"caf\\xe9", b"caf\xc3\xa9", b"caf\xe8"):
        os.mkdir(os.path.join(raw, name))
        Path(os.fsdecode(os.path.join(raw, name)), EVENTS).touch()
    runs = discover(tmp_path).runs
    assert sorted(runs) == ["caf\\xe8", "caf\\xe9", "caf\\xe9 (2)", "café"]
    assert len({run.path for run in runs.values()}) == 4
    assert all(os.path.exists(file) for run in runs.values() for file in run.files)


def test_long_names_and_deep_trees_are_searched(tmp_path):
    long = "x" * 255
    make(tmp_path, f"{long}/{long}/", f"{long}/{'tfevents'.rjust(255, 'y')}")
    make(tmp_path, "d/" * MAX_DEPTH, "e/" * (MAX_DEPTH + 1))
    discovery = discover(tmp_path)
    assert list(discovery.runs) == ["/".join("d" * MAX_DEPTH), long, f"{long}/{long}"]
    assert codes(discovery) == [("too-deep", "e")]


def test_a_folder_left_half_written_by_a_killed_edit_is_not_a_run(tmp_path):
    unfinished = f".runfold-{os.urandom(8).hex()}.tmp"
    make(
        tmp_path,
        "a/",
        f"{unfinished}/",
        f"{unfinished}/below/",
        f"a/{unfinished}/",
        ".runfold-notes.tmp/",
    )
    discovery = discover(tmp_path)
    assert list(discovery.runs) == [".runfold-notes.tmp", "a"]
    assert codes(discovery) == [
        ("unfinished-folder", unfinished),
        ("unfinished-folder", unfinished),
    ]
    # It is still found by its own path.
    assert list(discover(tmp_path / unfinished).runs) == [".", "below"]


# Disk errors


def test_an_unreadable_folder_does_not_hide_others():
    with powerless(), tempfile.TemporaryDirectory() as name:
        root = make(Path(name), "a/", "closed/x/", "z/")
        (root / "z" / "into.tfevents").symlink_to(root / "closed" / "x" / EVENTS)
        os.chmod(root / "closed", 0)
        discovery = discover(root)
        alone = discover(root / "closed" / "x")
        os.chmod(root / "closed", 0o700)
    assert list(discovery.runs) == ["a", "z"]
    assert codes(discovery) == [
        ("unreadable-directory", "closed"),
        ("permission-denied", "into.tfevents"),
    ]
    assert "(Permission denied)" in discovery.problems[0].message
    assert (alone.runs, codes(alone)) == ({}, [("unreadable-directory", "x")])


def test_a_folder_that_disappears_during_the_search_is_reported(tmp_path, on_scandir):
    make(tmp_path, "a/", "b/")

    def remove_the_other(path: str) -> None:
        other = {"a": "b", "b": "a"}.get(os.path.basename(path))
        if other and (tmp_path / other).exists():
            (tmp_path / other / EVENTS).unlink()
            (tmp_path / other).rmdir()

    on_scandir(remove_the_other)
    discovery = discover(tmp_path)
    assert len(discovery.runs) == 1
    assert [code for code, _ in codes(discovery)] == ["directory-vanished"]


@pytest.mark.parametrize(("failures", "expected"), [(2, ["a", "b"]), (3, ["b"])])
def test_a_stale_handle_is_retried_then_reported(tmp_path, on_scandir, failures, expected):
    make(tmp_path, "a/", "b/")
    remaining = [errno.ESTALE] * failures

    def fail(path: str) -> None:
        if path.endswith("a") and remaining:
            raise OSError(remaining.pop(), "Stale file handle")

    on_scandir(fail)
    discovery = discover(tmp_path)
    assert list(discovery.runs) == expected
    assert codes(discovery) == ([("unreadable-directory", "a")] if failures == 3 else [])


_scandir_hooks: list[Callable[[str], None]] = []


def _audit(event: str, args: tuple[object, ...]) -> None:
    if event == "os.scandir":
        for hook in _scandir_hooks:
            hook(str(args[0]))


@cache
def _start_auditing() -> None:
    sys.addaudithook(_audit)  # permanent: Python cannot remove audit hooks


@pytest.fixture
def on_scandir() -> Iterator[Callable[[Callable[[str], None]], None]]:
    """Call a function just before a folder is listed."""
    _start_auditing()
    yield _scandir_hooks.append
    _scandir_hooks.clear()
