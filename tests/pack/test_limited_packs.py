"""Packs that are read in parts, with results that are the same to the last bit."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from helpers.logs import scalars, write
from helpers.memory_limits import with_enough
from helpers.odd_folds import fold
from helpers.odd_runs import bits, write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._cli import main
from runfold._logdir import point_cache
from runfold._pack import pack_rows, pack_writer
from runfold._pack.file_parts import FileParts
from runfold._pack.pack import unpack_logdir
from runfold._pack.pack_file import Pack
from runfold.errors import FileChanged, NotEnoughMemory

LIMIT = 60_000
POLICIES = ["session", "step", "keep"]


@pytest.fixture(autouse=True)
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_cache, "_POINTS_PER_THREAD", 1)


def pack_odd_runs(folder: Path, seed: int) -> Path:
    path = folder / f"{seed}.parquet"
    if not path.exists():
        write_odd_runs(folder / f"logs-{seed}", seed)
        with pytest.MonkeyPatch.context() as patch:
            # Small row groups and batches, so that a tag of a file is in several of them.
            patch.setattr(pack_rows, "_BATCH_POINTS", 150)
            patch.setattr(pack_rows, "_LEAST_POINTS", 20)
            patch.setattr(pack_rows, "_MOST_POINTS", 30)
            rf.open(folder / f"logs-{seed}").pack(path)
    return path


def all_series(runs: rf.Runs) -> dict[tuple[str, str], tuple[object, ...]]:
    return {
        (name, tag): (
            *(column.tobytes() for column in (series.steps, series.wall_times, series.values)),
            series.hidden,
        )
        for name, run in runs.items()
        for tag, series in run._log.scalars.items()
    }


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 30), st.sampled_from(POLICIES))
def test_results_are_equal(tmp_path: Path, seed: int, restarts: Any) -> None:
    path = pack_odd_runs(tmp_path, seed)
    whole, parts = (rf.open(path, restarts=restarts, limit_memory=limit) for limit in (None, LIMIT))
    assert all_series(parts) == all_series(whole)
    assert all(log.cache is not None and not log.cache._batches for log in parts._logs(None))
    assert list(parts) == list(whole)
    assert parts.tags == whole.tags
    assert [run.points for run in parts.values()] == [run.points for run in whole.values()]
    assert bits(parts.scalars()) == bits(whole.scalars())
    with warnings.catch_warnings(action="ignore"):
        expected, found = (bits(runs.table(best=True, better="lower")) for runs in (whole, parts))
    assert found == expected
    query = "select run, tag, step, wall_time, value from scalars order by all"
    assert bits(parts.sql(query)) == bits(whole.sql(query))
    for runs in (whole, parts):
        runs.export(tmp_path / f"{runs is whole}.csv", overwrite=True)
    assert (tmp_path / "True.csv").read_bytes() == (tmp_path / "False.csv").read_bytes()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(0, 30),
    st.sampled_from(POLICIES),
    st.sampled_from([{}, {"align": "union", "by": "lr"}, {"bins": 4}, {"align": "intersection"}]),
    st.integers(1_000, 60_000),
)
def test_folds_are_equal(
    tmp_path: Path, seed: int, restarts: Any, options: dict[str, Any], limit: int
) -> None:
    path = pack_odd_runs(tmp_path, seed)
    expected = fold(rf.open(path, restarts=restarts), options)
    found = with_enough(
        lambda most: fold(rf.open(path, restarts=restarts, limit_memory=most), options), limit
    )
    assert found == expected


def test_a_row_group_is_decoded_once_for_all_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in range(20):
        write(tmp_path / "logs" / f"{run}", scalars("loss", *((step, 0.5) for step in range(9))))
    rf.open(tmp_path / "logs").pack(tmp_path / "runs.parquet")
    seen = []
    original = Pack.read_points

    def read_points(pack: Pack, group: int) -> Any:
        seen.append(group)
        return original(pack, group)

    monkeypatch.setattr(Pack, "read_points", read_points)
    assert len(rf.open(tmp_path / "runs.parquet", limit_memory="1MB").table()) == 20
    assert seen == [0]


def test_a_pack_that_is_replaced_between_passes_is_an_error(tmp_path: Path) -> None:
    logs, path = tmp_path / "logs", tmp_path / "runs.parquet"
    write(logs / "a", scalars("loss", (0, 0.5)))
    rf.open(logs).pack(path)
    runs = rf.open(path, limit_memory="1MB")
    runs.load()
    write(logs / "b", scalars("loss", (0, 1.0), (1, 2.0)))
    rf.open(logs).pack(path, overwrite=True)
    with pytest.raises(FileChanged, match=r"runs\.refresh"):
        runs.table()
    assert runs.refresh().runs == ["b"]
    assert all_series(runs) == all_series(rf.open(path))


def test_packs_and_folders_share_a_limit(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a", scalars("loss", (0, 0.5)))
    rf.open(tmp_path / "logs").pack(tmp_path / "runs.parquet")
    write(tmp_path / "more" / "b", scalars("loss", (0, 2.5)))
    paths = tmp_path / "runs.parquet", tmp_path / "more"
    found, expected = (
        bits(rf.open(*paths, limit_memory=limit).scalars()) for limit in ("1MB", None)
    )
    assert found == expected


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 30), st.integers(4_000, 60_000))
def test_packing_some_tags_at_a_time_gives_the_same_pack(
    tmp_path: Path, seed: int, limit: int
) -> None:
    logs, packs = (
        tmp_path / f"logs-{seed}",
        [tmp_path / "whole.parquet", tmp_path / "parts.parquet"],
    )
    if not logs.exists():
        write_odd_runs(logs, seed)
    rf.open(logs).pack(packs[0], overwrite=True)
    seen: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        # Otherwise, a small limit changes where row groups end.
        patch.setattr(pack_writer, "most_held", lambda limit: 1 << 30)
        patch.setattr(FileParts, "locate", count_calls(FileParts.locate, seen))

        def pack(most: int) -> None:
            seen.clear()
            rf.open(logs, limit_memory=most).pack(packs[1], overwrite=True)

        with_enough(pack, limit)
    assert packs[0].read_bytes() == packs[1].read_bytes()
    assert max(len(points) for points in seen) <= 6


def count_calls(original: Any, seen: list[Any]) -> Any:
    def locate(parts: FileParts, points: Any) -> Any:
        seen.append(list(points))
        return original(parts, points)

    return locate


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 30), st.sampled_from(POLICIES))
def test_small_row_groups_contain_the_same(tmp_path: Path, seed: int, restarts: Any) -> None:
    logs, path = tmp_path / f"logs-{seed}", tmp_path / "parts.parquet"
    if not logs.exists():
        write_odd_runs(logs, seed)
    rf.open(logs, limit_memory=25_000).pack(path, overwrite=True)
    assert all_series(rf.open(path, restarts=restarts)) == all_series(
        rf.open(logs, restarts=restarts)
    )
    folder = tmp_path / f"again-{seed}-{restarts}"
    if not folder.exists():
        unpack_logdir(path, folder)
        files = [file for file in logs.rglob("*") if file.is_file()]
        assert len(files) == sum(file.is_file() for file in folder.rglob("*"))
        for file in files:
            assert (folder / file.relative_to(logs)).read_bytes() == file.read_bytes()


def test_a_limit_for_packing_names_one_that_is_enough(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a", scalars("loss", *((step, 0.5) for step in range(99))))
    write(tmp_path / "logs" / "b", scalars("loss", (0, 0.5)))
    path = tmp_path / "runs.parquet"
    with pytest.raises(NotEnoughMemory, match=r"'loss' in run 'a' needs 25\.3 kB .* 25334\."):
        rf.open(tmp_path / "logs", limit_memory=25_000).pack(path)
    assert not path.exists()
    command = ["pack", str(tmp_path / "logs"), "-o", str(path), "--memory"]
    assert main([*command, "25kB"]) == 2
    assert not path.exists()
    assert main([*command, "25334"]) == 0
    assert list(rf.open(path)) == ["a", "b"]


def test_several_passes_are_used_for_many_tags(tmp_path: Path) -> None:
    series = [scalars(tag, *((step, 0.5) for step in range(99))) for tag in "abcd"]
    write(tmp_path / "logs" / "a", *series)
    seen: list[list[int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileParts, "locate", count_calls(FileParts.locate, seen))
        rf.open(tmp_path / "logs", limit_memory=60_000).pack(tmp_path / "runs.parquet")
    assert seen == [[0, 1], [2, 3]]
