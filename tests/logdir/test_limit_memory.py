"""Logs that are read in parts, with results that are the same to the last bit."""

import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.logs import scalars, values, write
from helpers.odd_runs import bits, write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._events.value_encoding import metadata_only, tensor
from runfold._logdir import point_cache
from runfold._logdir.run_batches import split_runs
from runfold.errors import FileChanged, NotEnoughMemory

# Enough for the longest series of the odd runs, with copies, but for few of them together.
LIMIT = 30_000
POLICIES = ["session", "step", "keep"]

odd = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_cache, "_POINTS_PER_THREAD", 1)


def open_both(folder: Path, seed: int, restarts: str, limit: int = LIMIT) -> list[rf.Runs]:
    path = folder / f"logs-{seed}"
    if not path.exists():
        write_odd_runs(path, seed)
    return [rf.open(path, restarts=restarts, limit_memory=most) for most in (None, limit)]


def all_series(runs: rf.Runs) -> dict[tuple[str, str], tuple[object, ...]]:
    return {
        (name, tag): (
            *(column.tobytes() for column in (series.steps, series.wall_times, series.values)),
            series.hidden,
        )
        for name, run in runs.items()
        for tag, series in run._log.scalars.items()
    }


@odd
@given(st.integers(0, 400), st.sampled_from(POLICIES), st.integers(3_000, 60_000))
def test_series_are_equal(tmp_path: Path, seed: int, restarts: str, limit: int) -> None:
    whole, parts = open_both(tmp_path, seed, restarts, limit)
    expected = all_series(whole)
    assert all_series(parts) == expected
    assert list(all_series(parts)) == list(expected)
    assert parts.tags == whole.tags
    assert parts.hidden == whole.hidden
    assert [run.points for run in parts.values()] == [run.points for run in whole.values()]
    assert bits(parts.problems()) == bits(whole.problems())
    assert bits(parts.scalars()) == bits(whole.scalars())


@odd
@given(st.integers(0, 400), st.sampled_from(POLICIES), st.integers(100, 60_000))
def test_batches_have_all_series_in_order(
    tmp_path: Path, seed: int, restarts: str, limit: int
) -> None:
    whole, parts = open_both(tmp_path, seed, restarts, limit)
    seen = {}
    try:
        for batch in split_runs(parts._logs(None)):
            cache = batch[0][0].cache
            assert cache is not None
            held = cache._batches[0]
            assert sum(points.total for points in held.values()) * 24 <= limit
            for log, tags in batch:
                for tag in tags:
                    series = log.scalars[tag]
                    columns = series.steps, series.wall_times, series.values
                    seen[log.name, tag] = *(column.tobytes() for column in columns), series.hidden
            assert not cache._recent
        assert not cache._batches
    except NotEnoughMemory as error:
        need = re.search(r"at least (\d+)\.", str(error))
        assert need
        assert not seen
        assert int(need[1]) > limit
        enough = open_both(tmp_path, seed, restarts, int(need[1]))[1]
        assert all(batch for batch in split_runs(enough._logs(None)))
        return
    assert seen == all_series(whole)
    assert list(seen) == list(all_series(whole))


@odd
@given(st.integers(0, 400), st.sampled_from(POLICIES))
def test_tables_are_equal(tmp_path: Path, seed: int, restarts: str) -> None:
    both = open_both(tmp_path, seed, restarts)
    every = dict.fromkeys(("last", "first", "best", "min", "max", "mean", "auc"), True)
    with warnings.catch_warnings(action="ignore"):
        whole, parts = (bits(runs.table(**every, better="lower", at=[3, 20])) for runs in both)
    assert parts == whole
    for condition in ("last['loss'] > 0", "has('late')", "at['acc', 3] < 0", "points > 9"):
        expected, found = (list(runs.where(condition, better="lower")) for runs in both)
        assert found == expected
    expected, found = (list(runs.lacking("early")) for runs in both)
    assert found == expected
    expected, found = (list(runs.duplicates("content")) for runs in both)
    assert found == expected


def test_a_limit_that_is_too_small_names_one_that_is_enough(tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("short", (0, 1.0)))
    write(tmp_path / "b", scalars("long", *((step, 1.0) for step in range(100))))
    with pytest.raises(
        NotEnoughMemory, match=r"'long' in run 'b' needs 9\.6 kB .* at least 9600\."
    ):
        rf.open(tmp_path, limit_memory="5kB").table()
    assert len(rf.open(tmp_path, limit_memory=9600).table()) == 2


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "much", "4 GiB", ""])
def test_an_invalid_limit_is_an_error(tmp_path: Path, limit: object) -> None:
    with pytest.raises(ValueError, match="expected a size such as 500MB"):
        rf.open(tmp_path, limit_memory=limit)


def grow(path: Path, *points: tuple[int, float]) -> None:
    other = write(path.parent / "other", scalars("loss", *points))
    path.write_bytes(path.read_bytes() + other.read_bytes())
    other.unlink()
    other.parent.rmdir()


def test_a_file_that_grows_keeps_its_points_until_the_next_refresh(tmp_path: Path) -> None:
    path = write(tmp_path / "a", scalars("loss", (0, 0.5), (1, 0.25)))
    runs = rf.open(tmp_path, limit_memory=5000)
    runs.load()
    series = runs._logdir.logs["a"].scalars
    grow(path, (2, 0.125))
    assert runs["a"]["loss"].values.tolist() == [0.5, 0.25]
    assert runs.refresh().points == 1
    assert runs["a"]["loss"].values.tolist() == [0.5, 0.25, 0.125]
    assert series["loss"].values.tolist() == [0.5, 0.25]
    assert rf.open(tmp_path)["a"]["loss"].steps.tolist() == [0, 1, 2]


@pytest.mark.parametrize("change", ["replace", "rewrite", "truncate", "delete"])
def test_a_file_that_is_replaced_between_passes_is_an_error(tmp_path: Path, change: str) -> None:
    path = write(tmp_path / "a", scalars("loss", *((step, 1.0) for step in range(50))))
    write(tmp_path / "b", scalars("loss", (0, 2.0)))
    runs = rf.open(tmp_path, limit_memory=20_000)
    runs.load()
    data = path.read_bytes()
    if change == "replace":
        write(tmp_path / "a", scalars("loss", *((step, 3.0) for step in range(50)))).rename(path)
        path.unlink()
        write(tmp_path / "a", scalars("other", *((step, 3.0) for step in range(50))))
    elif change == "rewrite":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    elif change == "truncate":
        path.write_bytes(data[: len(data) // 2])
    else:
        path.unlink()
    with pytest.raises(FileChanged, match=r"runs\.refresh"):
        runs.table()
    assert runs["b"]["loss"].values.tolist() == [2.0]
    if change != "delete":
        runs.refresh()
        assert all_series(runs) == all_series(rf.open(tmp_path))


def test_metadata_that_appears_later_changes_nothing_before_it(tmp_path: Path) -> None:
    # Until the second file names the tag's plugin, its tensors are scalars.
    def tensors(step: int) -> Callable[[EventBuffer], None]:
        return values(tensor("x", np.array([0.5])), step=step)

    write(tmp_path, tensors(0), scalars("loss", (0, 1.0)), number=1)
    plugin = values(metadata_only("x", "text", b""), step=1)
    write(tmp_path, tensors(1), plugin, tensors(2), number=2)
    write(tmp_path, tensors(3), scalars("loss", (1, 1.0)), number=3)
    parts = rf.open(tmp_path, limit_memory=1000)
    assert parts["."]["x"].steps.tolist() == [0, 1]
    assert parts.table()["x"].tolist() == [0.5]
    assert all_series(parts) == all_series(rf.open(tmp_path))


def test_runs_keep_their_limit_when_pickled(tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("loss", (0, 0.5)))
    runs = pickle.loads(pickle.dumps(rf.open(tmp_path, limit_memory="1MB")))
    assert runs._logdir.cache.limit == 1_000_000
