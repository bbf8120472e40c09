"""Quick ways for many small runs give the same results, to the last bit, as the ways for all runs.

The oracle reads each file separately, in Python, and has a series for each tag of each run.
"""

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.logs import hparams, scalars, values, write
from helpers.odd_runs import bits, odd_content, write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._core.small_files import read_small_files
from runfold._events.value_encoding import hparams_end
from runfold._logdir import run_log, small_runs
from runfold.errors import CannotFold

POLICIES = ["session", "step", "keep"]
PART = "1700000000.25"
STATISTICS = ("last", "first", "best", "min", "max", "mean", "auc")
odd = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@contextmanager
def slowly() -> Iterator[None]:
    """Read each run as if it were unusual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_runs, "read_small_files", lambda paths, *_: [None] * len(paths))
        patch.setattr(run_log.RunLog, "plain_points", None)
        yield


def write_sweep(folder: Path, seed: int) -> None:
    """Write runs; most of them have a single file with the same tags."""
    dice = random.Random(seed)
    same = seed % 3 == 0
    for number in range(dice.randint(2, 7)):
        run = folder / f"group-{number % 2}" / f"run-{number}"
        kind = dice.random()
        if kind < 0.6 or same:
            write(run, regular(dice, same))
        elif kind < 0.7:
            path = write(run, odd_content(dice, 0))
            data = bytearray(path.read_bytes())
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            path.write_bytes(data[: dice.choice([None, -3])])
        elif kind < 0.8:
            write(run, hparams(lr=number), odd_content(dice, 0))
        elif kind < 0.85:
            write(run, raw_tags)
        elif kind < 0.9:
            write(run, regular(dice, same))
            write(run / PART, hparams(lr=0.1), scalars("final", (3, 1.0)))
            write(run / PART, values(hparams_end("success")), number=2)
        elif kind < 0.95:
            write(run).write_bytes(b"")
        else:
            write(run, regular(dice, same))
            write(run, regular(dice, same), number=2)
    if not same and dice.random() < 0.3:
        write_odd_runs(folder / "odd", seed, 1)


def regular(dice: random.Random, same: bool) -> Callable[[EventBuffer], None]:
    """Return a function that adds a few series."""

    def add(buffer: EventBuffer) -> None:
        for step in range(3 if same else dice.randint(1, 4)):
            for tag in ("loss", "acc") if same else dice.sample(["loss", "acc", "acc"], 2):
                value = dice.gauss(0, 1) if dice.random() < 0.9 else dice.choice([np.nan, np.inf])
                time = 1e9 + dice.random() if same or dice.random() < 0.95 else np.nan
                buffer.scalar_double(tag, value, step, time)

    return add


def raw_tags(buffer: EventBuffer) -> None:
    """Add tags that look alike once their bytes are escaped."""
    for number, tag in enumerate((b"caf\xe9", b"caf\\xe9", b"loss")):
        head = b"\x0a" + bytes([len(tag)]) + tag
        buffer.value(head + b"\x15" + np.float32(number).tobytes(), number, 1e9)


def take_all(folder: Path, restarts: Any) -> dict[str, Any]:
    """Return what users can see of a logdir."""
    runs = rf.open(folder, restarts=restarts)
    every: Any = dict.fromkeys(STATISTICS, True)
    found: dict[str, Any] = {"table": bits(runs.table())}
    found["every"] = bits(runs.table(**every, better="lower", at=[1, 3]))
    found["tags"] = runs.tags, runs.hidden, [run.tags for run in runs.values()]
    found["points"] = [run.points for run in runs.values()]
    found["problems"] = bits(runs.problems())
    found["scalars"] = bits(runs.scalars())
    for condition in CONDITIONS:
        found[condition] = list(runs.where(condition, better="higher"))
    found["lacking"] = list(runs.lacking("loss")) if "loss" in runs.tags.get("scalar", ()) else []
    found["shorter"] = list(runs.shorter(2))
    found["twins"] = list(runs.duplicates("content"))
    for by, align, nan in FOLDS:
        try:
            reduced = runs.reduce(
                ["mean", "std", "min", "count"],
                by=by,
                align=align,
                nan=nan,
                bins=2 if align == "bins" else None,
                lax_tags=align != "strict",
                duplicates="mean",
            )
        except CannotFold as error:
            found[f"{by} {align} {nan}"] = str(error)
        else:
            notes = reduced.left_out, reduced.remarks
            found[f"{by} {align} {nan}"] = bits(reduced.frame()), notes
    return found


CONDITIONS = [
    "steps > 1 and not start < 1000000000.5",
    "last['loss'] > 0 or first['loss'] == 0",
    "0 >= min['loss']",
    "best_step['loss'] >= 1",
    "best_step['loss'] < 1.5",
    "mean['loss'] != 0",
    "1 < max['loss'] <= 2",
    "duration == None",
    "run like 'group-0*' and status == 'unknown'",
    "status != 'failed' and steps",
    "has('acc') and points > 3",
    "at['loss', 1] < 0 or steps == None",
]
FOLDS = [
    ("parent", "strict", "skip"),
    (None, "union", "propagate"),
    (None, "interpolate", "skip"),
    ("parent", "bins", "skip"),
    ("parent", "auto", "skip"),
]


@odd
@given(st.integers(0, 2000), st.sampled_from(POLICIES))
def test_results_are_the_same(tmp_path: Path, seed: int, restarts: str) -> None:
    folder = tmp_path / f"logs-{seed}"
    if not folder.exists():
        write_sweep(folder, seed)
    with warnings.catch_warnings(action="ignore"):
        quick = take_all(folder, restarts)
        with slowly():
            slow = take_all(folder, restarts)
    for name, expected in slow.items():
        assert quick[name] == expected, name


@pytest.mark.parametrize("seed", range(6))
def test_results_are_the_same_after_files_have_grown(tmp_path: Path, seed: int) -> None:
    write_sweep(tmp_path, seed)
    dice = random.Random(seed)
    found = []
    opened = rf.open(tmp_path).load()
    opened.table()
    with slowly():
        opened_slowly = rf.open(tmp_path).load()
        opened_slowly.table()
    paths = sorted(tmp_path.rglob("*tfevents*"))
    for path in dice.sample(paths, len(paths) // 2):
        buffer = EventBuffer()
        buffer.scalar_double("loss", 0.25, 7, 2e9)
        buffer.scalar_double("new", 0.25, 8, 2e9)
        if dice.random() < 0.3:
            path.unlink()
        with path.open("ab") as file:
            file.write(buffer.getvalue())
    for runs in (opened, opened_slowly):
        changes = runs.refresh()
        found.append((changes.points, changes.reread, bits(runs.scalars()), bits(runs.table())))
    assert found[0] == found[1]


def test_runs_with_equal_tags_share_the_names(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"run-{number}", scalars("loss", (0, 1.0)), scalars("acc", (0, number)))
    write(tmp_path / "other", scalars("loss", (0, 1.0)))
    runs = rf.open(tmp_path).load()
    logs = [run._log for run in runs.values()]
    assert [log.names for log in logs] == [["loss"], *[["loss", "acc"]] * 3]
    assert logs[1].names is logs[2].names is logs[3].names
    assert runs["run-1"]["acc"] is runs["run-1"]["acc"]


def test_a_run_that_another_thread_uses_is_read_on_its_own(tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    write(tmp_path / "b", scalars("loss", (1, 2.0)))
    runs = rf.open(tmp_path)

    def use_first(*arguments: Any) -> Any:
        _ = runs["a"]._unread.tags  # as if by another thread
        return read_small_files(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_runs, "read_small_files", use_first)
        runs.load()
    assert [run["loss"].values.tolist() for run in runs.values()] == [[1.0], [2.0]]
