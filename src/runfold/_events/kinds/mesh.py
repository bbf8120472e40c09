"""Meshes and point clouds: vertices, faces and colors stored under separate tags."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from runfold._events.kinds import stored_value

CONTENTS = {1: "vertices", 2: "faces", 3: "colors"}
# Tag suffixes for the three parts: TensorFlow and torch first, then tensorboardX.
SUFFIXES = ("_VERTEX", "_FACE", "_COLOR", "_1", "_2", "_3")
EXACT: dict[str, np.dtype[Any]] = {"faces": np.dtype(np.int64), "colors": np.dtype(np.uint8)}


@dataclass(frozen=True, slots=True, eq=False)
class MeshPart:
    """One part of the mesh `name`: its vertices, faces or colors, of shape (batch, count, 3)."""

    name: str
    content: str
    shape: tuple[int, ...]
    config: dict[str, Any]
    array: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """A mesh at one step; a point cloud has no faces."""

    name: str
    vertices: np.ndarray
    faces: np.ndarray | None
    colors: np.ndarray | None
    config: dict[str, Any]


def decode(value: bytes, content: bytes = b"") -> MeshPart:
    """Return one part of a mesh.

    `content` is the plugin's content from an earlier value of the tag, for writers
    that store metadata only in a tag's first value.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.plugins.mesh import plugin_data_pb2

    parsed = stored_value.parse(value)
    try:
        data = plugin_data_pb2.MeshPluginData.FromString(parsed.content or content)
    except DecodeError:
        raise ValueError("the mesh's metadata is not a MeshPluginData message") from None
    if data.content_type not in CONTENTS:
        raise ValueError("the mesh does not specify whether it contains vertices, faces or colors")
    array = stored_value.tensor_of(parsed, "a mesh")
    if array.ndim < 2 or array.shape[-1] != 3 or array.dtype.kind not in "fiu":
        raise ValueError(f"a mesh has rows of 3 numbers, not {stored_value.describe(array)}")
    return MeshPart(
        data.name or _without_suffix(parsed.tag),
        CONTENTS[data.content_type],
        array.shape,
        _config(data.json_config),
        array,
    )


def name_of(tag: str, content: bytes) -> str:
    """Return the name of the mesh that a tag belongs to, given the plugin's content."""
    from google.protobuf.message import DecodeError
    from tensorboard.plugins.mesh import plugin_data_pb2

    try:
        name: str = plugin_data_pb2.MeshPluginData.FromString(content).name
    except DecodeError:
        name = ""
    return name or _without_suffix(tag)


def combine(parts: Iterable[MeshPart]) -> Mesh:
    """Combine the parts stored at one step under one name.

    If a part occurs twice, the last one is used. Faces become int64 and colors
    uint8 if the conversion is exact, because torch stores both as floats.
    """
    by_content = {part.content: part for part in parts}
    if len({part.name for part in by_content.values()}) > 1:
        raise ValueError("the parts belong to meshes with different names")
    if "vertices" not in by_content:
        raise ValueError("the mesh has no vertices")
    vertices = by_content["vertices"]
    return Mesh(
        vertices.name,
        vertices.array,
        _exactly(by_content.get("faces")),
        _exactly(by_content.get("colors")),
        vertices.config,
    )


def _exactly(part: MeshPart | None) -> np.ndarray | None:
    if part is None:
        return None
    array, target = part.array, EXACT[part.content]
    numbers = array.astype(np.float64) if array.dtype.kind == "f" else array
    low, high = (0, 255) if target == np.uint8 else (-(2**53), 2**53)
    # Above 2^53, floats no longer identify single vertices.
    fits = (numbers >= low) & (numbers <= high) & (np.trunc(numbers) == numbers)
    return array.astype(target) if np.all(fits) else array


def _config(text: str) -> dict[str, Any]:
    try:
        config = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise ValueError("the mesh's configuration is not JSON") from None
    return config if isinstance(config, dict) else {}


def _without_suffix(tag: str) -> str:
    for suffix in SUFFIXES:
        if tag.endswith(suffix):
            return tag.removesuffix(suffix)
    return tag
