"""The benchmark of very many runs, with a few of them."""

import pytest

from benchmarks import scale
from benchmarks.contest import RUNFOLD
from benchmarks.scale import (
    FIRST_TABLE,
    FOLD,
    INDEX_COMPLETED,
    INDEX_TABLE,
    INDEX_WHERE,
    INDEX_WRITTEN,
    LOAD,
    LOAD_BYTES,
    OPEN,
    OPEN_BYTES,
    PEAK_BYTES,
    REFRESH,
    WALK,
    WHERE,
)
from benchmarks.targets import LARGE_SCALE, SCALE, contest_targets


def test_all_parts_are_measured(tmp_path):
    contest = scale.make_contest(tmp_path, runs=120)
    contender = contest.run(1)[RUNFOLD]
    parts = contender.costs[0].parts
    times = {WALK, OPEN, LOAD, FIRST_TABLE, WHERE, FOLD, REFRESH}
    times |= {INDEX_WRITTEN, INDEX_COMPLETED, INDEX_TABLE, INDEX_WHERE}
    assert set(parts) == times | {OPEN_BYTES, LOAD_BYTES, PEAK_BYTES}
    assert min(parts[name] for name in times) > 0
    results = {SCALE: {RUNFOLD: contender}}
    subjects = [target.subject for target in contest_targets(results)]
    assert subjects[0] == "scale: refresh of idle runs, relative to a walk"
    results[LARGE_SCALE] = results[SCALE]
    growth = [target for target in contest_targets(results) if "growth" in target.subject]
    assert {target.measured for target in growth} == {"1.0x"}


def test_wrong_values_are_noticed(tmp_path, monkeypatch):
    scale.make_contest(tmp_path, runs=3)
    [folder] = tmp_path.iterdir()
    assert scale.prepare(str(folder))().series
    monkeypatch.setattr(scale, "STEPS", scale.STEPS + 1)
    with pytest.raises(AssertionError):
        scale.prepare(str(folder))
