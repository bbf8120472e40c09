"""Listings of a log with images and histograms, by reader, in the style of `readers`.

The listings cover the tags of images and histograms. A listing has the step and wall time of
every value; only `decode_with_runfold` and the EventAccumulator also read the
values.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.readings import Read, Reading, Series
from benchmarks.server import data_server


def list_with_runfold() -> Read:
    """The data of `runfold ls`: every value indexed, with both checksums verified."""
    from runfold._logdir.loader import Logdir
    from runfold._tables.by_run.listing import list_run

    def read(logdir: Path) -> Reading:
        logdir_runs = Logdir(logdir, progress=False)
        logdir_runs.load()
        for log in logdir_runs.logs.values():
            list_run(log)
        return Reading(
            {
                (log.name, tag): (payloads.steps, payloads.wall_times, None)
                for log in logdir_runs.logs.values()
                for (_, tag), payloads in log.payloads.items()
            }
        )

    return read


def decode_with_runfold() -> Read:
    """All images and histograms in DataFrames, and the bytes of every image."""
    import pandas as pd

    import runfold as rf
    from runfold._tables.frames import kind_frames

    open_runs = rf.open
    del kind_frames

    def columns(frame: pd.DataFrame, values: Iterable[Any]) -> Series:
        frame = frame.assign(compared=_objects(values))
        return {
            (str(run), str(tag)): (
                rows["step"].to_numpy(),
                rows["wall_time"].to_numpy(),
                rows["compared"].to_numpy(),
            )
            for (run, tag), rows in frame.groupby(["run", "tag"], observed=True, sort=False)
        }

    def read(logdir: Path) -> Reading:
        runs = open_runs(logdir, progress=False)
        images, histograms = runs.images(), runs.histograms()
        encoded = [image.data for image in images["image"]]

        def complete() -> Series:
            totals = histograms[["min", "max", "num", "sum", "sum_squares"]].to_numpy()
            buckets = zip(totals, histograms["counts"], histograms["right"], strict=True)
            return columns(images, encoded) | columns(
                histograms, (_histogram(*row) for row in buckets)
            )

        return Reading({}, complete=complete)

    return read


def list_with_event_accumulator() -> Read:
    """TensorBoard's EventAccumulator with nothing discarded; it always reads the values."""
    from tensorboard.backend.event_processing import event_accumulator

    def histogram(event: Any) -> bytes:
        stored = event.histogram_value
        totals = (stored.min, stored.max, stored.num, stored.sum, stored.sum_squares)
        return _histogram(totals, stored.bucket, stored.bucket_limit)

    def read(logdir: Path) -> Reading:
        images: dict[tuple[str, str], Any] = {}
        histograms: dict[tuple[str, str], Any] = {}
        for run in sorted(logdir.iterdir()):
            accumulator = event_accumulator.EventAccumulator(
                str(run), event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE
            )
            accumulator.Reload()
            tags = accumulator.Tags()
            images |= {(run.name, tag): accumulator.Images(tag) for tag in tags["images"]}
            for tag in tags["histograms"]:
                histograms[run.name, tag] = accumulator.Histograms(tag)

        def complete() -> Series:
            encoded = {
                key: (*_positions(events), _objects(event.encoded_image_string for event in events))
                for key, events in images.items()
            }
            return encoded | {
                key: (*_positions(events), _objects(map(histogram, events)))
                for key, events in histograms.items()
            }

        return Reading({}, complete=complete)

    return read


def list_with_data_server() -> Read:
    """TensorBoard's Rust data server and its data provider, with sampling off.

    Its listing has the last step and wall time of each tag.
    """
    from tensorboard import context

    start = data_server()

    def read(logdir: Path) -> Reading:
        with start(logdir, "images=all,histograms=all") as server:
            ask = {"ctx": context.RequestContext(), "experiment_id": ""}
            series: Series = {}
            for listing in (
                server.provider.list_blob_sequences(**ask, plugin_name="images"),
                server.provider.list_tensors(**ask, plugin_name="histograms"),
            ):
                for run, tags in listing.items():
                    for tag, last in tags.items():
                        position = np.array([last.max_step]), np.array([last.max_wall_time])
                        series[run, tag] = (*position, None)
            return Reading(series, server.peak())

    return read


def _positions(events: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    steps = np.array([event.step for event in events], np.int64)
    return steps, np.array([event.wall_time for event in events], np.float64)


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    return np.array(list(values), dtype=object)


def _histogram(totals: Iterable[float], counts: Any, right_edges: Any) -> bytes:
    """Return the numbers of a histogram that are the same for every reader.

    The last right edge is not included, because Runfold returns the largest value
    seen.
    """
    numbers = np.concatenate([list(totals), counts, right_edges[:-1]])
    return numbers.astype(np.float64).tobytes()
