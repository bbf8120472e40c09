"""One table per kind of data, except scalars and hparams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events.kinds import KINDS
from runfold._events.kinds.histogram import TOTALS
from runfold._select import select
from runfold._tables.frames.column_values import categories, objects
from runfold._tables.frames.decoded_values import ROWS, embeddings_of
from runfold._tables.frames.value_frame import frame
from runfold._tables.frames.value_rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.frame import Table

    Selected = Iterable[tuple[RunLog, Payloads]]
    Columns = dict[str, Any]


def kind_frame(name: str, selected: Selected) -> Table:
    """Return one row per value of a kind, with the columns that the kind declares."""
    kind = KINDS[name]
    rows = list(ROWS[name](selected))
    if make_columns := _SPECIAL_COLUMNS.get(name):
        return frame(rows, make_columns(rows))
    if kind.value_column:
        return frame(rows, {kind.value_column: [row.value for row in rows]})
    return frame(rows, {name: [getattr(row.value, name) for row in rows] for name in kind.columns})


def _histogram_columns(rows: Sequence[Row[Any]]) -> Columns:
    """Return arrays of left and right edges and counts, and the totals."""
    arrays = ("left", "right", "counts")
    return {
        **{name: [getattr(row.value, name) for row in rows] for name in arrays},
        **{name: np.array([getattr(row.value, name) for row in rows], float) for name in TOTALS},
    }


def _image_columns(rows: Sequence[Row[Any]]) -> Columns:
    """Return the columns of images, which are read by `image.data` and `image.pil()`."""
    return {
        "index": np.array([row.value[0] for row in rows], np.int64),
        "width": np.array([row.value[1].width for row in rows], np.int64),
        "height": np.array([row.value[1].height for row in rows], np.int64),
        "image": [row.value[1] for row in rows],
    }


def _audio_columns(rows: Sequence[Row[Any]]) -> Columns:
    """Return the columns of clips, which are read by `audio.data` and `audio.wave()`.

    Properties that are neither in the value nor in the clip's header are missing.
    """
    import pandas as pd

    clips = [row.value[1] for row in rows]
    return {
        "index": np.array([row.value[0] for row in rows], np.int64),
        "sample_rate": np.array([clip.sample_rate for clip in clips], np.float64),
        "channels": pd.array([clip.channels for clip in clips], dtype="Int64"),
        "length_frames": pd.array([clip.length_frames for clip in clips], dtype="Int64"),
        "content_type": [clip.content_type for clip in clips],
        "label": [clip.label for clip in clips],
        "audio": clips,
    }


def _boxes_columns(rows: Sequence[Row[Any]]) -> Columns:
    """Return the columns of boxes; `image` is None if the image with boxes is missing."""
    columns = ("boxes", "labels", "scores", "colors", "masks")
    return {
        **{name: [getattr(row.value[0], name) for row in rows] for name in columns},
        "image": [row.value[1] for row in rows],
    }


def _graph_columns(rows: Sequence[Row[Any]]) -> Columns:
    return {
        "nodes": np.array([len(row.value) for row in rows], np.int64),
        "graph": [row.value for row in rows],
    }


# Kinds whose columns are more than attributes of their decoded values.
_SPECIAL_COLUMNS: dict[str, Callable[[Sequence[Row[Any]]], Columns]] = {
    "histogram": _histogram_columns,
    "image": _image_columns,
    "audio": _audio_columns,
    "graph": _graph_columns,
    "boxes": _boxes_columns,
}


def embedding_frame(logs: Sequence[RunLog], tags: str | Iterable[str] | None = None) -> Table:
    """Return one row per embedding in the runs' projector configurations."""
    from runfold._tables.frames.frame import Table

    pairs = [(log.name, embedding) for log in logs for embedding in embeddings_of(log)]
    known = list(dict.fromkeys(embedding.name for _, embedding in pairs))
    selected = set(select(known, tags, where="of kind embedding"))
    runs = [run for run, embedding in pairs if embedding.name in selected]
    embeddings = [embedding for _, embedding in pairs if embedding.name in selected]
    names = ("tensor_path", "tensor_shape", "metadata_path", "sprite_path")
    return Table(
        {
            "run": categories(runs, [1] * len(runs)),
            "tag": categories([embedding.name for embedding in embeddings], [1] * len(runs)),
            **{name: objects([getattr(item, name) for item in embeddings]) for name in names},
            "embedding": objects(embeddings),
        }
    )
