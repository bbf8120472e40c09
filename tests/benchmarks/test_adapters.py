"""The benchmarks of the adapters, without the frameworks: what is missing, and what differs."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import adapter_training, adapters, report
from benchmarks.contest import Contender
from benchmarks.logs import tag_names
from benchmarks.measure import Cost, Undone
from benchmarks.readings import Series
from benchmarks.targets import contest_targets

PARTS = {
    adapters.ADAPTER: 1.06,
    adapters.ADD_SCALAR: 0.5,
    adapters.ORIGINAL: 53.0,
    adapters.OTHER_LOGGER: 1.0,
}


def fail(keep: Path | None) -> Cost:
    raise Undone("the adapter failed")


def written(kind: str, *losses: float) -> Series:
    values = np.array(losses, np.float32)
    names = tag_names(adapters.METRICS)
    return {(kind, name): (np.arange(len(losses)), None, values) for name in names}


def test_frameworks_that_are_not_installed_have_a_line():
    contest = adapters.make_contest(Path(sys.executable), steps=3)
    (missing,) = (row for row in contest.contenders if row.name == "MMEngine")
    contest.contenders[:] = [contest.contenders[0], missing]
    contest.run(1)
    lines = report.table(contest).splitlines()
    assert "add_scalar us" in lines[1]
    assert lines[-1] == "  MMEngine: not measured, because it is not installed"


def test_an_error_of_an_adapter_is_raised():
    for contender in adapters.make_contest(Path(sys.executable)).contenders:
        contender.once, contender.trouble = fail, ""
        with pytest.raises(Undone, match="the adapter failed"):
            contender.measure(None)


@pytest.mark.parametrize(
    ("losses", "difference"),
    [
        ((1.0, 2.0), "None"),
        ((1.0, 2.5), "values of tag"),
        ((1.0,), "does not have the 2 logged values"),
    ],
)
def test_a_logger_that_logs_something_else_is_found(losses: tuple[float, ...], difference: str):
    contest = adapters.make_contest(Path(sys.executable), steps=2)
    ours, theirs = written(adapters.ADD_SCALAR, 1.0, 2.0), written(adapters.ADAPTER, *losses)
    assert difference in str(contest.compare(contest.contenders[1], ours, theirs))


def test_an_adapter_may_take_a_little_longer_than_the_other_logger_on_the_same_writer():
    contender = Contender("Lightning", fail, 10, costs=[Cost(1.0, 1.0, 1, 1, PARTS)])
    targets = contest_targets({"adapters": {"Lightning": contender}})
    assert [(target.subject, target.measured, target.is_met) for target in targets] == [
        ("adapters: Lightning, relative to its logger, our writer", "1.06x", False),
        ("adapters: Lightning, relative to add_scalar", "2.12x", None),
        ("adapters: Lightning, relative to its logger", "0.02x", None),
    ]


def test_an_adapter_may_take_a_small_share_of_a_training_step():
    parts = {"no logger us": 100.0, "in adapter us": 6.0}
    contender = Contender("Keras", fail, 10, costs=[Cost(1.0, 1.0, 1, 1, parts)])
    (target,) = contest_targets({"training": {"Keras": contender}})
    assert (target.bound, target.measured, target.is_met) == ("<= 5%", "6.00%", False)


def test_without_the_frameworks_the_parts_are_not_measured(tmp_path: Path):
    for make_contest in (adapters.make_contest, adapter_training.make_contest):
        with pytest.raises(Undone, match="has not installed the frameworks"):
            make_contest(tmp_path / "python")
