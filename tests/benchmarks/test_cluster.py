"""The benchmark of a fold on a Ray cluster: the same numbers on one node and on two."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import cluster
from benchmarks.targets import contest_targets

pytestmark = pytest.mark.xdist_group("ray")

TINY = replace(cluster.LOG, runs=3, tags=2, steps=20)


def test_one_and_two_nodes_agree(tmp_path: Path) -> None:
    contest = cluster.make_contest(tmp_path, log=TINY)
    found = contest.run(repeat=1)
    assert all(contender.part(cluster.BUSY) > 0 for contender in found.values())
    targets = contest_targets({"cluster": found})
    assert [target.is_met is None for target in targets] == [False, True]
