"""The benchmark of writers with few values: all write the same data."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import report, writers
from benchmarks.__main__ import main
from benchmarks.commands import imports_of
from benchmarks.contest import RUNFOLD, Contender, Disagreement
from benchmarks.measure import Cost
from benchmarks.readings import Reading, Series, find_disagreement
from benchmarks.targets import contest_targets
from benchmarks.writers import CALLER, CLOSE, TENSORBOARDX, TORCH

PEERS = [TORCH, TENSORBOARDX]


def written(task: Callable[..., Callable[[], Reading]], name: str, size: int, to: Path) -> Series:
    reading = task(name, size, str(to))()
    assert reading.complete is not None
    return reading.complete()


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("task", [writers.write_one_by_one, writers.write_by_step])
def test_writers_write_the_same(task: Callable[..., Callable[[], Reading]], peer: str, tmp_path):
    ours = written(task, RUNFOLD, 30, tmp_path / "ours")
    theirs = written(task, peer, 30, tmp_path / "theirs")
    assert find_disagreement(ours, theirs) is None


def test_values_written_one_by_one_are_read_back(tmp_path: Path):
    values = np.random.default_rng(0).standard_normal(30).astype(np.float32)
    ((key, (steps, _, stored)),) = written(writers.write_one_by_one, RUNFOLD, 30, tmp_path).items()
    assert key == ("", "train/loss")
    assert steps.tolist() == list(range(30))
    assert stored is not None
    assert stored.tolist() == values.tolist()


def test_ten_values_are_logged_at_each_step(tmp_path: Path):
    series = written(writers.write_by_step, RUNFOLD, 4, tmp_path)
    assert len(series) == 10
    assert all(steps.tolist() == [0, 1, 2, 3] for steps, _, _ in series.values())


def test_memory_is_measured_after_the_first_values(tmp_path: Path):
    call = writers.write_many(RUNFOLD, 1000, str(tmp_path))
    reading = call()
    assert reading.complete is not None
    ((steps, _, _),) = reading.complete().values()
    assert steps.tolist() == list(range(1000))


def test_the_logging_thread_and_close_are_timed_separately(tmp_path: Path):
    contenders = writers.make_write_contest(calls=50).run(repeat=1)
    for measured in contenders.values():
        (cost,) = measured.costs
        assert set(cost.parts) == {CALLER, CLOSE}
        assert 0 < cost.parts[CLOSE] < cost.wall
    assert set(contenders) == {RUNFOLD, *PEERS}


def test_a_lost_value_is_a_disagreement():
    contest = writers.make_memory_contest(calls=10)
    contest.contenders[0].size += 1
    with pytest.raises(Disagreement, match="a tag does not have the 101 logged values"):
        contest.run(repeat=1)


def contender(name: str, caller: float, wall: float) -> Contender:
    cost = Cost(1.0, wall, 1, 1, {CALLER: caller, CLOSE: wall / 2})
    return Contender(name, lambda keep: cost, size=1000, costs=[cost])


@pytest.mark.parametrize(("factor", "is_met"), [(100, True), (99, False)])
def test_a_target_is_met_at_its_bound(factor: int, is_met: bool):
    write = [contender(RUNFOLD, 0.5, 1.0), *(contender(name, factor / 2, factor) for name in PEERS)]
    targets = contest_targets({"write": {writer.name: writer for writer in write}})
    assert [(target.measured, target.is_met) for target in targets if target.bound] == [
        (f"{factor}x", is_met)
    ] * 4


@pytest.mark.parametrize(("microseconds", "is_met"), [(1.5, True), (2.5, False)])
def test_a_call_of_log_is_limited_to_two_microseconds(microseconds: float, is_met: bool):
    ours = contender(RUNFOLD, microseconds * 1e-6 * 1000, 1.0)
    (target,) = contest_targets({"log": {RUNFOLD: ours}})
    assert (target.measured, target.is_met) == (f"{microseconds:.2f} us", is_met)


def test_parts_of_the_work_have_columns(capsys, tmp_path: Path):
    options = ["--repeat", "1", "--logs", str(tmp_path), "--only", "memory"]
    assert main(options, calls=100) == 0
    out = capsys.readouterr().out
    assert "memory: add_scalar by one writer, from 10 to 1,000 values" in out
    assert "growth MB  caller s  close s  calls  n" in out
    assert "from runfold import SummaryWriter: heavy imports" in out


def test_a_missing_writer_leaves_a_line_without_figures():
    contest = writers.make_write_contest(calls=10)
    contest.contenders[0].measure(None)
    contest.contenders[2].trouble = "No module named 'tensorboardX'"
    lines = report.table(contest).splitlines()
    assert lines[-2].split() == [TENSORBOARDX, *"-" * 10]
    assert lines[-1] == "  tensorboardX: No module named 'tensorboardX'"


def test_heavy_imports_of_a_statement_are_detected():
    assert imports_of("import scipy") == ["scipy"]
    assert imports_of("from runfold import SummaryWriter") == []
