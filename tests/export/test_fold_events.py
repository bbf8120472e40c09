"""A fold as event files: TensorBoard's readers and Runfold's read back every number."""

import os
from pathlib import Path

import numpy as np
import pytest
from helpers.folds import START, curve, fold, group, learning_rates, noisy
from helpers.tensorboard_readers import READERS, provider, read_scalars
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import runfold as rf
from runfold._conventions import REDUCED_SUFFIX
from runfold._core.encoder import EventBuffer
from runfold._export import fold_events
from runfold._export.fold_events import write_event_files, write_file
from runfold.errors import CannotFold

FLOATS = arrays.arrays(np.float64, 5, elements=st.floats())


def accumulate(folder: Path, *parts: str) -> EventAccumulator:
    return EventAccumulator(os.path.join(folder, *parts), {"scalars": 0, "tensors": 0}).Reload()


def points(events: list) -> tuple[list[int], list[float]]:
    return [event.step for event in events], [event.wall_time for event in events]


def files_below(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder).parent): path.name
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_each_statistic_is_a_folder_with_one_run_per_group(tmp_path):
    made = write_event_files(learning_rates("loss"), tmp_path / "fold")
    assert made == [str(tmp_path / f"fold-{part}") for part in ("mean", "std", "band")]
    found = files_below(tmp_path)
    assert list(found) == [
        f"fold-{part}/lr={rate}" for part in ("band", "mean", "std") for rate in (0.01, 0.1)
    ]
    for name in found.values():
        assert name.startswith("events.out.tfevents.")
        assert name.endswith(REDUCED_SUFFIX)


@pytest.mark.parametrize("out", ["fold/", "fold/.", "fold/deep/.."])
def test_a_path_with_a_slash_contains_the_statistics(out, tmp_path):
    (tmp_path / "fold" / "deep").mkdir(parents=True)
    made = write_event_files(fold(group(noisy("loss"))), f"{tmp_path}/{out}")
    assert [os.path.relpath(folder, tmp_path) for folder in made] == [
        "fold/mean",
        "fold/std",
        "fold/band",
    ]
    assert set(files_below(tmp_path)) == {"fold/mean", "fold/std", "fold/band"}


@given(mean=FLOATS, std=FLOATS)
def test_tensorboard_reads_the_same_float32(mean, std, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fold")
    given = curve("loss", np.arange(5), mean=mean, std=std)
    write_event_files(fold(group(given)), f"{folder}/")
    with np.errstate(over="ignore", invalid="ignore"):
        for name, expected in given.statistics.items():
            events = accumulate(folder, name).Scalars("loss")
            assert points(events) == (given.x.tolist(), given.wall_times.tolist())
            read = np.array([event.value for event in events])
            np.testing.assert_array_equal(read.astype(np.float32), expected.astype(np.float32))


@given(mean=FLOATS)
def test_with_float64_runfold_reads_float64_and_tensorboard_float32(mean, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fold")
    write_event_files(
        fold(group(curve("loss", np.arange(5), mean=mean))), f"{folder}/", float64=True
    )
    np.testing.assert_array_equal(rf.open(folder)["mean"]["loss"].values, mean)
    read = [event.value for event in accumulate(folder, "mean").Scalars("loss")]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(read, mean.astype(np.float32))


@pytest.mark.parametrize("reader", READERS)
def test_neither_reader_of_tensorboard_loses_a_point(reader, tmp_path):
    tags = ["val/loss", "train/loss (mean)", "größe"]
    folded = learning_rates(*tags, count=3000)
    write_event_files(folded, tmp_path / "fold")
    with provider(reader, tmp_path) as source:
        for name, each in folded.groups.items():
            for curve in each.curves.values():
                for statistic, numbers in curve.statistics.items():
                    read = read_scalars(source, f"fold-{statistic}/{name}", curve.tag)
                    columns = zip(
                        curve.x, curve.wall_times, numbers.astype(np.float32), strict=True
                    )
                    assert read == list(columns)


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
@pytest.mark.parametrize("float64", [False, True])
def test_long_curves_are_written_in_parts_with_the_same_bytes(
    steps, float64, tmp_path, monkeypatch
):
    folded = learning_rates("train/loss", "val/loss", count=40)
    whole = write_event_files(folded, f"{tmp_path}/whole/", float64=float64)
    monkeypatch.setattr(fold_events, "_STEPS", steps)
    parts = write_event_files(folded, f"{tmp_path}/parts/", float64=float64)
    assert read_files(parts) == read_files(whole)
    assert len(read_files(whole)) == 6


def read_files(folders: list[str]) -> list[bytes]:
    return [
        file.read_bytes() for name in folders for file in sorted(Path(name).rglob("*tfevents*"))
    ]


def test_runfold_reads_back_all_digits(tmp_path):
    folded = learning_rates("val/loss")
    write_event_files(folded, tmp_path / "fold", float64=True)
    runs = rf.open(tmp_path)
    for name, each in folded.groups.items():
        for statistic, numbers in each.curves["val/loss"].statistics.items():
            series = runs[f"fold-{statistic}/{name}"]["val/loss"]
            np.testing.assert_array_equal(series.values, numbers)
            np.testing.assert_array_equal(series.steps, each.curves["val/loss"].x)
    assert not runs.problems().size


@pytest.mark.parametrize("reader", READERS)
def test_steps_are_exact_over_all_of_int64(reader, tmp_path):
    steps = np.array([-(2**63), -1, 0, 2**53 + 1, 2**63 - 1])
    write_event_files(fold(group(curve("loss", steps, mean=steps))), f"{tmp_path}/")
    with provider(reader, tmp_path) as source:
        assert [point[0] for point in read_scalars(source, "mean", "loss")] == steps.tolist()


@pytest.mark.parametrize("reader", READERS)
def test_unknown_wall_times_are_taken_from_the_previous_point(reader, tmp_path):
    times = [np.nan, np.inf, 20.0, np.nan, 30.0, -np.inf]
    given = curve("loss", np.arange(6), times, mean=np.zeros(6))
    write_event_files(fold(group(given)), f"{tmp_path}/")
    with provider(reader, tmp_path) as source:
        read = [point[1] for point in read_scalars(source, "mean", "loss")]
    assert read == [20.0, 20.0, 20.0, 20.0, 30.0, 30.0]


def test_a_curve_without_any_wall_time_and_one_without_points_are_written(tmp_path):
    unknown = curve("loss", np.arange(3), [np.nan] * 3, mean=np.arange(3))
    empty = curve("empty", np.arange(0), mean=[])
    write_event_files(fold(group(unknown, empty)), f"{tmp_path}/")
    log = accumulate(tmp_path, "mean")
    assert log.Tags()["scalars"] == ["loss"]
    steps, times = points(log.Scalars("loss"))
    assert steps == [0, 1, 2]
    assert np.isfinite(times).all()


def test_wall_time_as_x_is_the_wall_time_of_numbered_points(tmp_path):
    x = START + np.array([0.25, 7.0, 9.5])
    write_event_files(fold(group(curve("loss", x, mean=x)), x="wall_time"), f"{tmp_path}/")
    assert points(accumulate(tmp_path, "mean").Scalars("loss")) == ([0, 1, 2], x.tolist())


@pytest.mark.parametrize("first", [0, 2])
def test_relative_time_is_the_same_in_tensorboard(first, tmp_path):
    x = np.array([0.0, 1.5, 2.0, 10.0])
    times = START + x
    times[:first] = np.nan
    given = curve("loss", x, times, mean=x)
    write_event_files(fold(group(given), x="relative"), f"{tmp_path}/")
    steps, read = points(accumulate(tmp_path, "mean").Scalars("loss"))
    assert steps == [0, 1, 2, 3]
    assert np.array_equal(np.array(read) - read[0], x)
    assert read[0] == START


def test_another_tag_as_x_gives_steps(tmp_path):
    x = np.array([0.0, 127.9999, 256.0, 2.0**60])
    write_event_files(fold(group(curve("loss", x, mean=x)), x="samples"), f"{tmp_path}/")
    steps, _ = points(accumulate(tmp_path, "mean").Scalars("loss"))
    assert steps == [0, 128, 256, 2**60]


@pytest.mark.parametrize("x", [[0.1, 0.2], [1.0, np.nan], [0.0, 2.0**63], [0.0, np.inf]], ids=str)
def test_an_x_without_valid_steps_is_rejected_before_writing(x, tmp_path):
    folded = fold(group(curve("loss", x, mean=x)), x="epoch")
    with pytest.raises(CannotFold, match="'loss' was folded at values of 'epoch' that"):
        write_event_files(folded, tmp_path / "fold")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_tag_by_tag(tmp_path):
    sizes = []

    def pieces():
        events = EventBuffer()
        for tag in "abc":
            events.scalar(tag, 1.0, 0, START)
            yield events
            events.clear()
            sizes.append((tmp_path / "run" / "tfevents").stat().st_size)

    write_file(str(tmp_path / "run"), "tfevents", pieces())
    assert sizes == [size * sizes[0] for size in (1, 2, 3)]
    assert list(rf.open(tmp_path)["run"]) == ["a", "b", "c"]


def test_bin_centers_along_a_tag_are_different_steps(tmp_path):
    x = np.arange(4) + 0.5
    write_event_files(fold(group(curve("loss", x, mean=x)), x="samples"), f"{tmp_path}/")
    assert rf.open(tmp_path)["mean"]["loss"].steps.tolist() == [1, 2, 3, 4]
