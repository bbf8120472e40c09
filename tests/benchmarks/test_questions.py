"""The benchmark of queries on tiny logs: all packages give the same result."""

from dataclasses import replace
from pathlib import Path

import pytest

import runfold as rf
from benchmarks import settings
from benchmarks.contest import RUNFOLD
from benchmarks.logs import LOGS, Log
from benchmarks.questions import QUESTIONS, make_contest, measure_sizes
from benchmarks.targets import size_targets

TINY = [replace(log, runs=3, tags=2, steps=7, sample=2) for log in LOGS if log.name in "BC"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_all_packages_give_the_same_answer(name: str, tmp_path: Path):
    contenders = make_contest(name, TINY, tmp_path).run(1)
    assert contenders[RUNFOLD].costs
    assert all(not contender.trouble for contender in contenders.values())


def test_a_wrong_answer_is_a_difference(tmp_path: Path):
    contest = make_contest("table", TINY, tmp_path)
    ours, theirs = contest.contenders
    kept = [tmp_path / "ours", tmp_path / "theirs"]
    for contender, path in zip((ours, theirs), kept, strict=True):
        contender.once(path)
    right, answer = map(contest.load, kept)
    assert contest.compare(theirs, right, answer) is None
    (steps, times, values), key = next(iter(answer.values())), next(iter(answer))
    difference = contest.compare(theirs, right, answer | {key: (steps, times, values + 1e-6)})
    assert f"values of tag {key[1]!r} differ" in str(difference)


def test_sizes_are_those_on_disk_and_in_memory(tmp_path: Path):
    event_files, pack, frame = measure_sizes(TINY, tmp_path)
    folder = next(tmp_path.glob("B-3x*-simple"))
    assert event_files == sum(file.stat().st_size for file in folder.glob("*/*"))
    assert pack == folder.with_suffix(".parquet").stat().st_size
    assert frame >= 3 * 2 * 7 * (8 + 8 + 8)
    assert [target.is_met for target in size_targets(100, 20, 1)] == [True, True]
    assert [target.is_met for target in size_targets(100, 21, 200_000_000)] == [False, False]


def test_settings_in_files_are_in_the_table_that_is_measured(tmp_path: Path):
    contest = settings.make_contest(tmp_path, log=Log("S", runs=2, tags=1, steps=3))
    assert set(contest.run(1)) == {RUNFOLD, settings.WITHOUT, settings.HPARAMS}
    with_files, with_hparams = (
        rf.open(next(tmp_path.glob(f"S-*-{name}"))).hparams(sources=True)
        for name in (settings.FILE, "hparams")
    )
    assert set(with_files["source"]) == {"file hparams.yaml"}
    assert set(with_hparams["source"]) == {"hparams"}
    assert len(with_files) == len(with_hparams) == 24
