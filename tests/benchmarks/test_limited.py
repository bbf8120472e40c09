"""The benchmark of commands with a memory limit: the same numbers as without one."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import limited
from benchmarks.contest import Disagreement
from benchmarks.targets import contest_targets

TINY = replace(limited.LOG, runs=3, tags=4, steps=50)


def test_every_command_is_measured_and_agrees(tmp_path: Path) -> None:
    contest = limited.make_contest(tmp_path, log=TINY, limit=60_000)
    assert all(contender.cpu > 0 for contender in contest.run(repeat=1).values())
    targets = contest_targets({"limit": {each.name: each for each in contest.contenders}})
    assert [target.is_met for target in targets] == [True] * 2


def test_folds_in_windows_are_measured_and_agree(tmp_path: Path) -> None:
    contest = limited.make_window_contest(tmp_path, log=replace(TINY, runs=12), limit=60_000)
    assert list(contest.run(repeat=1)) == [limited.FOLD, limited.LIMITED_FOLD]
    (target,) = contest_targets({"windows": {each.name: each for each in contest.contenders}})
    assert target.is_met


def test_another_number_with_a_limit_is_a_disagreement(tmp_path: Path) -> None:
    contest = limited.make_contest(tmp_path, log=TINY, limit=60_000)
    other = limited.make_contest(tmp_path, log=replace(TINY, runs=2), limit=60_000)
    contest.contenders[1].once = other.contenders[1].once
    with pytest.raises(Disagreement, match="differ"):
        contest.run(repeat=1)
