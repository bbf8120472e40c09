"""The benchmark of the adapters, with few values: all loggers log the same."""

import sys
from pathlib import Path

import pytest

from benchmarks import adapters
from benchmarks.measure import Undone
from benchmarks.targets import contest_targets


def test_all_loggers_log_the_same_values():
    results = adapters.make_contest(Path(sys.executable), steps=30).run(1)
    assert [name for name, contender in results.items() if contender.costs] == [*adapters.LOGGERS]
    subjects = [target.subject for target in contest_targets({"adapters": results})]
    assert subjects == [
        f"adapters: calling thread, relative to {name}"
        for name in (adapters.OTHER_LOGGER, adapters.WITHOUT, adapters.ORIGINAL)
    ]


def test_without_lightning_the_part_is_not_measured(tmp_path):
    with pytest.raises(Undone, match="Lightning"):
        adapters.make_contest(tmp_path / "python")
