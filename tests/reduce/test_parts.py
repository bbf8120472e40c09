"""Long curves are reduced in parts, with results that are the same to the last bit."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.logs import hparams, scalars, write
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._export import fold_events
from runfold._reduce import align as alignment
from runfold._reduce import operations, sample
from runfold._reduce.operations import fold, parse
from runfold._reduce.sample import Sample

NAMES = "mean,std,var,sem,min,max,median,sum,count,iqm,q05,q97.5,ci95,ci90-t,ci95-iqm,ptp,nanmedian"
# A third of the values has another magnitude, so that the order of additions matters.
NUMBERS = st.floats(-1, 1) | st.floats(-1e9, 1e9) | st.sampled_from([np.inf, -np.inf, 0.0, -0.0])


@st.composite
def samples(draw):
    shape = draw(st.integers(1, 20)), draw(st.integers(1, 60))
    seed, nans, missing = (draw(st.integers(0, n)) for n in (2**32 - 1, 3, 3))
    random = np.random.default_rng(seed)
    values = random.normal(size=shape) * 10.0 ** random.integers(-9, 9, shape)
    values = values.round(draw(st.integers(-9, 9)))
    odd = draw(arrays.arrays(np.float64, draw(st.integers(0, 9)), elements=NUMBERS))
    values.flat[random.integers(0, values.size, len(odd))] = odd
    values[random.random(shape) < nans / 9] = np.nan
    present = None
    if missing:
        present = random.random(shape) > missing / 9
        values[~present] = np.nan
    order = draw(st.sampled_from("CF"))
    return np.asarray(values, order=order), present, draw(st.sampled_from(["skip", "propagate"]))


def bits(columns):
    return {name: (column.dtype, column.tobytes()) for name, column in columns.items()}


@given(samples(), st.integers(1, 80), st.integers(1, 4))
def test_statistics_do_not_depend_on_the_parts(case, block, blocks):
    values, present, nan = case
    statistics = parse([NAMES, lambda column: column.max()])
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):
        patch.setattr(sample, "_BLOCK", block)
        whole = operations._fold(Sample(values, present, nan), statistics)
        patch.setattr(sample, "_BLOCKS", blocks)
        assert bits(fold(Sample(values, present, nan), statistics)) == bits(whole)
        assert list(fold(Sample(values, present, nan), statistics)) == list(whole)


@given(st.integers(0, 300), st.integers(1, 40), st.integers(1, 80))
def test_parts_cover_all_steps_and_none_has_a_single_step(steps, runs, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "_BLOCK", block)
        parts = list(Sample(np.zeros((runs, steps))).split())
    assert [step for part in parts for step in range(steps)[part]] == list(range(steps))
    assert len(parts) == 1 or all(part.stop - part.start > 1 for part in parts)


def test_long_curves_have_several_parts():
    assert len(list(Sample(np.zeros((1, 5_000_000))).split())) == 5
    assert len(list(Sample(np.zeros((100, 10_000))).split())) == 1


def write_runs(folder: Path) -> None:
    """Write runs with restarts, NaN, duplicates, unsorted steps, and other steps and tags."""
    random = np.random.default_rng(0)
    for number in range(6):
        steps = np.arange(0, 90, 1 + number % 2)
        values = random.normal(size=len(steps)) * 1e3 ** random.integers(-2, 3, len(steps))
        values[random.random(len(steps)) < 0.1] = np.nan
        points = list(zip(steps.tolist(), values.tolist(), strict=True))
        if number == 1:
            points = points[::-1]
        if number == 2:
            points = points[:20] + points[15:] + points[-1:]
        times = None if number == 3 else 1e9

        def restart(buffer: EventBuffer, values=values, times=times) -> None:
            if times:
                buffer.session_start(70, times)
            for step in range(70, 80):
                buffer.scalar_double("loss", values[step - 70], step, times or np.nan)

        other = [] if number == 4 else [scalars("accuracy", *points[::2])]
        settings = hparams(lr=[0.1, 0.01][number // 3])
        write(folder / f"run-{number}", settings, scalars("loss", *points), restart, *other)


OPTIONS = [
    {"ops": NAMES},
    {"by": "lr"},
    {"by": "run"},
    {"align": "interpolate", "ops": "mean,ci95-iqm"},
    {"align": "union", "min_runs": 3},
    {"align": "intersection"},
    {"align": "ffill", "nan": "propagate"},
    {"bins": 13},
    {"duplicates": "mean"},
    {"duplicates": "first", "by": "lr"},
    {"x": "wall_time"},
    {"x": "relative", "by": "run"},
    {"x": "accuracy", "align": "union"},
]


def reduce(runs: rf.Runs, out: Path, options: dict) -> dict:
    """Return all numbers of a reduction, and the bytes of the files that it is written to."""
    options = {"lax_tags": True, "align": "auto", "duplicates": "last"} | options
    if "bins" in options:
        del options["align"]
    with warnings.catch_warnings(action="ignore"):
        reduced = runs.reduce(**options)
        if options.get("x") != "accuracy":
            reduced.to_tensorboard(f"{out}/events/", float64=True)
    reduced.save(out / "table.csv")
    reduced.save(out / "table.parquet")
    files = {
        path.relative_to(out).parent / path.name.split(".")[0]: path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    }
    curves = {
        (group.name, tag): bits(
            {"x": curve.x, "time": curve.wall_times, "runs": curve.counts} | curve.statistics
        )
        for group in reduced.groups.values()
        for tag, curve in group.curves.items()
    }
    return {"files": files, "curves": curves, "text": (reduced.left_out, reduced.remarks)}


@pytest.mark.parametrize("restarts", ["session", "step", "keep"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_reduce_does_not_depend_on_the_parts(options, restarts, tmp_path, monkeypatch):
    write_runs(tmp_path / "runs")
    runs = rf.open(tmp_path / "runs", restarts=restarts)
    monkeypatch.setattr(sample, "_BLOCK", 24)
    monkeypatch.setattr(sample, "_BLOCKS", 1000)
    whole = reduce(runs, tmp_path / "whole", options)
    assert whole["curves"]
    monkeypatch.setattr(sample, "_BLOCKS", 1)
    monkeypatch.setattr(alignment, "_BLOCK", 5)
    monkeypatch.setattr(fold_events, "_STEPS", 3)
    assert reduce(runs, tmp_path / "parts", options) == whole
