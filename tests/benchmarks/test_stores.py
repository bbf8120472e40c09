"""The benchmark of a log in a bucket, with a few runs."""

from dataclasses import replace

import pytest

from benchmarks import stores
from benchmarks.contest import Disagreement
from benchmarks.stores import BARE, COPY, IN_PLACE, READ, REFRESH, WITH_S3FS
from benchmarks.targets import contest_targets

TINY = replace(stores.SMALL, runs=30)


def test_all_parts_are_measured(tmp_path):
    results = {"store": stores.make_contest(tmp_path, log=TINY).run(1)}
    assert set(results["store"]) == {IN_PLACE, WITH_S3FS, COPY}
    for contender in results["store"].values():
        parts = contender.costs[0].parts
        assert set(parts) == {BARE, READ, REFRESH}
        assert min(parts.values()) > 0
    assert "store: opened and read in place, relative to a copy" in [
        target.subject for target in contest_targets(results)
    ]


def test_wrong_values_are_noticed(tmp_path):
    contest = stores.make_contest(tmp_path, log=TINY)
    other = stores.make_contest(tmp_path, log=replace(TINY, steps=4))
    contest.contenders[1:] = other.contenders[1:]
    with pytest.raises(Disagreement):
        contest.run(1)
