"""The benchmark of very many runs, with a few of them."""

import pytest

from benchmarks import scale
from benchmarks.contest import RUNFOLD
from benchmarks.scale import LOAD, LOAD_BYTES, OPEN, OPEN_BYTES, REFRESH, WALK
from benchmarks.targets import contest_targets


def test_all_parts_are_measured(tmp_path):
    contest = scale.make_contest(tmp_path, runs=120)
    results = {"scale": contest.run(1)}
    parts = results["scale"][RUNFOLD].costs[0].parts
    assert set(parts) == {WALK, OPEN, LOAD, REFRESH, OPEN_BYTES, LOAD_BYTES}
    assert min(parts[WALK], parts[OPEN], parts[LOAD], parts[REFRESH]) > 0
    subjects = [target.subject for target in contest_targets(results)]
    assert subjects[0] == "scale: refresh of idle runs, relative to a walk"


def test_wrong_values_are_noticed(tmp_path, monkeypatch):
    scale.make_contest(tmp_path, runs=3)
    [folder] = tmp_path.iterdir()
    assert scale.prepare(str(folder))().series
    monkeypatch.setattr(scale, "STEPS", scale.STEPS + 1)
    with pytest.raises(AssertionError):
        scale.prepare(str(folder))
