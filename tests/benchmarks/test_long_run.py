"""The benchmark of whole commands on one long run: their output is what was logged."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import long_run
from benchmarks.logs import scalar_points
from benchmarks.targets import contest_targets

TINY = replace(long_run.LONG, steps=60)


def test_every_command_is_measured_and_agrees_with_the_log(tmp_path: Path) -> None:
    contest = long_run.make_contest(tmp_path, log=TINY)
    assert all(contender.cpu > 0 for contender in contest.run(repeat=1).values())
    targets = contest_targets({"long": {each.name: each for each in contest.contenders}})
    assert [target.is_met for target in targets] == [True] * 4


@pytest.mark.parametrize(
    ("number", "rows"),
    [
        (0, [59]),
        (1, [0, 1, 2, 3, 4, 55, 56, 57, 58, 59]),
        (2, list(range(60))),
        (3, list(range(60))),
    ],
)
def test_a_wrong_value_in_any_output_is_a_disagreement(
    number: int, rows: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest = long_run.make_contest(tmp_path, log=TINY)
    contender = contest.contenders[number]
    contender.measure(tmp_path / "kept")
    ((key, (steps, _, _)),) = (read := long_run.read(tmp_path / "kept")).items()
    assert key == (long_run.RUN, "train/loss_0")
    assert steps.tolist() == rows
    assert contest.compare(contender, read, read) is None
    steps, wall_times, values = scalar_points(TINY, 0)
    values[rows[-1]] += 0.001
    monkeypatch.setattr(long_run, "scalar_points", lambda log, run: (steps, wall_times, values))
    assert "values of tag 'train/loss_0' differ" in str(contest.compare(contender, read, read))
