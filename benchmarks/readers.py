"""Every scalar of a log as NumPy arrays: one function per reader.

Each function imports its package, so that imports are not measured, and returns the
call to measure.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.readings import Columns, Read, Reading, Series
from benchmarks.server import data_server

EVERYTHING = 1 << 40


def read_with_runfold() -> Read:
    """`rf.open` and the arrays of each series. Both checksums of every record are verified."""
    import runfold as rf

    open_runs = rf.open

    def read(logdir: Path) -> Reading:
        runs = open_runs(logdir, progress=False).load()
        series: Series = {}
        for name, run in runs.items():
            for tag in run:
                points = run[tag]
                series[name, tag] = (points.steps, points.wall_times, points.values)
        return Reading(series)

    return read


def read_with_event_accumulator() -> Read:
    """TensorBoard's EventAccumulator, one run at a time, with nothing discarded."""
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.util import tensor_util

    def value_of(event: Any) -> float:
        return float(tensor_util.make_ndarray(event.tensor_proto).item())

    def read(logdir: Path) -> Reading:
        series: Series = {}
        for run in sorted(logdir.iterdir()):
            accumulator = event_accumulator.EventAccumulator(
                str(run), event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE
            )
            accumulator.Reload()
            tags = accumulator.Tags()
            for tag in tags["scalars"]:
                series[run.name, tag] = _columns(accumulator.Scalars(tag))
            for tag in tags["tensors"]:
                events = accumulator.Tensors(tag)
                steps, wall_times, _ = _columns(events, with_values=False)
                values = np.fromiter(map(value_of, events), np.float64, len(events))
                series[run.name, tag] = (steps, wall_times, values)
        return Reading(series)

    return read


def read_with_tbparse() -> Read:
    """The SummaryReader from tbparse, restricted to scalars."""
    from tbparse import SummaryReader

    def read(logdir: Path) -> Reading:
        # tbparse treats scalars from TensorFlow 2 as tensors.
        reader = SummaryReader(
            str(logdir),
            extra_columns={"dir_name", "wall_time"},
            event_types={"scalars", "tensors"},
        )
        series: Series = {}
        for frame in (reader.scalars, reader.tensors):
            if frame.empty:
                continue
            for key, rows in frame.groupby(["dir_name", "tag"], sort=False):
                series[key] = (
                    rows["step"].to_numpy(np.int64),
                    rows["wall_time"].to_numpy(np.float64),
                    rows["value"].to_numpy(np.float64),
                )
        return Reading(series)

    return read


def read_with_tensorboard_reducer() -> Read:
    """The loader from tensorboard-reducer, which drops wall times and most of a long series."""
    from tensorboard_reducer import load_tb_events

    def read(logdir: Path) -> Reading:
        runs = sorted(logdir.iterdir())
        series: Series = {}
        for tag, frame in load_tb_events([str(run) for run in runs]).items():
            for number, run in enumerate(runs):
                column = frame.iloc[:, number].dropna()
                series[run.name, tag] = (column.index.to_numpy(), None, column.to_numpy())
        return Reading(series)

    return read


def read_with_data_server() -> Read:
    """TensorBoard's Rust data server and its data provider, with sampling off.

    By default, the server does not verify the checksums of records that parse.
    """
    from tensorboard import context

    start = data_server()

    def read(logdir: Path) -> Reading:
        with start(logdir, "scalars=all") as server:
            scalars = server.provider.read_scalars(
                context.RequestContext(),
                experiment_id="",
                plugin_name="scalars",
                downsample=EVERYTHING,
            )
            series = {
                (run, tag): _columns(points)
                for run, tags in scalars.items()
                for tag, points in tags.items()
            }
            return Reading(series, server.peak())

    return read


def _columns(points: Any, with_values: bool = True) -> Columns:
    count = len(points)
    return (
        np.fromiter((point.step for point in points), np.int64, count),
        np.fromiter((point.wall_time for point in points), np.float64, count),
        np.fromiter((point.value for point in points), np.float64, count) if with_values else None,
    )
