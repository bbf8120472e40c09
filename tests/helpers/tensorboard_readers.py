"""Logdirs as TensorBoard reads them: with its two readers, and with its plugins over either."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard import context
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.data.provider import RunTagFilter
from tensorboard.plugins import base_plugin
from tensorboard.plugins.scalar.scalars_plugin import ScalarsPlugin

from benchmarks.server import data_server

READERS = ["python", "rust"]


@contextmanager
def provider(reader: str, logdir: Path, samples: int | None = None) -> Iterator[Any]:
    """Yield TensorBoard's data provider over its Python reader, or over its Rust data server.

    The provider samples `samples` points per series; by default, it keeps all of them.
    """
    if reader == "rust":
        with data_server()(logdir, f"scalars={samples or 'all'}") as server:
            yield server.provider
    else:
        multiplexer = EventMultiplexer(tensor_size_guidance={"scalars": samples or 0})
        multiplexer.AddRunsFromDirectory(str(logdir))
        multiplexer.Reload()
        yield MultiplexerDataProvider(multiplexer, str(logdir))


def read_scalars(source: Any, run: str, tag: str) -> list[tuple[int, float, float]]:
    """Return the points of a series as (step, wall_time, value)."""
    series = source.read_scalars(
        context.RequestContext(),
        experiment_id="",
        plugin_name="scalars",
        downsample=1_000_000,
        run_tag_filter=RunTagFilter(runs=[run], tags=[tag]),
    )
    return [
        (point.step, point.wall_time, point.value) for point in series.get(run, {}).get(tag, [])
    ]


def read_everything(source: Any) -> dict[tuple[str, ...], list[Any]]:
    """Return the data for every plugin, by plugin, data class, run and tag: metadata and values."""
    request: dict[str, Any] = {"ctx": context.RequestContext(), "experiment_id": ""}
    everything: dict[tuple[str, ...], list[Any]] = {}
    for plugin in source.list_plugins(**request):
        for data in ("scalars", "tensors", "blob_sequences"):
            listed = getattr(source, f"list_{data}")(**request, plugin_name=plugin)
            read = getattr(source, f"read_{data}")(**request, plugin_name=plugin, downsample=1000)
            for run, tags in listed.items():
                for tag, metadata in tags.items():
                    points = [_read_point(source, point) for point in read[run][tag]]
                    description = (
                        metadata.plugin_content,
                        metadata.display_name,
                        metadata.description,
                    )
                    everything[plugin, data, run, tag] = [description, *points]
    return everything


def _read_point(source: Any, point: Any) -> tuple[Any, ...]:
    if hasattr(point, "values"):  # references to blobs
        blobs = [
            source.read_blob(context.RequestContext(), blob_key=blob.blob_key)
            for blob in point.values
        ]
        return point.step, point.wall_time, blobs
    value = point.value if hasattr(point, "value") else point.numpy
    array = np.asarray(value)
    return point.step, repr(point.wall_time), str(array.dtype), array.shape, repr(array.tolist())


def page(plugin: type, source: Any) -> Any:
    """Return a TensorBoard plugin over a data provider, together with the scalars plugin."""
    plugins: dict[str, Any] = {}
    around = base_plugin.TBContext(data_provider=source, logdir="", plugin_name_to_instance=plugins)
    plugins["scalars"] = ScalarsPlugin(around)
    return plugin(around)
