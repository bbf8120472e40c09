"""One table for each kind of data but scalars and hparams."""

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
    """One row per value of a kind, with the columns that the kind declares."""
    kind = KINDS[name]
    rows = list(ROWS[name](selected))
    if make_columns := _SPECIAL_COLUMNS.get(name):
        return frame(rows, make_columns(rows))
    if kind.value_column:
        return frame(rows, {kind.value_column: [row.value for row in rows]})
    return frame(rows, {name: [getattr(row.value, name) for row in rows] for name in kind.columns})


def _histogram_columns(rows: Sequence[Row[Any]]) -> Columns:
    """Arrays of left and right edges and counts, and the totals."""
    arrays = ("left", "right", "counts")
    return {
        **{name: [getattr(row.value, name) for row in rows] for name in arrays},
        **{name: np.array([getattr(row.value, name) for row in rows], float) for name in TOTALS},
    }


def _image_columns(rows: Sequence[Row[Any]]) -> Columns:
    """The bytes are read when `image.data` or `image.pil()` is called."""
    return {
        "index": np.array([row.value[0] for row in rows], np.int64),
        "width": np.array([row.value[1].width for row in rows], np.int64),
        "height": np.array([row.value[1].height for row in rows], np.int64),
        "image": [row.value[1] for row in rows],
    }


def _audio_columns(rows: Sequence[Row[Any]]) -> Columns:
    """The bytes are read when `audio.data` or `audio.wave()` is called.

    What neither the value nor the clip's header says is missing.
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
    """`image` is the picture without drawings, read on use; None if the drawn one is missing."""
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


def embedding_frame(logs: Sequence[RunLog], wanted: str | Iterable[str] | None = None) -> Table:
    """One row an embedding that a run's projector configuration names."""
    from runfold._tables.frames.frame import Table

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
