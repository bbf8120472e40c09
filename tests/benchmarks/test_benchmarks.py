"""The benchmark on tiny logs: every reader reads the same values."""

import json
import pickle
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers, report
from benchmarks.__main__ import main
from benchmarks.contest import RUNFOLD, Contender, Contest, Disagreement
from benchmarks.logs import LOGS, Log, generate
from benchmarks.measure import Cost, Undone, launch, load, measure
from benchmarks.peers import ACCUMULATOR, SERVER, find_reader, reference_of
from benchmarks.readings import Series, find_disagreement
from benchmarks.targets import contest_targets

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


def test_a_sample_of_a_log_has_the_same_first_runs(tmp_path: Path):
    log = TINY[1]
    whole, part = generate(log, tmp_path), generate(log.sampled(), tmp_path)
    assert sorted(run.name for run in part.iterdir()) == ["run-0000", "run-0001"]
    for file in part.glob("*/*"):
        assert file.read_bytes() == (whole / file.relative_to(part)).read_bytes()


def test_a_log_is_written_once_unless_fresh(tmp_path: Path):
    folder = generate(TINY[0], tmp_path)
    mark = folder / "mark"
    mark.touch()
    assert generate(TINY[0], tmp_path) == folder
    assert mark.exists()
    assert generate(TINY[0], tmp_path, fresh=True) == folder
    assert not mark.exists()


def test_each_read_runs_in_its_own_process_and_stores_its_result(tmp_path: Path):
    log = TINY[0]
    folder = generate(log, tmp_path)
    cost = measure(peers.prepare, [RUNFOLD, asdict(log), str(folder)], tmp_path / "kept")
    assert cost.cpu > 0
    assert cost.peak >= cost.growth
    assert find_disagreement(read(log, RUNFOLD, folder), load(tmp_path / "kept")) is None


def test_a_failing_reader_raises_undone_with_the_reason(tmp_path: Path):
    with pytest.raises(Undone, match="missing"):
        measure(peers.prepare, [RUNFOLD, asdict(TINY[0]), str(tmp_path / "missing")])


def test_the_cost_of_a_command_covers_start_to_end():
    held = 100_000_000
    cost = launch(sys.executable, "-c", f"bytearray({held}); print('not shown')")
    assert cost.cpu > 0
    assert held < cost.peak < 2 * held


def test_the_memory_of_a_command_excludes_its_parent():
    ballast = bytes(200_000_000)
    assert launch(sys.executable, "-c", "pass").peak < len(ballast) / 2


def test_a_failing_command_raises_undone_with_the_reason():
    with pytest.raises(Undone, match="for this reason"):
        launch(sys.executable, "-c", "raise SystemExit('for this reason')")


def contest(ours: Series, theirs: Series) -> Contest:
    """Two contenders with constant costs that store the given series."""

    def contender(name: str, series: Series) -> Contender:
        def once(keep: Path | None) -> Cost:
            if keep:
                keep.write_bytes(pickle.dumps(series))
            return Cost(cpu=1.0, wall=1.0, peak=1, growth=1)

        return Contender(name, once, size=1)

    def compare(peer: Contender, ours: Series, theirs: Series) -> str | None:
        return find_disagreement(ours, theirs)

    both = [contender(RUNFOLD, ours), contender("peer", theirs)]
    return Contest("a contest", ("by", "runs"), both, compare)


def test_a_wrong_value_is_a_disagreement():
    points = np.arange(3), np.arange(3.0), np.arange(3.0)
    wrong = points[0], points[1], np.array([0.0, 1.5, 2.0])
    with pytest.raises(Disagreement, match=r"run-0: values of tag 'loss' differ.*row 1"):
        contest({("run-0", "loss"): points}, {("run-0", "loss"): wrong}).run(repeat=1)


def test_contenders_are_measured_in_turn_while_there_is_time():
    series: Series = {("a", "loss"): (np.arange(3), None, None)}
    slow = Cost(cpu=10.0, wall=15.0, peak=1, growth=1)
    both = contest(series, series)
    both.contenders[1].costs.append(slow)
    measured = both.run(repeat=7)
    assert [len(contender.costs) for contender in measured.values()] == [7, 3]


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        ({}, "nothing was read"),
        ({("a", "loss"): (np.arange(2), None, None)}, "3 and 2 of them"),
        ({("a", "los"): (np.arange(3), None, None)}, "only one of them"),
    ],
)
def test_missing_data_is_a_disagreement(theirs: Series, message: str):
    ours: Series = {("a", "loss"): (np.arange(3), np.arange(3.0), np.arange(3.0))}
    assert message in str(find_disagreement(ours, theirs))


def test_a_sampler_may_lack_points_but_not_change_them():
    ours: Series = {("a", "loss"): (np.arange(5), None, np.arange(5.0))}
    some: Series = {("a", "loss"): (np.array([1, 4]), None, np.array([1.0, 4.0]))}
    other: Series = {("a", "loss"): (np.array([1, 7]), None, np.array([1.0, 4.0]))}
    assert find_disagreement(ours, some, is_sample=True) is None
    assert "steps" in str(find_disagreement(ours, other, is_sample=True))


def test_a_missing_peer_leaves_a_line_without_figures(tmp_path: Path):
    log = TINY[0]
    readers = peers.make_contest(log, tmp_path)
    readers.contenders[1].trouble = "No module named 'tensorboard'"
    assert "EventAccumulator: No module named" in report.table(readers)
    assert contest_targets({log.name: {reader.name: reader for reader in readers.contenders}}) == []


def test_the_command_prints_tables_and_writes_the_figures(tmp_path: Path, capsys):
    figures = tmp_path / "figures.json"
    options = ["--repeat", "1", "--logs", str(tmp_path), "--json", str(figures)]
    assert main([*options, "--only", "E,events,fold,bootstrap"], TINY) == 0
    out = capsys.readouterr().out
    assert "E: 3 runs, 14 images and 14 histograms each" in out
    assert "fold: mean and std of 2 arrays in memory, 3 runs x 7 steps" in out
    assert "bootstrap: ci95 by 10,000 resamples of an array in memory, 2 runs x 7 steps" in out
    assert "All values agree" in out
    parts = json.loads(figures.read_text())["parts"]
    assert {part: set(contenders) for part, contenders in parts.items()} == {
        "E": {RUNFOLD, "runfold decoded", ACCUMULATOR, SERVER},
        "events": {RUNFOLD, ACCUMULATOR},
        "fold": {RUNFOLD, "NumPy", "pandas"},
        "bootstrap": {RUNFOLD, "scipy"},
    }


def test_an_unknown_part_is_rejected(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "A,flod"], TINY)
    assert "unknown part 'flod'; choose from A, B, C, D, E, reduce, fold" in capsys.readouterr().err
