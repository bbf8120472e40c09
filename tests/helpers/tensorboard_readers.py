"""What real TensorBoard makes of a logdir: its two readers, and its pages above either."""

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
    """TensorBoard's data provider over its Python reader, or over its data server in Rust.

    It keeps so many points of a series as a sample, or all.
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
    """The points of a series as (step, wall_time, value)."""
    found = source.read_scalars(
        context.RequestContext(),
        experiment_id="",
        plugin_name="scalars",
        downsample=1_000_000,
        run_tag_filter=RunTagFilter(runs=[run], tags=[tag]),
    )
    return [(one.step, one.wall_time, one.value) for one in found.get(run, {}).get(tag, [])]


def read_everything(source: Any) -> dict[tuple[str, ...], list[Any]]:
    """What every plugin is given, by plugin, class of data, run and tag: metadata and values."""
    asked: dict[str, Any] = {"ctx": context.RequestContext(), "experiment_id": ""}
    found: dict[tuple[str, ...], list[Any]] = {}
    for plugin in source.list_plugins(**asked):
        for data in ("scalars", "tensors", "blob_sequences"):
            listed = getattr(source, f"list_{data}")(**asked, plugin_name=plugin)
            read = getattr(source, f"read_{data}")(**asked, plugin_name=plugin, downsample=1000)
            for run, tags in listed.items():
                for tag, said in tags.items():
                    points = [_read_point(source, one) for one in read[run][tag]]
                    told = (said.plugin_content, said.display_name, said.description)
                    found[plugin, data, run, tag] = [told, *points]
    return found


def _read_point(source: Any, point: Any) -> tuple[Any, ...]:
    if hasattr(point, "values"):  # references to blobs
        blobs = [
            source.read_blob(context.RequestContext(), blob_key=one.blob_key)
            for one in point.values
        ]
        return point.step, point.wall_time, blobs
    value = point.value if hasattr(point, "value") else point.numpy
    array = np.asarray(value)
    return point.step, repr(point.wall_time), str(array.dtype), array.shape, repr(array.tolist())


def page(plugin: type, source: Any) -> Any:
    """A plugin of TensorBoard, with the scalars plugin beside it, over a data provider."""
    plugins: dict[str, Any] = {}
    around = base_plugin.TBContext(data_provider=source, logdir="", plugin_name_to_instance=plugins)
    plugins["scalars"] = ScalarsPlugin(around)
    return plugin(around)
