"""One table for each kind of data that is neither a scalar nor a histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runfold.events.kinds.boxes import tag_of as boxes_tag
from runfold.events.kinds.histogram import TOTALS
from runfold.select import select
from runfold.tables.rows import frame, objects
from runfold.tables.scalars import categories
from runfold.tables.values import ROWS, embeddings_of, mesh_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads
    from runfold.tables.table import Table

    Selected = Iterable[tuple[RunLog, Payloads]]


def histogram_frame(selected: Selected) -> Table:
    """One row a histogram: arrays of left and right edges and counts, and its totals."""
    rows = list(ROWS["histogram"](selected))
    totals = {name: [getattr(row.value, name) for row in rows] for name in TOTALS}
    return frame(
        rows,
        {
            **{name: [getattr(row.value, name) for row in rows] for name in ("left", "right")},
            "counts": [row.value.counts for row in rows],
            **{name: np.array(values, np.float64) for name, values in totals.items()},
        },
    )


def text_frame(selected: Selected) -> Table:
    """One row a text: a str, or an array of str where the writer logged several."""
    rows = list(ROWS["text"](selected))
    return frame(rows, {"text": [row.value for row in rows]})


def tensor_frame(selected: Selected) -> Table:
    """One row a tensor, with its array."""
    rows = list(ROWS["tensor"](selected))
    return frame(rows, {"value": [row.value for row in rows]})


def pr_curve_frame(selected: Selected) -> Table:
    """One row a curve, with an array for each of its lines."""
    rows = list(ROWS["pr_curve"](selected))
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


def layout_frame(selected: Selected) -> Table:
    """One row a custom scalars layout."""
    rows = list(ROWS["layout"](selected))
    return frame(rows, {"layout": [row.value for row in rows]})


def image_frame(selected: Selected) -> Table:
    """One row an image; its bytes are read when `image.data` or `image.pil()` is asked for."""
    rows = list(ROWS["image"](selected))
    return frame(
        rows,
        {
            "index": np.array([row.value[0] for row in rows], np.int64),
            "width": np.array([row.value[1].width for row in rows], np.int64),
            "height": np.array([row.value[1].height for row in rows], np.int64),
            "image": [row.value[1] for row in rows],
        },
    )


def audio_frame(selected: Selected) -> Table:
    """One row a clip; its bytes are read when `audio.data` or `audio.wave()` is asked for.

    What neither the value nor the clip's header says is missing.
    """
    import pandas as pd

    rows = list(ROWS["audio"](selected))
    clips = [row.value[1] for row in rows]
    return frame(
        rows,
        {
            "index": np.array([row.value[0] for row in rows], np.int64),
            "sample_rate": np.array([clip.sample_rate for clip in clips], np.float64),
            "channels": pd.array([clip.channels for clip in clips], dtype="Int64"),
            "length_frames": pd.array([clip.length_frames for clip in clips], dtype="Int64"),
            "content_type": [clip.content_type for clip in clips],
            "label": [clip.label for clip in clips],
            "audio": clips,
        },
    )


def boxes_frame(selected: Selected, wanted: str | Iterable[str] | None = None) -> Table:
    """One row a picture with boxes; `wanted` filters by the tags of the pictures.

    `image` is the picture without drawings, read when it is asked for; None where
    the drawn one is not there.
    """
    named = [(boxes_tag(payloads.tag), log, payloads) for log, payloads in selected]
    tags = list(dict.fromkeys(tag for tag, _, _ in named))
    kept = set(select(tags, wanted, where="of kind boxes"))
    rows = list(ROWS["boxes"]((log, payloads) for tag, log, payloads in named if tag in kept))
    columns = ("boxes", "labels", "scores", "colors", "masks")
    return frame(
        rows,
        {
            **{name: [getattr(row.value[0], name) for row in rows] for name in columns},
            "image": [row.value[1] for row in rows],
        },
    )


def mesh_frame(selected: Selected, wanted: str | Iterable[str] | None = None) -> Table:
    """One row a mesh, put together from the tags that hold its parts.

    `wanted` filters by the names of meshes, which their parts' tags only start with.
    """
    named = [(mesh_name(log, payloads), log, payloads) for log, payloads in selected]
    names = list(dict.fromkeys(name for name, _, _ in named))
    kept = set(select(names, wanted, where="of kind mesh"))
    rows = list(ROWS["mesh"]((log, payloads) for name, log, payloads in named if name in kept))
    columns = ("vertices", "faces", "colors", "config")
    return frame(rows, {name: [getattr(row.value, name) for row in rows] for name in columns})


def graph_frame(selected: Selected) -> Table:
    """One row a graph."""
    rows = list(ROWS["graph"](selected))
    return frame(
        rows,
        {
            "nodes": np.array([len(row.value) for row in rows], np.int64),
            "graph": [row.value for row in rows],
        },
    )


def run_metadata_frame(selected: Selected) -> Table:
    """One row a RunMetadata, as profilers of TensorFlow store it."""
    rows = list(ROWS["run_metadata"](selected))
    return frame(rows, {"metadata": [row.value for row in rows]})


def embedding_frame(logs: Sequence[RunLog], wanted: str | Iterable[str] | None = None) -> Table:
    """One row an embedding that a run's projector configuration names."""
    from runfold.tables.table import Table

    every = [(log.name, one) for log in logs for one in embeddings_of(log)]
    known = list(dict.fromkeys(one.name for _, one in every))
    chosen = set(select(known, wanted, where="of kind embedding"))
    found = [(run, one) for run, one in every if one.name in chosen]
    names = ("tensor_path", "tensor_shape", "metadata_path", "sprite_path")
    return Table(
        {
            "run": categories([run for run, _ in found], [1] * len(found)),
            "tag": categories([one.name for _, one in found], [1] * len(found)),
            **{name: objects([getattr(one, name) for _, one in found]) for name in names},
            "embedding": objects([one for _, one in found]),
        }
    )
