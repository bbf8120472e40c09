"""One table for each kind of data that is not a scalar."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.core.event import Form
from runfold.events.kinds import (
    audio,
    embedding,
    graph,
    image,
    layout,
    mesh,
    pr_curve,
    run_metadata,
    tensor,
    text,
)
from runfold.events.kinds.value import plugin_content, plugin_of
from runfold.events.problems import Code, Problem
from runfold.events.wire import grow
from runfold.tables.rows import Row, Stored, decode_rows, fetched, frame, objects, places, row_of
from runfold.tables.scalars import categories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas as pd

    from runfold.logdir.log import Payloads, RunLog

    Selected = Iterable[tuple[RunLog, Payloads]]


def text_frame(selected: Selected) -> pd.DataFrame:
    """One row a text: a str, or an array of str where the writer logged several."""
    rows = list(decode_rows(fetched(selected), text.decode))
    return frame(rows, {"text": [row.value for row in rows]})


def tensor_frame(selected: Selected) -> pd.DataFrame:
    """One row a tensor, with its array."""
    rows = list(decode_rows(fetched(selected), tensor.decode))
    return frame(rows, {"value": [row.value for row in rows]})


def pr_curve_frame(selected: Selected) -> pd.DataFrame:
    """One row a curve, with an array for each of its lines."""
    rows = list(decode_rows(fetched(selected), pr_curve.decode))
    names = (
        "thresholds",
        "precision",
        "recall",
        "true_positives",
        "false_positives",
        "true_negatives",
        "false_negatives",
    )
    return frame(rows, {name: [getattr(row.value, name) for row in rows] for name in names})


def layout_frame(selected: Selected) -> pd.DataFrame:
    """One row a custom scalars layout."""
    rows = list(decode_rows(fetched(selected), layout.decode))
    return frame(rows, {"layout": [row.value for row in rows]})


def image_frame(selected: Selected) -> pd.DataFrame:
    """One row an image; its bytes are read when `image.data` or `image.pil()` is asked for."""
    rows: list[Row[tuple[int, image.Image]]] = []
    for place, head in _heads(selected, image.locate):
        for number, (start, length) in enumerate(head.blobs):
            load = partial(_read_blob, place, start, length)
            rows.append(row_of(place, (number, image.Image(head.width, head.height, load))))
    return frame(
        rows,
        {
            "index": np.array([row.value[0] for row in rows], np.int64),
            "width": np.array([row.value[1].width for row in rows], np.int64),
            "height": np.array([row.value[1].height for row in rows], np.int64),
            "image": [row.value[1] for row in rows],
        },
    )


def audio_frame(selected: Selected) -> pd.DataFrame:
    """One row a clip; its bytes are read when `audio.data` or `audio.wave()` is asked for."""
    rows: list[Row[tuple[int, audio.Audio]]] = []
    for place, clips in _heads(selected, audio.locate):
        for number, clip in enumerate(clips):
            load = partial(_read_blob, place, clip.start, clip.length)
            rows.append(row_of(place, (number, audio.Audio(clip, load))))
    names = ("sample_rate", "channels", "length_frames", "content_type", "label")
    return frame(
        rows,
        {
            "index": np.array([row.value[0] for row in rows], np.int64),
            **{name: [getattr(row.value[1], name) for row in rows] for name in names},
            "audio": [row.value[1] for row in rows],
        },
    )


def mesh_frame(selected: Selected) -> pd.DataFrame:
    """One row a mesh, put together from the tags that hold its parts."""
    parts: dict[tuple[str, str, int], list[tuple[Stored, Row[mesh.MeshPart]]]] = {}
    for place, data in fetched(selected):
        content = plugin_content(place.log.metadata(place.payloads.tag) or b"")
        for row in decode_rows([(place, data)], partial(mesh.decode, content=content)):
            parts.setdefault((row.run, row.value.name, row.step), []).append((place, row))
    rows: list[Row[mesh.Mesh]] = []
    for found in parts.values():
        place, row = found[0]
        try:
            whole = mesh.combine(part.value for _, part in found)
        except ValueError as error:
            place.note(str(error))
            continue
        rows.append(Row(row.run, whole.name, row.step, row.wall_time, whole))
    names = ("vertices", "faces", "colors", "config")
    return frame(rows, {name: [getattr(row.value, name) for row in rows] for name in names})


def graph_frame(selected: Selected) -> pd.DataFrame:
    """One row a graph."""
    rows: list[Row[graph.Graph]] = []
    for place, data in fetched(selected):
        form = int(place.item["form"])
        if form == Form.GRAPH:
            decode: Callable[[bytes], graph.Graph] = graph.decode
        elif form == Form.META_GRAPH:
            decode = graph.decode_meta
        else:
            plugin = plugin_of(place.log.metadata(place.payloads.tag) or b"")
            decode = partial(graph.decode_value, plugin=plugin)
        rows += decode_rows([(place, data)], decode)
    return frame(
        rows,
        {
            "nodes": np.array([len(row.value) for row in rows], np.int64),
            "graph": [row.value for row in rows],
        },
    )


def run_metadata_frame(selected: Selected) -> pd.DataFrame:
    """One row a RunMetadata, as profilers of TensorFlow store it."""
    rows: list[Row[run_metadata.RunMetadata]] = []
    for place, data in fetched(selected):
        if int(place.item["form"]) == Form.RUN_METADATA:
            decode: Callable[[bytes], run_metadata.RunMetadata] = run_metadata.decode
        else:
            decode = run_metadata.decode_value
        rows += decode_rows([(place, data)], decode)
    return frame(rows, {"metadata": [row.value for row in rows]})


def embedding_frame(logs: Sequence[RunLog]) -> pd.DataFrame:
    """One row an embedding that a run's projector configuration names."""
    import pandas as pd

    found = [(log.name, one) for log in logs for one in embeddings_of(log)]
    names = ("tensor_path", "tensor_shape", "metadata_path", "sprite_path")
    return pd.DataFrame(
        {
            "run": categories([run for run, _ in found], [1] * len(found)),
            "tag": categories([one.name for _, one in found], [1] * len(found)),
            **{name: objects([getattr(one, name) for _, one in found]) for name in names},
            "embedding": objects([one for _, one in found]),
        }
    )


def embeddings_of(log: RunLog) -> list[embedding.StoredEmbedding]:
    """The embeddings of one run; a configuration that does not parse is noted."""
    if log.config is None:
        return []
    try:
        return embedding.read_config(log.config)
    except ValueError as error:
        log.note(Problem.of(Code.BAD_VALUE, log.config, detail=str(error)))
        return []


def _heads(selected: Selected, locate: Callable[[Any, int], Any]) -> Iterator[tuple[Stored, Any]]:
    """Read as little of large values as tells where their content lies."""
    for place in places(selected):
        item = place.item

        def read(size: int, place: Stored = place, item: np.void = item) -> bytes:
            return next(place.file.fetch_head([item], size))

        try:
            yield place, grow(locate, read, int(item["length"]))
        except ValueError as error:
            place.note(str(error))


def _read_blob(place: Stored, start: int, length: int) -> bytes:
    return place.read()[start : start + length]
