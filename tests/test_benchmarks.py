"""The benchmark on logs so small that it takes no time: every reader reads the same."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import report
from benchmarks.__main__ import Disagreement, _compare_one, main
from benchmarks.logs import LOGS, Log, generate
from benchmarks.measure import Costs, Unread, load, measure
from benchmarks.peers import ACCUMULATOR, RUNFOLD, SERVER, Reader, find_reader, reference_of
from benchmarks.readings import Series, find_disagreement
from benchmarks.targets import ratio_targets

TINY = [
    replace(log, runs=min(3, log.runs), tags=2, steps=7, sample=min(2, log.runs)) for log in LOGS
]


def read(log: Log, name: str, folder: Path) -> Series:
    reading = find_reader(log, name).prepare()(folder)
    return reading.complete() if reading.complete else reading.series


@pytest.mark.parametrize("log", TINY, ids=lambda log: log.name)
@pytest.mark.parametrize("peer", [RUNFOLD, ACCUMULATOR, SERVER])
def test_peers_agree_with_runfold(log: Log, peer: str, tmp_path: Path):
    folder = generate(log, tmp_path)
    ours, theirs = read(log, reference_of(log), folder), read(log, peer, folder)
    assert len(theirs) == log.runs * log.tags * (2 if log.form == "media" else 1)
    assert find_disagreement(ours, theirs, find_reader(log, peer).is_sampler) is None


def test_a_sample_of_a_log_holds_the_same_first_runs(tmp_path: Path):
    log = TINY[1]
    whole, part = generate(log, tmp_path), generate(log.sampled(), tmp_path)
    assert sorted(run.name for run in part.iterdir()) == ["run-0000", "run-0001"]
    for file in part.glob("*/*"):
        assert file.read_bytes() == (whole / file.relative_to(part)).read_bytes()


def test_a_log_is_written_once_unless_asked_anew(tmp_path: Path):
    folder = generate(TINY[0], tmp_path)
    mark = folder / "mark"
    mark.touch()
    assert generate(TINY[0], tmp_path) == folder
    assert mark.exists()
    assert generate(TINY[0], tmp_path, fresh=True) == folder
    assert not mark.exists()


def test_a_reading_runs_in_its_own_process_and_keeps_what_it_read(tmp_path: Path):
    log = TINY[0]
    folder = generate(log, tmp_path)
    cost = measure(find_reader(log, RUNFOLD), log, folder, tmp_path / "kept")
    assert cost.cpu > 0
    assert cost.peak >= cost.growth
    assert find_disagreement(read(log, RUNFOLD, folder), load(tmp_path / "kept")) is None


def test_a_reader_that_fails_says_why(tmp_path: Path):
    with pytest.raises(Unread, match="missing"):
        measure(find_reader(TINY[0], RUNFOLD), TINY[0], tmp_path / "missing")


def test_a_wrong_value_is_a_disagreement():
    points = np.arange(3), np.arange(3.0), np.arange(3.0)
    wrong = points[0], points[1], np.array([0.0, 1.5, 2.0])
    reader = Reader("peer", find_reader(TINY[0], RUNFOLD).prepare)
    with pytest.raises(Disagreement, match=r"run-0: values of tag 'loss' differ.*row 1"):
        _compare_one(reader, TINY[0], {("run-0", "loss"): points}, {("run-0", "loss"): wrong})


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        ({}, "nothing was read"),
        ({("a", "loss"): (np.arange(2), None, None)}, "3 and 2 of them"),
        ({("a", "los"): (np.arange(3), None, None)}, "one of them only"),
    ],
)
def test_what_was_not_read_is_a_disagreement(theirs: Series, message: str):
    ours: Series = {("a", "loss"): (np.arange(3), np.arange(3.0), np.arange(3.0))}
    assert message in str(find_disagreement(ours, theirs))


def test_a_sampler_may_lack_points_but_not_change_them():
    ours: Series = {("a", "loss"): (np.arange(5), None, np.arange(5.0))}
    some: Series = {("a", "loss"): (np.array([1, 4]), None, np.array([1.0, 4.0]))}
    other: Series = {("a", "loss"): (np.array([1, 7]), None, np.array([1.0, 4.0]))}
    assert find_disagreement(ours, some, is_sample=True) is None
    assert "steps" in str(find_disagreement(ours, other, is_sample=True))


def test_a_peer_that_is_not_there_leaves_a_line_without_figures():
    log = TINY[0]
    costs = {name: Costs(find_reader(log, name), log) for name in (RUNFOLD, ACCUMULATOR)}
    costs[ACCUMULATOR].trouble = "No module named 'tensorboard'"
    assert "EventAccumulator: No module named" in report.log_table(log, costs)
    assert ratio_targets({log.name: costs}) == []


def test_the_command_prints_tables_and_writes_the_figures(tmp_path: Path, capsys):
    figures = tmp_path / "figures.json"
    options = ["--only", "E", "--repeat", "1", "--logs", str(tmp_path), "--json", str(figures)]
    assert main(options, TINY) == 0
    out = capsys.readouterr().out
    assert "E: 3 runs, 14 images and 14 histograms each" in out
    assert "All values agree" in out
    assert set(json.loads(figures.read_text())["logs"]["E"]) >= {RUNFOLD, ACCUMULATOR, SERVER}
