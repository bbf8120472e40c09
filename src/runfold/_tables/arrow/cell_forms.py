"""Cells of any kind of object as columns that Arrow has, and back.

Numbers, text and bytes are themselves. Pictures and clips become
struct<bytes, path>, which Hugging Face datasets shows as what they are. An array
becomes a flat list; beside a column `value` stands `value_shape` where any of
its arrays has not one dimension, and `value_dtype` where their types differ or
Arrow has none such. Complex numbers are two floats each. What has a structure
but no type, such as a mesh's configuration, becomes JSON.
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
    """A column as Arrow has it, and those that belong to it by what their names end in.

    `name` says what its cells were: plain, image, audio, array, embedding or json; `note`
    what was lost.
    """

    array: pa.Array
    name: str = "plain"
    beside: dict[str, Form] = field(default_factory=dict)
    note: str = ""


def form_of(values: Sequence[Any]) -> Form:
    """The form of a column of objects; None and NaN among other things than numbers are missing."""
    cells = [_scalar(value) for value in values]
    types = set(map(type, cells)) - {type(None)}
    if types - {float} and not types <= {bool, int, float}:
        cells = [None if isinstance(one, float) and math.isnan(one) else one for one in cells]
        types = set(map(type, cells)) - {type(None)}
    if types <= {bool, int, float, str, bytes}:
        return _plain(cells, types)
    if all(issubclass(one, image.Image) or is_pil(one) for one in types):
        return _media(cells, "image")
    if types == {audio.Audio}:
        return _media(cells, "audio")
    if types <= {Graph, RunMetadata}:
        return Form(typed_array([None if one is None else one.data for one in cells], "binary"))
    if types == {StoredEmbedding}:
        return _embeddings(cells)
    arrays = [_as_array(one) for one in cells]
    if all(one is None or isinstance(one, np.ndarray | str) for one in arrays):
        return _arrays(arrays)
    return _structures(cells, types)


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    # pandas' own words for what is missing.
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
    if types == {int} and all(one is None or -(2**63) <= one < 2**63 for one in cells):
        return Form(typed_array(cells, "int64"))
    whole = [one for one in cells if type(one) is int]
    if types <= {int, float} and all(-EXACT <= one <= EXACT for one in whole):
        return Form(typed_array([None if one is None else float(one) for one in cells], "float64"))
    return _structures(cells, types)


def _structures(cells: list[Any], types: set[type]) -> Form:
    """JSON, or text as it stands; what has no form at all is noted."""
    strange: set[str] = set()
    spelled = [None if one is None else spell(one, strange) for one in cells]
    note = ""
    if strange:
        note = f"{', '.join(sorted(strange))} has no form in a table and became text"
    elif len(types) > 1 and types & {bool, int, float, str, bytes}:
        kinds = ", ".join(sorted(one.__name__ for one in types))
        note = f"values of several types ({kinds}) became text"
    is_json = not strange and not types & {str, bytes}
    return Form(text_array(spelled), "json" if is_json else "plain", note=note)


def spell(value: Any, strange: set[str] | None = None) -> str:
    """The text that stands for a value: itself, or JSON."""
    said = plain(value, strange)
    if isinstance(said, str):
        return said
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def plain(value: Any, strange: set[str] | None = None) -> Any:
    """What JSON can hold of a value: NaN and the infinities as words, bytes in base64.

    The types of objects that have no such form are added to `strange`.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, np.generic):
        return plain(value.item(), strange)
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(key): plain(one, strange) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), strange)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, strange) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name), strange) for one in fields(value)}
    if strange is not None:
        strange.add(type(value).__name__)
    return str(value)


# Pictures and clips.


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
        if size > _CHUNK:  # one array holds no more than 2 GB
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
        lost[f"left out: {error}"] = None
        return None
    return data


# Arrays.


def _as_array(cell: Any) -> Any:
    """An array of what lists and tuples of numbers or texts hold; all else stays."""
    if not isinstance(cell, list | tuple):
        return cell
    if not cell:
        return NOTHING
    kinds = {type(_scalar(one)) for one in cell}
    if kinds <= {str} or kinds <= {bytes}:
        return _objects(cell)
    return np.array(cell) if kinds in ({int}, {float}, {bool}) else cell


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _arrays(arrays: Sequence[NDArray[Any] | str | None]) -> Form:
    made = to_lists(arrays)
    if made is not None:
        beside = {ending: Form(array) for ending, array in made.items() if ending}
        return Form(made[""], "array", beside)
    spelled = [None if one is None else spell(one) for one in arrays]
    types = [None if one is None else str(getattr(one, "dtype", "object")) for one in arrays]
    return Form(text_array(spelled), "json", {"_dtype": Form(text_array(types))})


# Embeddings.


def _embeddings(cells: list[StoredEmbedding | None]) -> Form:
    """Their points; their configurations and labels as JSON, and the pictures of all points."""
    import pyarrow as pa

    lost: dict[str, None] = {}
    contents = [None if one is None else one.content(lost) for one in cells]
    form = _arrays([None if one is None else one.tensor for one in contents])
    form.name = "embedding"
    labels = [one and one.metadata for one in contents]
    configs = [one and one.config for one in cells]
    for ending, parts in (("_metadata", labels), ("_config", configs)):
        texts = text_array([None if one is None else spell(one) for one in parts])
        form.beside[ending] = Form(texts, "json")
    sprites = [one and one.sprite for one in contents]
    if any(one is not None for one in sprites):
        stored = [None if one is None else {"bytes": one, "path": None} for one in sprites]
        form.beside["_sprite"] = Form(pa.array(stored, _media_type()), "image")
    form.note = "; ".join(f"left out: {reason}" for reason in lost)
    return form


def make_embedding(
    tensor: NDArray[Any] | None, metadata: Any, sprite: Any, config: Any
) -> StoredEmbedding:
    """Return the embedding that was saved as these parts, each as JSON or Arrow gives it back.

    Raises TypeError, KeyError, AttributeError or ValueError for parts that do not fit: a file
    may come from anyone.
    """
    texts = ("name", "tensor_path", "metadata_path", "bookmarks_path", "sprite_path")
    sizes = ("tensor_shape", "sprite_size")
    named: dict[str, Any] = {name: str(config[name]) for name in texts}
    named |= {name: tuple(map(int, config[name])) for name in sizes}
    labels = None
    if metadata is not None:
        labels = {str(name): _objects(list(map(str, one))) for name, one in metadata.items()}
    data = None if sprite is None else sprite["bytes"]
    if not isinstance(data, bytes | None):
        raise TypeError("a sprite is not bytes")
    return StoredEmbedding(Content(tensor, labels, data), Embedding(**named))
