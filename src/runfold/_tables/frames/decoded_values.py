"""Stored values of every kind but scalars, decoded one after the other, without pandas.

A value that does not decode is noted in its run's problems and left out.
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

# So many histograms are decoded in one call, which keeps memory small.
_BATCH = 512


def histogram_rows(selected: Selected) -> Iterator[Row[histogram.Histogram]]:
    """Every histogram."""
    stored = fetched(selected)
    while batch := list(islice(stored, _BATCH)):
        histograms, errors = histogram.decode_many([data for _, data in batch])
        bad = dict(errors)
        for number, (place, _) in enumerate(batch):
            if number in bad:
                place.note(bad[number])
            else:
                yield row_of(place, histograms[number])


def image_rows(selected: Selected) -> Iterator[Row[tuple[int, image.Image]]]:
    """Every image and its number within its value; pixels are read when asked for."""
    for place, number, one in find_images(selected):
        yield row_of(place, (number, one))


def audio_rows(selected: Selected) -> Iterator[Row[tuple[int, audio.Audio]]]:
    """Every clip and its number within its value; samples are read when asked for."""
    for place, number, one in find_clips(selected):
        yield row_of(place, (number, one))


def mesh_rows(selected: Selected) -> Iterator[Row[mesh.Mesh]]:
    """Every mesh, put together from the tags that hold its parts; `tag` is the mesh's name."""
    parts: dict[tuple[str, str, int], list[tuple[Stored, Row[mesh.MeshPart]]]] = {}
    for place, data in fetched(selected):
        content = plugin_content(place.log.metadata(place.payloads.tag) or b"")
        for row in decode_rows([(place, data)], partial(mesh.decode, content=content)):
            parts.setdefault((row.run, row.value.name, row.step), []).append((place, row))
    for found in parts.values():
        place, row = found[0]
        try:
            whole = mesh.combine(part.value for _, part in found)
        except ValueError as error:
            place.note(str(error))
            continue
        yield Row(row.run, whole.name, row.step, row.wall_time, whole)


def mesh_name(log: RunLog, payloads: Payloads) -> str:
    """The name of the mesh that a tag holds a part of."""
    return mesh.name_of(payloads.tag, plugin_content(log.metadata(payloads.tag) or b""))


def _picture_tag(log: RunLog, payloads: Payloads) -> str:
    return boxes.tag_of(payloads.tag)


_NAMES = {"mesh": mesh_name, "boxes": _picture_tag}


def name_of(log: RunLog, payloads: Payloads) -> str:
    """The name of a tag's values in their table: the tag, unless the kind says otherwise."""
    find_name = _NAMES.get(payloads.kind)
    return payloads.tag if find_name is None else find_name(log, payloads)


def graph_rows(selected: Selected) -> Iterator[Row[graph.Graph]]:
    """Every graph."""
    for place, data in fetched(selected):
        form = int(place.item["form"])
        if form == Form.GRAPH:
            decode: Callable[[bytes], graph.Graph] = graph.decode
        elif form == Form.META_GRAPH:
            decode = graph.decode_meta
        else:
            plugin = plugin_of(place.log.metadata(place.payloads.tag) or b"")
            decode = partial(graph.decode_value, plugin=plugin)
        yield from decode_rows([(place, data)], decode)


def boxes_rows(
    selected: Selected,
) -> Iterator[Row[tuple[boxes.Boxes, image.Image | None]]]:
    """All boxes of a picture, and the picture without them; `tag` is the picture's."""
    for log, payloads in selected:
        tag = boxes.tag_of(payloads.tag)
        found = log.payloads.get(("image", tag))
        pictures = [] if found is None else [(log, found.readable())]
        drawn = {place.record: one for place, _, one in find_images(pictures)}
        for place, data in fetched([(log, payloads)]):
            for row in decode_rows([(place, data)], boxes.decode):
                over = drawn.get(place.record)
                bare = None if over is None else _restore(place, over)
                yield Row(row.run, tag, row.step, row.wall_time, (row.value, bare))


def _restore(place: Stored, drawn: image.Image) -> image.Image:
    def load() -> bytes:
        return boxes.restore(place.read(), drawn.data)

    return image.Image(drawn.width, drawn.height, load)


def run_metadata_rows(selected: Selected) -> Iterator[Row[run_metadata.RunMetadata]]:
    """Every RunMetadata."""
    for place, data in fetched(selected):
        is_event = int(place.item["form"]) == Form.RUN_METADATA
        decode = run_metadata.decode if is_event else run_metadata.decode_value
        yield from decode_rows([(place, data)], decode)


def tensor_rows(selected: Selected) -> Iterator[Row[np.ndarray]]:
    """Every tensor. One that only its plugin can read is counted as unknown and left out."""
    for place, data in fetched(selected):
        try:
            value = tensor.decode(data)
        except tensor.NoArray as error:
            if plugin := place.log.foreign_plugin(place.payloads.tag):
                at = place.file.path, int(place.item["start"])
                late = plugin, place.payloads.tag, int(place.item["length"])
                place.log.late_unknown[at] = late
            else:
                place.note(str(error))
        except ValueError as error:
            place.note(str(error))
        else:
            yield row_of(place, value)


def _decode_each(kind: str, selected: Selected) -> Iterator[Row[Any]]:
    """Every value of a kind that one value is enough to decode."""
    return decode_rows(fetched(selected), KINDS[kind].module.decode)


# Kinds that take more than the `decode` of their module.
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
# How to decode each kind of stored value: all that is in event files but scalars.
ROWS: dict[str, Callable[[Selected], Iterator[Row[Any]]]] = {
    kind.name: _SPECIAL_ROWS.get(kind.name) or partial(_decode_each, kind.name)
    for kind in KINDS.values()
    if kind.is_in_event_files and kind.name != SCALAR
}


def embeddings_of(log: RunLog) -> list[embedding.StoredEmbedding]:
    """The embeddings of one run; a configuration that does not parse is noted."""
    try:
        return log.read_config()
    except ValueError as error:
        log.note(Problem.of(Code.BAD_VALUE, log.config or log.path, detail=str(error)))
        return []


def check_values(log: RunLog) -> None:
    """Decode every value of a run once, so that its problems tell of those that do not decode.

    Raises BadLog at the first one in strict mode.
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
    for place, _, one in find_images(selected):
        problem = one.problem
        if problem is not None:
            place.note(problem)


def find_images(selected: Selected) -> Iterator[tuple[Stored, int, image.Image]]:
    """Every image with the value that holds it, and its number there."""
    for place, head in _heads(selected, image.locate):
        for number, (start, length) in enumerate(head.blobs):
            load = partial(_read_blob, place, start, length)
            yield place, number, image.Image(head.width, head.height, load)


def find_clips(selected: Selected) -> Iterator[tuple[Stored, int, audio.Audio]]:
    """Every clip with the value that holds it, and its number there."""
    for place, clips in _heads(selected, audio.locate):
        for number, clip in enumerate(clips):
            load = partial(_read_blob, place, clip.start, clip.length)
            yield place, number, audio.Audio(clip, load)


def _heads(selected: Selected, locate: Callable[[Any, int], Any]) -> Iterator[tuple[Stored, Any]]:
    """Read as little of large values as tells where their content lies."""
    for log, payloads in selected:
        for row, prefix in enumerate(_prefixes(payloads)):
            place = Stored(log, payloads, row)

            def read(size: int, place: Stored = place, prefix: bytes = prefix) -> bytes:
                if size <= len(prefix):
                    return prefix[:size]
                return next(place.file.fetch_head([place.item], size))

            try:
                yield place, grow(locate, read, int(place.item["length"]))
            except ValueError as error:
                place.note(str(error))


def _prefixes(payloads: Payloads) -> Iterator[bytes]:
    """As much of each value as `grow` asks for first; a file is opened once for all of them."""
    starts = [0, *(np.flatnonzero(np.diff(payloads.files)) + 1).tolist(), len(payloads)]
    for start, stop in pairwise(starts):
        if start < stop:
            file = payloads.source(int(payloads.files[start]))
            yield from file.fetch_head(payloads.items[start:stop], FIRST_LOOK)


def _read_blob(place: Stored, start: int, length: int) -> bytes:
    return place.read()[start : start + length]
