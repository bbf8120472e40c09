"""The links that a search for runs follows, and its limits: the rules of logdir/link_rules.py."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.cli_runs import losses, write

import runfold as rf
from runfold._cli import main
from runfold._logdir import discover as discovery
from runfold._logdir.discover import Discovery, discover
from runfold._logdir.link_rules import LIMITS, MOST_LEVELS, LinkRule
from runfold._state import cache_folder, state_folder

EVENTS = "events.out.tfevents.1"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A logdir with one run."""
    write(tmp_path / "home/logs/a", losses(1.0))
    return tmp_path / "home/logs"


def notes(discovery_result: Discovery) -> list[tuple[str, str]]:
    return [
        (problem.code.value, os.path.basename(problem.file))
        for problem in discovery_result.problems
    ]


@pytest.mark.fault(67)
@pytest.mark.parametrize("target", ["/", "/proc", "/proc/self/root", "/sys", "/dev", "../.."])
def test_a_link_to_a_system_folder_or_a_parent_is_not_followed(logs: Path, target: str) -> None:
    (logs / "deep").mkdir()
    (logs / "deep/link").symlink_to(target)
    assert list(rf.open(logs)) == ["a"]
    (problem,) = discover(logs).problems
    assert (problem.code, problem.file) == ("link-not-followed", str(logs / "deep/link"))
    assert os.path.realpath(logs / "deep/link") in problem.message
    assert problem.message.endswith("To read the runs in that folder, open the folder itself.")


@pytest.mark.fault(67)
def test_the_problem_names_the_link_and_its_target(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (logs / "x").symlink_to("/proc")
    assert main(["check", str(logs)]) == 1
    assert (
        f"{logs}/x: a link to a folder that is not searched for runs (it points to '/proc', which "
        "is reserved). Not followed. To read the runs in that folder, open the folder itself."
    ) in capsys.readouterr().out


@pytest.mark.fault(67)
def test_links_in_a_linked_tree_follow_the_same_rule(logs: Path, tmp_path: Path) -> None:
    write(tmp_path / "far/run", losses(1.0))
    write(tmp_path / "other/run", losses(1.0))
    (logs / "far").symlink_to(tmp_path / "far")
    (tmp_path / "far/proc").symlink_to("/proc")
    (tmp_path / "far/up").symlink_to(tmp_path)
    (tmp_path / "far/other").symlink_to(tmp_path / "other")
    (tmp_path / "other/home").symlink_to(tmp_path / "home")
    result = discover(logs)
    assert list(result.runs) == ["a", "far/other/run", "far/run"]
    assert notes(result) == [
        ("link-not-followed", "home"),
        ("link-not-followed", "proc"),
        ("link-not-followed", "up"),
    ]


def test_a_memory_disk_is_searched_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/shm/some/runs")
    (tmp_path / "device").symlink_to("/dev/some")
    rule = LinkRule([str(tmp_path)])
    assert rule.refusal(str(tmp_path / "link")) == ""
    assert "/dev/some" in rule.refusal(str(tmp_path / "device"))


def test_system_folders_are_skipped_but_not_others_with_the_same_names(
    tmp_path: Path,
) -> None:
    rule = LinkRule(["/"])
    assert [rule.is_left_out(path) for path in ("/proc", "/sys", "/dev", "/tmp")] == [
        *[True] * 3,
        False,
    ]
    assert not LinkRule(["/proc"]).is_left_out("/proc")
    for name in ("proc", "sys", "dev", "runfold"):
        write(tmp_path / name, losses(1.0))
    assert list(discover(tmp_path).runs) == ["dev", "proc", "runfold", "sys"]


@pytest.mark.fault(67)
def test_the_search_of_a_linked_tree_has_a_depth_limit(logs: Path, tmp_path: Path) -> None:
    deepest = tmp_path.joinpath("far", *["d"] * MOST_LEVELS)
    write(deepest, losses(1.0))
    write(deepest / "d", losses(1.0))
    (logs / "far").symlink_to(tmp_path / "far")
    result = discover(logs)
    assert list(result.runs) == ["a", "/".join(["far", *["d"] * MOST_LEVELS])]
    assert notes(result) == [("link-cut-short", "far")]
    # Levels below further links count towards the same limit.
    again = tmp_path / "again"
    again.mkdir()
    (logs / "far").unlink()
    (logs / "far").symlink_to(again)
    (again / "on").symlink_to(tmp_path / "far")
    result = discover(logs)
    assert (list(result.runs), notes(result)) == (["a"], [("link-cut-short", "on")])


@pytest.mark.fault(67)
def test_the_search_of_a_linked_tree_has_a_folder_limit(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("far", "farther", "farthest"):
        for number in range(4):
            write(tmp_path / name / str(number), losses(1.0))
        (logs / name).symlink_to(tmp_path / name)
    monkeypatch.setattr(discovery, "MOST_PER_LINK", 4)
    result = discover(logs)
    assert len(result.runs) == 1 + 3 * 3
    assert notes(result) == [("link-cut-short", name) for name in ("far", "farther", "farthest")]
    assert LIMITS in result.problems[0].message
    monkeypatch.setattr(discovery, "MOST_PER_LINK", 5)
    assert (len(discover(logs).runs), discover(logs).problems) == (1 + 3 * 4, [])
    monkeypatch.setattr(discovery, "MOST_THROUGH_LINKS", 5)
    result = discover(logs)
    assert list(result.runs) == ["a", *(f"far/{number}" for number in range(4))]
    assert notes(result) == [("link-cut-short", "farther")]
    # A path given directly has no limit.
    monkeypatch.setattr(discovery, "MOST_PER_LINK", 1)
    assert len(discover(logs / "far").runs) == 4


@pytest.mark.fault(67)
@pytest.mark.parametrize("pattern", ["*", "**/*", "*/**", "*/*", "*/self"])
def test_globs_follow_the_same_rule(logs: Path, tmp_path: Path, pattern: str) -> None:
    write(tmp_path / "far/run", losses(1.0))
    (logs / "far").symlink_to(tmp_path / "far")
    (logs / "machine").symlink_to("/proc")
    result = discover(str(logs / pattern))
    assert list(result.runs) == ([] if pattern == "*/self" else ["a", "far/run"])
    assert ("link-not-followed", "machine") in notes(result)
    assert list(rf.open(str(logs / pattern))) == list(result.runs)


# Runfold's own folders


@pytest.mark.parametrize("folder", [state_folder, cache_folder])
def test_runfolds_own_folders_are_skipped_unless_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Callable[..., str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    write(tmp_path / "logs/a", losses(1.0))
    own = Path(folder("tree/dev/runfold"))
    write(own, losses(1.0))
    (tmp_path / "logs/link").symlink_to(own)
    result = discover(tmp_path)
    assert list(result.runs) == ["logs/a"]
    assert notes(result) == [("link-not-followed", "link")]
    for path, name in ((own, "."), (own.parent, "runfold"), (folder(), "tree/dev/runfold")):
        assert list(discover(path).runs) == [name]
