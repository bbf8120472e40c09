"""What is logged more seldom: precision-recall curves and meshes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from starlette.routing import Route

from runfold.errors import UnknownTag
from runfold.serve.arrow import ArrowResponse, encode_table, number_array, text_array
from runfold.serve.errors import NotFound, TooLarge
from runfold.serve.histograms import list_array, place_columns
from runfold.serve.request import read_query
from runfold.serve.stored import Wanted, find_stored
from runfold.tables.values import ROWS, mesh_name
from runfold.text import did_you_mean, escape

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.events.kinds.mesh import Mesh
    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads
    from runfold.serve.source import Source
    from runfold.tables.rows import Row

MOST_CURVES = 500
MOST_MESH_BYTES = 64 << 20

_LINES = (
    *("thresholds", "precision", "recall"),
    *("true_positives", "false_positives", "true_negatives", "false_negatives"),
)


@dataclass(frozen=True)
class Meshes(Wanted):
    """The meshes of a name at a step; without one, the last of each run."""

    step: int | None = None


async def pr_curves(request: Request) -> Response:
    """The precision-recall curves of a tag, in the order of runs and steps."""
    source: Source = request.app.state.source
    return ArrowResponse(await source.work(encode_curves, source, read_query(request, Wanted)))


async def meshes(request: Request) -> Response:
    """The meshes of a name, one for each run."""
    source: Source = request.app.state.source
    return ArrowResponse(await source.work(encode_meshes, source, read_query(request, Meshes)))


def encode_curves(source: Source, wanted: Wanted) -> bytes:
    """An Arrow stream with a row a curve, and a list for each of its lines.

    The metadata "leftOut" says how many are not sent. Raises UnknownRun and UnknownTag.
    """
    found = find_stored(source, "pr_curve", wanted, MOST_CURVES)
    rows = list(ROWS["pr_curve"](found.selected))
    lines = {name: list_array([getattr(row.value, name) for row in rows]) for name in _LINES}
    table = pa.table({**place_columns(rows), **lines})
    return encode_table(table, leftOut=found.left_out)


def encode_meshes(source: Source, wanted: Meshes) -> bytes:
    """An Arrow stream with a row a mesh: flat lists of vertices, faces and colors, and config.

    Three numbers make a vertex, a face or a color; of a batch the first mesh is
    sent, and `batch` says how many there are. The metadata "steps" has the steps
    of each run. Raises UnknownRun, UnknownTag, NotFound for a step, and TooLarge.
    """
    selected, steps = [], {}
    known: dict[str, None] = {}
    for log in source.logs(wanted.run):
        parts = _parts(log)
        known |= dict.fromkeys(parts)
        of_mesh = parts.get(wanted.tag, [])
        every = sorted({int(step) for one in of_mesh for step in one.steps})
        if every:
            steps[log.name] = every
            step = every[-1] if wanted.step is None else wanted.step
            selected += [(log, one.only(one.steps == step)) for one in of_mesh]
    if not steps:
        hint = did_you_mean(wanted.tag, known)
        raise UnknownTag(f"No mesh '{escape(wanted.tag)}'. {hint}".rstrip())
    if sum(int(one.items["length"].sum()) for _, one in selected) > MOST_MESH_BYTES:
        raise TooLarge("These meshes are too large to be sent at once. Ask for fewer runs.")
    rows: list[Row[Mesh]] = list(ROWS["mesh"](selected))
    if not rows:
        raise NotFound(f"No mesh '{escape(wanted.tag)}' at that step.")
    found = [row.value for row in rows]
    columns = {
        **place_columns(rows),
        "vertices": list_array([_first(one.vertices) for one in found], np.float32),
        "faces": list_array([_faces(one) for one in found], np.int32),
        "colors": list_array([_first(one.colors) for one in found], np.float32),
        "batch": number_array(np.array([_batch(one.vertices) for one in found], np.int64)),
        "config": text_array([json.dumps(one.config) for one in found]),
    }
    return encode_table(pa.table(columns), steps=steps)


def _parts(log: RunLog) -> dict[str, list[Payloads]]:
    """The tags that hold the parts of each mesh of a run, by the mesh's name."""
    parts: dict[str, list[Payloads]] = {}
    for (kind, _), payloads in log.payloads.items():
        if kind == "mesh":
            parts.setdefault(mesh_name(log, payloads), []).append(payloads.readable())
    return parts


def _first(array: np.ndarray | None) -> np.ndarray:
    """The first mesh of a batch; nothing for a part that is not there."""
    if array is None or not array.size:
        return np.empty((0, 3))
    rows: np.ndarray = array.reshape(-1, *array.shape[-2:])[0]
    return rows


def _faces(mesh: Mesh) -> np.ndarray:
    """The faces of the first mesh of a batch; without those that name vertices it has not."""
    faces, count = _first(mesh.faces), len(_first(mesh.vertices))
    found: np.ndarray = faces[((faces >= 0) & (faces < count)).all(axis=1)]
    return found


def _batch(array: np.ndarray) -> int:
    return int(np.prod(array.shape[:-2]))


ROUTES = [Route("/api/pr_curves", pr_curves), Route("/api/meshes", meshes)]
