"""The benchmark of web servers on a tiny log: all serve the same data."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import serving
from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import LOGS, generate
from benchmarks.measure import Cost, Undone
from benchmarks.readings import Series
from benchmarks.serving import EVERY_POINT, ONE_TAG, TENSORBOARD
from benchmarks.sites import serve_with_runfold, serve_with_tensorboard
from benchmarks.targets import contest_targets

TINY = replace(LOGS[1], runs=3, tags=2, steps=7)


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> tuple[Contest, dict[str, Series]]:
    """The contest, and the data from each server, measured once."""
    root = tmp_path_factory.mktemp("logs")
    contest = serving.make_contest(TINY, root)
    for number, contender in enumerate(contest.contenders):
        contender.measure(root / str(number))
    kept = {
        contender.name: contest.load(root / str(number))
        for number, contender in enumerate(contest.contenders)
    }
    return contest, kept


@pytest.mark.parametrize("name", [RUNFOLD, TENSORBOARD, EVERY_POINT])
def test_served_data_matches_the_event_files(name: str, served):
    contest, kept = served
    contender = next(contender for contender in contest.contenders if contender.name == name)
    assert not contender.trouble
    (cost,) = contender.costs
    assert 0 < cost.parts[ONE_TAG] < cost.wall
    assert cost.cpu > 0
    assert cost.peak > 10_000_000
    assert len(kept[name]) == TINY.runs * (1 if name == TENSORBOARD else TINY.tags)
    assert contest.compare(contender, kept[RUNFOLD], kept[name]) is None


@pytest.mark.parametrize("name", [RUNFOLD, TENSORBOARD])
def test_a_value_that_is_not_in_the_event_files_is_a_difference(name: str, served):
    contest, kept = served
    contender = next(contender for contender in contest.contenders if contender.name == name)
    key, (steps, times, values) = next(iter(kept[name].items()))
    wrong = kept[name] | {key: (steps, times, values + 1e-6)}
    assert f"values of tag {key[1]!r} differ" in str(contest.compare(contender, wrong, wrong))
    short = kept[name] | {key: (steps[:-1], times, values[:-1])}
    assert contest.compare(contender, short, short) == "a series was not served completely"
    few = {key: columns for key, columns in kept[name].items() if key[0] != "run-0001"}
    assert contest.compare(contender, few, few) == "a run was not served"


def test_the_memory_of_a_query_includes_all_processes(tmp_path: Path):
    contest = serving.make_query_contest(TINY, tmp_path)
    (cost,) = contest.run(repeat=1)[RUNFOLD].costs
    # Only the query's process imports DuckDB and pyarrow.
    assert cost.growth > 30_000_000
    assert cost.peak > cost.growth


def test_a_server_that_does_not_start_raises_undone_with_the_reason(tmp_path: Path):
    missing = tmp_path / "missing"
    with pytest.raises(Undone, match="missing"), serve_with_runfold(missing):
        pass


def test_a_server_with_an_unexpected_listing_is_not_measured(tmp_path: Path):
    folder = generate(TINY, tmp_path)
    for serve in (serve_with_runfold, serve_with_tensorboard):
        with serve(folder) as site, pytest.raises(Undone, match="unexpected response"):
            site.list_tags(TINY.runs, TINY.tags + 1)


def test_the_targets_are_ratios_of_elapsed_time_and_bytes():
    def contender(name: str, wall: float, one_tag: float, peak: int) -> Contender:
        cost = Cost(1.0, wall, peak, peak, {ONE_TAG: one_tag})
        return Contender(name, lambda keep: cost, size=100, costs=[cost])

    ours = contender(RUNFOLD, 0.5, 0.05, 200_000_000)
    theirs = contender(TENSORBOARD, 1.6, 0.4, 300_000_000)
    targets = contest_targets({"serve": {RUNFOLD: ours, TENSORBOARD: theirs}})
    assert [(target.bound, target.measured, target.is_met) for target in targets] == [
        (">= 3x", "3.2x", True),
        (">= 10x", "8x", False),
        ("< 250 MB", "200 MB", True),
    ]
