"""Folds of tags that do not fit into the limit, with results that are the same to the last bit."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.logs import hparams, scalars, write
from helpers.memory_limits import enough
from helpers.odd_folds import fold
from helpers.odd_runs import write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._logdir import bulk_read, point_cache
from runfold._reduce import align, axes, bootstrap, sample
from runfold._reduce.tag_batches import TagBatches
from runfold._reduce.windows import stretches, window_folds
from runfold._reduce.windows.window_plan import plan_windows
from runfold.errors import NotEnoughMemory

ALL = "mean,std,var,sem,min,max,median,sum,count,iqm,q05,ci95,ci90-iqm,ci95-t"
LIMIT = 10_000_000

many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
alignments = st.sampled_from(
    [{"align": how} for how in axes.ALIGNMENTS if how != "bins"]
    + [{"bins": 1}, {"bins": 4}, {"bins": 70}]
)
options = st.fixed_dictionaries(
    {
        "nan": st.sampled_from(["skip", "propagate"]),
        "x": st.sampled_from(["step", "wall_time", "relative", "acc"]),
        "duplicates": st.sampled_from(["last", "first", "mean", "error"]),
        "min_runs": st.sampled_from([None, 2, 3]),
        "by": st.sampled_from([None, "lr", "run"]),
        "lax_tags": st.booleans(),
    }
)


@pytest.fixture(autouse=True)
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_cache, "_POINTS_PER_THREAD", 1)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Divide every tag into windows that need at most `tiny["room"]` bytes, and small blocks."""
    chosen = {"room": 1, "windows": 0}

    def plan(outlines: Any, held: int, work: int, room: int) -> Any:
        windows, _ = plan_windows(outlines, held, work, chosen["room"])
        chosen["windows"] += len(windows)
        return windows, 0

    monkeypatch.setattr(window_folds, "plan_windows", plan)
    monkeypatch.setattr(TagBatches, "_fit_alone", lambda batches, tag: False)
    yield chosen
    assert chosen["windows"]


@many
@given(
    st.integers(0, 60),
    st.sampled_from(["session", "step", "keep"]),
    alignments,
    options,
    st.sampled_from([1, 500, 3_000, 20_000]),
    st.sampled_from([32, 64, 1 << 18]),
    st.sampled_from([1 << 15, 1 << 18, 8 << 20]),
    st.sampled_from([8, 64, 1 << 18]),
    st.sampled_from([10, 1_000, 4_000_000]),
    st.sampled_from([40, 200, 1 << 20]),
)
def test_folds_in_windows_are_equal(
    tmp_path: Path,
    tiny: dict[str, int],
    seed: int,
    restarts: Any,
    alignment: dict[str, Any],
    other: dict[str, Any],
    room: int,
    block: int,
    rows: int,
    cells: int,
    handy: int,
    distance: int,
) -> None:
    path = tmp_path / f"logs-{seed}"
    if not path.exists():
        write_odd_runs(path, seed, runs=[2, 4, 12][seed % 3])
    tiny["room"] = room
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "_BLOCK", block)
        patch.setattr(bootstrap, "_BLOCK_BYTES", rows)
        patch.setattr(window_folds, "_CELLS", cells)
        patch.setattr(align, "_HANDY_CELLS", handy)
        patch.setattr(stretches, "_SMALL", distance)
        patch.setattr(bulk_read, "_SMALLEST_READ", distance)
        chosen = {"ops": ALL} | alignment | other
        expected = fold(rf.open(path, restarts=restarts), chosen)
        try:
            found = fold(rf.open(path, restarts=restarts, limit_memory=LIMIT), chosen)
        except NotEnoughMemory:
            # A negative zero on the x-axis, or an unknown wall time with "intersection".
            assert other["x"] == "acc" or alignment["align"] == "intersection"
        else:
            assert found == expected


def write_long_runs(folder: Path, size: int, runs: int = 6) -> None:
    """Write runs with other steps, other lengths, and values of very different magnitudes."""
    random = np.random.default_rng(0)
    for run in range(runs):

        def add(buffer: EventBuffer, run: int = run) -> None:
            steps = np.cumsum(random.integers(1, 3, size + 10 * run))
            for tag in ("a", "b"):
                values = random.normal(size=len(steps)) * 10.0 ** random.integers(-9, 9, len(steps))
                values[random.random(len(steps)) < 0.02] = np.nan
                for step, value in zip(steps.tolist(), values.tolist(), strict=True):
                    buffer.scalar_double(tag, value, step, 1e9 + step + run / 3)

        write(folder / f"run-{run}", hparams(lr=run % 2), add, scalars("short", (1, 2.0)))


@pytest.mark.parametrize(
    "chosen",
    [{"align": how} for how in axes.ALIGNMENTS if how not in ("bins", "strict")]
    + [
        {"bins": 50},
        {"align": "interpolate", "min_runs": 4},
        {"align": "union", "by": "lr", "x": "relative"},
    ],
    ids=repr,
)
def test_limits_are_enough(
    tmp_path: Path, chosen: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_long_runs(tmp_path, 400)
    monkeypatch.setattr(sample, "_BLOCK", 256)
    monkeypatch.setattr(bootstrap, "_BLOCK_BYTES", 1 << 18)
    monkeypatch.setattr(window_folds, "_CELLS", 64)
    counts = []

    def plan(*arguments: Any) -> Any:
        planned = plan_windows(*arguments)
        counts.append(len(planned[0]))
        return planned

    monkeypatch.setattr(window_folds, "plan_windows", plan)
    chosen = {"ops": "mean,ci95"} | chosen
    expected = fold(rf.open(tmp_path), chosen)
    limit = 1000
    while limit < 1_000_000:
        try:
            found = fold(rf.open(tmp_path, limit_memory=limit), chosen)
        except NotEnoughMemory as error:
            limit = enough(error, limit)
        else:
            assert found == expected
            limit += limit // 2
    assert "bins" in chosen or max(counts) > 1


def test_functions_of_all_points_are_not_divided(tmp_path: Path) -> None:
    write_long_runs(tmp_path, 400)
    for ops in ("ptp", [lambda column: column.max(axis=0)]):
        with pytest.raises(
            NotEnoughMemory, match=r"Tag '[ab]', with the results .* at least \d+\."
        ):
            rf.open(tmp_path, limit_memory=100_000).reduce(ops, align="union")


def test_a_file_that_is_replaced_between_windows_is_an_error(
    tmp_path: Path, tiny: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_long_runs(tmp_path, 40, runs=2)
    runs = rf.open(tmp_path, limit_memory=LIMIT)
    original = align.align_window

    def replace(*arguments: Any) -> Any:
        path = next((tmp_path / "run-1").iterdir())
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content[::-1])
        return original(*arguments)

    monkeypatch.setattr(window_folds, "align_window", replace)
    with pytest.raises(rf.errors.FileChanged, match=r"runs\.refresh"):
        runs.reduce(align="union", lax_tags=True)


@pytest.mark.parametrize("x", ["step", "wall_time", "relative"])
def test_windows_decode_only_parts_of_the_files(
    tmp_path: Path, tiny: dict[str, int], monkeypatch: pytest.MonkeyPatch, x: str
) -> None:
    for run in range(3):
        for file in range(2):
            start = 1000 * file
            points = [(start + 2 * step + run % 2, step * 0.1) for step in range(400)]

            def add(buffer: EventBuffer, points: Any = points, run: int = run) -> None:
                for step, value in points:
                    buffer.scalar_double("a", value, step, 1e9 + run + step)
                    if step % 3 == 0:
                        buffer.scalar_double("b", -value, step, 1e9 + run + step)

            write(tmp_path / f"run-{run}", add, number=file + 1)
    monkeypatch.setattr(stretches, "_SMALL", 1000)
    monkeypatch.setattr(bulk_read, "_SMALLEST_READ", 1000)
    tiny["room"] = 10_000
    original = point_cache.decode_stretches
    read: list[int] = []

    def decode(parts: Any) -> Any:
        read.extend(end - start for _, _, start, end in parts)
        return original(parts)

    monkeypatch.setattr(stretches, "decode_stretches", decode)
    chosen = {"align": "interpolate", "x": x, "ops": "mean,std"}
    expected = fold(rf.open(tmp_path), chosen)
    assert fold(rf.open(tmp_path, limit_memory=LIMIT), chosen) == expected
    size = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert tiny["windows"] > 10
    # Two neighbors per window, and windows begin between two positions.
    assert size < sum(read) < tiny["windows"] * size / 2


def test_steps_that_are_equal_as_floats_are_not_divided(
    tmp_path: Path, tiny: dict[str, int]
) -> None:
    for run in range(2):
        steps = [0, 2**60 + run, 2**60 + 2 + run, 2**60 + 4 + run]
        write(tmp_path / f"run-{run}", scalars("a", *((step, step % 7) for step in steps)))
    with pytest.raises(NotEnoughMemory, match="Tag 'a'"):
        rf.open(tmp_path, limit_memory=LIMIT).reduce(align="interpolate")
    chosen = {"align": "nearest"}
    assert fold(rf.open(tmp_path, limit_memory=LIMIT), chosen) == fold(rf.open(tmp_path), chosen)


def test_progress_counts_every_curve(tmp_path: Path, tiny: dict[str, int]) -> None:
    write_long_runs(tmp_path, 40, runs=2)
    with warnings.catch_warnings(action="ignore"):
        reduced = rf.open(tmp_path, limit_memory=LIMIT).reduce(by="run", align="union")
    assert [list(group.curves) for group in reduced.groups.values()] == [["a", "b", "short"]] * 2
