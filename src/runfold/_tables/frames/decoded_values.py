"""Stored values of all kinds except scalars, decoded one by one, without pandas.

A value that cannot be decoded is recorded in its run's problems and left out.
"""

from __future__ import annotations

from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._core.event import Form
from runfold._events.kinds import (
    KINDS,
    SCALAR,
    audio,
    boxes,
    embedding,
    graph,
    histogram,
    image,
    mesh,
    run_metadata,
    tensor,
)
from runfold._events.kinds.stored_value import plugin_content, plugin_of
from runfold._events.problems import Code, Problem
from runfold._events.wire import FIRST_LOOK, grow
from runfold._tables.frames.value_rows import (
    Row,
    Stored,
    decode_rows,
    fetched,
    noting_changes,
    row_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog

    Selected = Iterable[tuple[RunLog, Payloads]]

# Histograms decoded per call, to limit memory use.
_BATCH = 512


def histogram_rows(selected: Selected) -> Iterator[Row[histogram.Histogram]]:
    """Yield all histograms."""
    values = fetched(selected)
    while batch := list(islice(values, _BATCH)):
        histograms, errors = histogram.decode_many([data for _, data in batch])
        bad = dict(errors)
        for number, (stored, _) in enumerate(batch):
            if number in bad:
                stored.note(bad[number])
            else:
                yield row_of(stored, histograms[number])


def image_rows(selected: Selected) -> Iterator[Row[tuple[int, image.Image]]]:
    """Yield all images with their index within the stored value; pixels are read on demand."""
    for stored, number, picture in find_images(selected):
        yield row_of(stored, (number, picture))


def audio_rows(selected: Selected) -> Iterator[Row[tuple[int, audio.Audio]]]:
    """Yield all clips with their index within the stored value; samples are read on demand."""
    for stored, number, clip in find_clips(selected):
        yield row_of(stored, (number, clip))


def mesh_rows(selected: Selected) -> Iterator[Row[mesh.Mesh]]:
    """Yield all meshes, assembled from the tags of their parts; `tag` is the mesh's name."""
    parts: dict[tuple[str, str, int], list[tuple[Stored, Row[mesh.MeshPart]]]] = {}
    for stored, data in fetched(selected):
        content = plugin_content(stored.log.metadata(stored.payloads.tag) or b"")
        for row in decode_rows([(stored, data)], partial(mesh.decode, content=content)):
            parts.setdefault((row.run, row.value.name, row.step), []).append((stored, row))
    for pairs in parts.values():
        stored, row = pairs[0]
        try:
            whole = mesh.combine(part.value for _, part in pairs)
        except ValueError as error:
            stored.note(str(error))
            continue
        yield Row(row.run, whole.name, row.step, row.wall_time, whole)


def mesh_name(log: RunLog, payloads: Payloads) -> str:
    """Return the name of the mesh that a tag belongs to."""
    return mesh.name_of(payloads.tag, plugin_content(log.metadata(payloads.tag) or b""))


def _picture_tag(log: RunLog, payloads: Payloads) -> str:
    return boxes.tag_of(payloads.tag)


_NAMES = {"mesh": mesh_name, "boxes": _picture_tag}


def name_of(log: RunLog, payloads: Payloads) -> str:
    """Return the name of a tag's values in their table; for most kinds, the tag itself."""
    find_name = _NAMES.get(payloads.kind)
    return payloads.tag if find_name is None else find_name(log, payloads)


def graph_rows(selected: Selected) -> Iterator[Row[graph.Graph]]:
    """Yield all graphs."""
    for stored, data in fetched(selected):
        form = int(stored.item["form"])
        if form == Form.GRAPH:
            decode: Callable[[bytes], graph.Graph] = graph.decode
        elif form == Form.META_GRAPH:
            decode = graph.decode_meta
        else:
            plugin = plugin_of(stored.log.metadata(stored.payloads.tag) or b"")
            decode = partial(graph.decode_value, plugin=plugin)
        yield from decode_rows([(stored, data)], decode)


def boxes_rows(
    selected: Selected,
) -> Iterator[Row[tuple[boxes.Boxes, image.Image | None]]]:
    """Yield the boxes of each image, and the image without them; `tag` is the image's tag."""
    for log, payloads in selected:
        tag = boxes.tag_of(payloads.tag)
        images = log.payloads.get(("image", tag))
        pictures = [] if images is None else [(log, images.readable())]
        drawn = {stored.record: picture for stored, _, picture in find_images(pictures)}
        for stored, data in fetched([(log, payloads)]):
            for row in decode_rows([(stored, data)], boxes.decode):
                over = drawn.get(stored.record)
                bare = None if over is None else _restore(stored, over)
                yield Row(row.run, tag, row.step, row.wall_time, (row.value, bare))


def _restore(stored: Stored, drawn: image.Image) -> image.Image:
    def load() -> bytes:
        return boxes.restore(stored.read(), drawn.data)

    return image.Image(drawn.width, drawn.height, load)


def run_metadata_rows(selected: Selected) -> Iterator[Row[run_metadata.RunMetadata]]:
    """Yield all RunMetadata messages."""
    for stored, data in fetched(selected):
        is_event = int(stored.item["form"]) == Form.RUN_METADATA
        decode = run_metadata.decode if is_event else run_metadata.decode_value
        yield from decode_rows([(stored, data)], decode)


def tensor_rows(selected: Selected) -> Iterator[Row[np.ndarray]]:
    """Yield all tensors; those that only their plugin can read are counted as unknown instead."""
    for stored, data in fetched(selected):
        try:
            value = tensor.decode(data)
        except tensor.NoArray as error:
            if plugin := stored.log.foreign_plugin(stored.payloads.tag):
                late = plugin, stored.payloads.tag, int(stored.item["length"])
                stored.log.note_unknown(stored.file.path, int(stored.item["start"]), late)
            else:
                stored.note(str(error))
        except ValueError as error:
            stored.note(str(error))
        else:
            yield row_of(stored, value)


def _decode_each(kind: str, selected: Selected) -> Iterator[Row[Any]]:
    """Yield all values of a kind whose values can be decoded on their own."""
    return decode_rows(fetched(selected), KINDS[kind].module.decode)


# Kinds that need more than their module's `decode`.
_SPECIAL_ROWS: dict[str, Callable[[Selected], Iterator[Row[Any]]]] = {
    "histogram": histogram_rows,
    "image": image_rows,
    "audio": audio_rows,
    "tensor": tensor_rows,
    "mesh": mesh_rows,
    "graph": graph_rows,
    "run_metadata": run_metadata_rows,
    "boxes": boxes_rows,
}
# The decoders of all kinds in event files except scalars.
ROWS: dict[str, Callable[[Selected], Iterator[Row[Any]]]] = {
    kind.name: _SPECIAL_ROWS.get(kind.name) or partial(_decode_each, kind.name)
    for kind in KINDS.values()
    if kind.is_in_event_files and kind.name != SCALAR
}


def embeddings_of(log: RunLog) -> list[embedding.StoredEmbedding]:
    """Return the embeddings of a run; an invalid configuration is recorded as a problem."""
    try:
        return log.read_config()
    except ValueError as error:
        log.note(Problem.of(Code.BAD_VALUE, log.config or log.path, detail=str(error)))
        return []


def check_values(log: RunLog) -> None:
    """Decode every value of a run, to record a problem for each that cannot be decoded.

    In strict mode, raises BadLog at the first one.
    """
    by_kind: dict[str, list[tuple[RunLog, Payloads]]] = {}
    for (kind, _), payloads in log.payloads.items():
        by_kind.setdefault(kind, []).append((log, payloads))
    for kind, selected in by_kind.items():
        with noting_changes(log):
            if kind == "image":
                _check_images(selected)
            else:
                for _ in ROWS[kind](selected):
                    pass
    embeddings_of(log)


def _check_images(selected: Selected) -> None:
    for stored, _, picture in find_images(selected):
        problem = picture.problem
        if problem is not None:
            stored.note(problem)


def find_images(selected: Selected) -> Iterator[tuple[Stored, int, image.Image]]:
    """Yield each image with its stored value, and its index within that value."""
    for stored, head in _heads(selected, image.locate):
        for number, (start, length) in enumerate(head.blobs):
            load = partial(_read_blob, stored, start, length)
            yield stored, number, image.Image(head.width, head.height, load)


def find_clips(selected: Selected) -> Iterator[tuple[Stored, int, audio.Audio]]:
    """Yield each clip with its stored value, and its index within that value."""
    for stored, clips in _heads(selected, audio.locate):
        for number, clip in enumerate(clips):
            load = partial(_read_blob, stored, clip.start, clip.length)
            yield stored, number, audio.Audio(clip, load)


def _heads(selected: Selected, locate: Callable[[Any, int], Any]) -> Iterator[tuple[Stored, Any]]:
    """Locate the content of large values; read only the beginning of each value."""
    for log, payloads in selected:
        for row, prefix in enumerate(_prefixes(payloads)):
            stored = Stored(log, payloads, row)

            def read(size: int, stored: Stored = stored, prefix: bytes = prefix) -> bytes:
                if size <= len(prefix):
                    return prefix[:size]
                return next(stored.file.fetch_head([stored.item], size))

            try:
                yield stored, grow(locate, read, int(stored.item["length"]))
            except ValueError as error:
                stored.note(str(error))


def _prefixes(payloads: Payloads) -> Iterator[bytes]:
    """Yield the beginning of each value, where `grow` starts; each file is opened once."""
    starts = [0, *(np.flatnonzero(np.diff(payloads.files)) + 1).tolist(), len(payloads)]
    for start, stop in pairwise(starts):
        if start < stop:
            file = payloads.source(int(payloads.files[start]))
            yield from file.fetch_head(payloads.items[start:stop], FIRST_LOOK)


def _read_blob(stored: Stored, start: int, length: int) -> bytes:
    return stored.read()[start : start + length]
