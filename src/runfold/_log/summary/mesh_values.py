"""Encoding of meshes and point clouds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runfold._events import value_encoding
from runfold._log.writer.convert import as_array, refuse
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from numpy.typing import NDArray


def encode(tag: str, vertices: Any, colors: Any, faces: Any, config: Any) -> list[bytes]:
    """Return the serialized parts of a mesh. Raises CannotLog, naming the invalid argument."""
    if not isinstance(tag, str):
        raise CannotLog(refuse(tag, "tag", tag, "expected a str"))
    points = _rows(vertices, tag, "vertices")
    parts: dict[value_encoding.MeshContent, NDArray[Any]] = {"vertices": points}
    if faces is not None:
        parts["faces"] = _rows(faces, tag, "faces")
    if colors is not None:
        parts["colors"] = _rows(colors, tag, "colors")
        if parts["colors"].shape != points.shape:
            reason = (
                f"expected one color per vertex, shape {points.shape}, got {parts['colors'].shape}"
            )
            raise CannotLog(refuse(tag, "colors", colors, reason))
    try:
        json_config = "{}" if config is None else json.dumps(config, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise CannotLog(
            refuse(tag, "config_dict", config, f"it is not valid JSON: {error}")
        ) from error
    return [
        value_encoding.mesh_part(tag, name, rows, parts, json_config)
        for name, rows in parts.items()
    ]


def _rows(value: Any, tag: str, argument: str) -> NDArray[Any]:
    array = as_array(value, tag, argument)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype.kind not in "biuf":
        reason = f"expected shape (batch, n, 3), got {array.dtype} of shape {array.shape}"
        raise CannotLog(refuse(tag, argument, value, reason))
    return array
