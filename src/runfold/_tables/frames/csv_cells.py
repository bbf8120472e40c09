"""Table cells as text for CSV: arrays in full, images as a short description."""

from __future__ import annotations

import operator
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events.kinds.audio import Audio
from runfold._events.kinds.embedding import StoredEmbedding
from runfold._events.kinds.graph import Graph
from runfold._events.kinds.image import Image
from runfold._events.kinds.run_metadata import RunMetadata
from runfold._tables.arrow.cell_forms import spell
from runfold._tables.frames.column_values import is_pil

if TYPE_CHECKING:
    import pandas as pd

_OPAQUE = (Image, Audio, Graph, RunMetadata, StoredEmbedding)


def describe_objects(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the table with plain cells, and the names of the columns that lost content."""
    described = []
    copy = table
    for number, name in enumerate(table.columns):
        if table.dtypes.iloc[number].kind != "O":
            continue
        cells = table.iloc[:, number].tolist()
        plain = [_plain(cell) for cell in cells]
        if all(map(operator.is_, cells, plain)):
            continue
        if copy is table:
            copy = table.copy(deep=False)
        copy.isetitem(number, plain)
        if any(_is_opaque(cell) for cell in cells):
            described.append(str(name))
    return copy, described


def _plain(cell: Any) -> Any:
    if is_pil(type(cell)):  # its repr contains a memory address
        return "<Image {}x{}>".format(*cell.size)
    if _is_opaque(cell):
        return repr(cell)
    is_structure = isinstance(cell, np.ndarray | list | tuple | dict) or is_dataclass(cell)
    return spell(cell) if is_structure else cell


def _is_opaque(cell: Any) -> bool:
    """Return whether a cell is an image, a clip, a graph or an embedding."""
    return isinstance(cell, _OPAQUE) or is_pil(type(cell))
