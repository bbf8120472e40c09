"""Columns of arbitrary objects as Arrow columns, and back.

Numbers, text and bytes do not change. Images and clips become struct<bytes, path>, which
Hugging Face datasets displays. Arrays become flat lists; a column `value` is followed by
`value_shape` if any array is not one-dimensional, and by `value_dtype` if the types differ
or Arrow lacks them. A complex number becomes two floats. Structures without an Arrow type,
such as a mesh's configuration, become JSON.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events.kinds import audio, image
from runfold._events.kinds.embedding import Content, Embedding, StoredEmbedding
from runfold._events.kinds.graph import Graph
from runfold._events.kinds.run_metadata import RunMetadata
from runfold._tables.arrow.arrow_lists import EXACT, NOTHING, text_array, to_lists, typed_array
from runfold._tables.frames.column_values import is_pil

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_CHUNK = 2**30
MEDIA = {"image": image.Image, "audio": audio.Audio}


@dataclass(slots=True)
class Form:
    """A column as an Arrow array, and its companion columns by the suffix of their names.

    `name` is the original form of the cells: plain, image, audio, array, embedding or json.
    `note` describes lost content.
    """

    array: pa.Array
    name: str = "plain"
    companions: dict[str, Form] = field(default_factory=dict)
    note: str = ""


def form_of(values: Sequence[Any]) -> Form:
    """Return the form of a column of objects; None, and NaN among non-numbers, become null."""
    cells = [_scalar(value) for value in values]
    types = set(map(type, cells)) - {type(None)}
    if types - {float} and not types <= {bool, int, float}:
        cells = [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]
        types = set(map(type, cells)) - {type(None)}
    if types <= {bool, int, float, str, bytes}:
        return _plain(cells, types)
    if all(issubclass(kind, image.Image) or is_pil(kind) for kind in types):
        return _media(cells, "image")
    if types == {audio.Audio}:
        return _media(cells, "audio")
    if types <= {Graph, RunMetadata}:
        return Form(typed_array([None if cell is None else cell.data for cell in cells], "binary"))
    if types == {StoredEmbedding}:
        return _embeddings(cells)
    arrays = [_as_array(cell) for cell in cells]
    if all(array is None or isinstance(array, np.ndarray | str) for array in arrays):
        return _arrays(arrays)
    return _structures(cells, types)


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    # pandas' types for missing values.
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _plain(cells: list[Any], types: set[type]) -> Form:
    import pyarrow as pa

    if not types:
        return Form(pa.nulls(len(cells)))
    if types == {bool}:
        return Form(typed_array(cells, "bool_"))
    if types == {str}:
        return Form(text_array(cells))
    if types == {bytes}:
        return Form(typed_array(cells, "binary"))
    if types == {int} and all(cell is None or -(2**63) <= cell < 2**63 for cell in cells):
        return Form(typed_array(cells, "int64"))
    integers = [cell for cell in cells if type(cell) is int]
    if types <= {int, float} and all(-EXACT <= number <= EXACT for number in integers):
        floats = [None if cell is None else float(cell) for cell in cells]
        return Form(typed_array(floats, "float64"))
    return _structures(cells, types)


def _structures(cells: list[Any], types: set[type]) -> Form:
    """Return cells as JSON or text, with a note on types that were converted to text."""
    unsupported: set[str] = set()
    spelled = [None if cell is None else spell(cell, unsupported) for cell in cells]
    note = ""
    if unsupported:
        names = ", ".join(sorted(unsupported))
        note = f"values of type {names} were converted to text, because a table cannot store them"
    elif len(types) > 1 and types & {bool, int, float, str, bytes}:
        kinds = ", ".join(sorted(kind.__name__ for kind in types))
        note = f"values of several types ({kinds}) were converted to text"
    is_json = not unsupported and not types & {str, bytes}
    return Form(text_array(spelled), "json" if is_json else "plain", note=note)


def spell(value: Any, unsupported: set[str] | None = None) -> str:
    """Return a value as text: text unchanged, other values as JSON."""
    converted = plain(value, unsupported)
    if isinstance(converted, str):
        return converted
    return json.dumps(converted, ensure_ascii=False, separators=(",", ":"))


def plain(value: Any, unsupported: set[str] | None = None) -> Any:
    """Convert a value to JSON types: NaN and infinities as strings, bytes as base64.

    Names of types that JSON cannot represent are added to `unsupported`.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, np.generic):
        return plain(value.item(), unsupported)
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(key): plain(item, unsupported) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), unsupported)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, unsupported) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name), unsupported) for part in fields(value)}
    if unsupported is not None:
        unsupported.add(type(value).__name__)
    return str(value)


# Images and clips.


def _media(cells: list[Any], name: str) -> Form:
    import pyarrow as pa

    lost: dict[str, None] = {}
    chunks: list[pa.Array] = []
    stored: list[dict[str, Any] | None] = []
    size = 0
    for cell in cells:
        data = None if cell is None else _bytes(cell, lost)
        stored.append(None if data is None else {"bytes": data, "path": None})
        size += len(data or b"")
        if size > _CHUNK:  # an array is limited to 2 GB
            chunks.append(pa.array(stored, _media_type()))
            stored, size = [], 0
    chunks.append(pa.array(stored, _media_type()))
    whole = chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks)
    return Form(whole, name, note="; ".join(lost))


def _media_type() -> pa.DataType:
    import pyarrow as pa

    return pa.struct({"bytes": pa.binary(), "path": pa.string()})


def _bytes(cell: Any, lost: dict[str, None]) -> bytes | None:
    try:
        data: bytes = cell.data if hasattr(cell, "data") else image.as_png(cell)
    except ValueError as error:
        lost[f"a value was left out: {error}"] = None
        return None
    return data


# Arrays.


def _as_array(cell: Any) -> Any:
    """Convert lists and tuples of numbers or strings to arrays; return other cells unchanged."""
    if not isinstance(cell, list | tuple):
        return cell
    if not cell:
        return NOTHING
    kinds = {type(_scalar(item)) for item in cell}
    if kinds <= {str} or kinds <= {bytes}:
        return _objects(cell)
    return np.array(cell) if kinds in ({int}, {float}, {bool}) else cell


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _arrays(arrays: Sequence[NDArray[Any] | str | None]) -> Form:
    lists = to_lists(arrays)
    if lists is not None:
        companions = {suffix: Form(array) for suffix, array in lists.items() if suffix}
        return Form(lists[""], "array", companions)
    spelled = [None if array is None else spell(array) for array in arrays]
    types = [None if array is None else str(getattr(array, "dtype", "object")) for array in arrays]
    return Form(text_array(spelled), "json", {"_dtype": Form(text_array(types))})


# Embeddings.


def _embeddings(cells: list[StoredEmbedding | None]) -> Form:
    """Return embeddings as points, with configurations and labels as JSON, and sprite images."""
    import pyarrow as pa

    lost: dict[str, None] = {}
    contents = [None if cell is None else cell.content(lost) for cell in cells]
    form = _arrays([None if content is None else content.tensor for content in contents])
    form.name = "embedding"
    labels = [content and content.metadata for content in contents]
    configs = [cell and cell.config for cell in cells]
    for suffix, parts in (("_metadata", labels), ("_config", configs)):
        texts = text_array([None if part is None else spell(part) for part in parts])
        form.companions[suffix] = Form(texts, "json")
    sprites = [content and content.sprite for content in contents]
    if any(sprite is not None for sprite in sprites):
        stored = [None if data is None else {"bytes": data, "path": None} for data in sprites]
        form.companions["_sprite"] = Form(pa.array(stored, _media_type()), "image")
    form.note = "; ".join(f"part of an embedding was left out: {reason}" for reason in lost)
    return form


def make_embedding(
    tensor: NDArray[Any] | None, metadata: Any, sprite: Any, config: Any
) -> StoredEmbedding:
    """Return an embedding made from its stored parts, as read from JSON and Arrow.

    Raises TypeError, KeyError, AttributeError or ValueError for invalid parts, because the
    file is not trusted.
    """
    texts = ("name", "tensor_path", "metadata_path", "bookmarks_path", "sprite_path")
    sizes = ("tensor_shape", "sprite_size")
    named: dict[str, Any] = {name: str(config[name]) for name in texts}
    named |= {name: tuple(map(int, config[name])) for name in sizes}
    labels = None
    if metadata is not None:
        labels = {str(name): _objects(list(map(str, cells))) for name, cells in metadata.items()}
    data = None if sprite is None else sprite["bytes"]
    if not isinstance(data, bytes | None):
        raise TypeError("a sprite is not of type bytes")
    return StoredEmbedding(Content(tensor, labels, data), Embedding(**named))
