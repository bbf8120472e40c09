"""Less common kinds: precision-recall curves and meshes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from runfold._humanize import did_you_mean, escape
from runfold._serve.api.histograms import list_array, place_columns
from runfold._serve.charts.stored_values import TagRequest, find_stored
from runfold._serve.http.arrow_response import ArrowResponse, encode_table, number_array, text_array
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import NotFound, TooLarge
from runfold._serve.http.request_fields import Step
from runfold._tables.frames.decoded_values import ROWS, mesh_name
from runfold._tables.frames.value_rows import read_each_run
from runfold.errors import UnknownTag

if TYPE_CHECKING:
    from runfold._events.kinds.mesh import Mesh
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._serve.run_source import Source
    from runfold._tables.frames.value_rows import Row

MOST_CURVES = 500
MOST_MESH_BYTES = 64 << 20

_LINES = (
    *("thresholds", "precision", "recall"),
    *("true_positives", "false_positives", "true_negatives", "false_negatives"),
)


class MeshesRequest(TagRequest):
    """The meshes with the given name at a step; by default, at the last step of each run."""

    step: Step | None = None


@endpoint("GET /api/pr_curves", TagRequest, queue="work", response=ArrowResponse)
def encode_curves(source: Source, request: TagRequest) -> bytes:
    """Return the precision-recall curves of a tag, by run and step.

    The response is an Arrow stream with one row per curve and a list column for each line.
    The metadata "leftOut" is the number of curves left out. Raises UnknownRun and UnknownTag.
    """
    found = find_stored(source, "pr_curve", request, MOST_CURVES)
    rows = read_each_run(found.selected, ROWS["pr_curve"])
    lines = {name: list_array([getattr(row.value, name) for row in rows]) for name in _LINES}
    table = pa.table({**place_columns(rows), **lines})
    return encode_table(table, leftOut=found.left_out)


@endpoint("GET /api/meshes", MeshesRequest, queue="work", response=ArrowResponse)
def encode_meshes(source: Source, request: MeshesRequest) -> bytes:
    """Return the meshes with the given name, one per run.

    The response is an Arrow stream of config and flat lists of vertices, faces and colors,
    with three numbers for each vertex, face or color. Only the first mesh of a batch is
    sent; `batch` is the size of the batch. The metadata "steps" has the steps of each run.
    Raises UnknownRun, UnknownTag, NotFound for an unknown step, and TooLarge.
    """
    selected, steps = [], {}
    known: dict[str, None] = {}
    for log in source.logs(request.run):
        parts = _parts(log)
        known |= dict.fromkeys(parts)
        of_mesh = parts.get(request.tag, [])
        every = sorted({int(step) for payloads in of_mesh for step in payloads.steps})
        if every:
            steps[log.name] = every
            step = every[-1] if request.step is None else request.step
            selected += [(log, payloads.only(payloads.steps == step)) for payloads in of_mesh]
    if not steps:
        hint = did_you_mean(request.tag, known)
        raise UnknownTag(f"No mesh '{escape(request.tag)}'. {hint}".rstrip())
    if sum(int(payloads.items["length"].sum()) for _, payloads in selected) > MOST_MESH_BYTES:
        raise TooLarge("These meshes are too large to send at once. Request fewer runs.")
    rows: list[Row[Mesh]] = read_each_run(selected, ROWS["mesh"])
    if not rows:
        raise NotFound(f"No mesh '{escape(request.tag)}' at this step.")
    meshes = [row.value for row in rows]
    columns = {
        **place_columns(rows),
        "vertices": list_array([_first(mesh.vertices) for mesh in meshes], np.float32),
        "faces": list_array([_faces(mesh) for mesh in meshes], np.int32),
        "colors": list_array([_first(mesh.colors) for mesh in meshes], np.float32),
        "batch": number_array(np.array([_batch(mesh.vertices) for mesh in meshes], np.int64)),
        "config": text_array([json.dumps(mesh.config) for mesh in meshes]),
    }
    return encode_table(pa.table(columns), steps=steps)


def _parts(log: RunLog) -> dict[str, list[Payloads]]:
    """Return the tags that contain the parts of each mesh in a run, by mesh name."""
    parts: dict[str, list[Payloads]] = {}
    for (kind, _), payloads in log.payloads.items():
        if kind == "mesh":
            parts.setdefault(mesh_name(log, payloads), []).append(payloads.readable())
    return parts


def _first(array: np.ndarray | None) -> np.ndarray:
    """Return a part of the first mesh in a batch; empty if the part does not exist."""
    if array is None or not array.size:
        return np.empty((0, 3))
    rows: np.ndarray = array.reshape(-1, *array.shape[-2:])[0]
    return rows


def _faces(mesh: Mesh) -> np.ndarray:
    """Return the faces of the first mesh of a batch, without those that have invalid vertices."""
    faces, count = _first(mesh.faces), len(_first(mesh.vertices))
    valid: np.ndarray = faces[((faces >= 0) & (faces < count)).all(axis=1)]
    return valid


def _batch(array: np.ndarray) -> int:
    return int(np.prod(array.shape[:-2]))
