"""What is logged more seldom: precision-recall curves and meshes."""

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
    """The meshes of a name at a step; without one, the last of each run."""

    step: Step | None = None


@endpoint("GET /api/pr_curves", TagRequest, queue="work", response=ArrowResponse)
def encode_curves(source: Source, wanted: TagRequest) -> bytes:
    """The precision-recall curves of a tag, in the order of runs and steps.

    An Arrow stream with one row per curve, and a list for each of its lines. The
    metadata "leftOut" says how many are not sent. Raises UnknownRun and UnknownTag.
    """
    found = find_stored(source, "pr_curve", wanted, MOST_CURVES)
    rows = read_each_run(found.selected, ROWS["pr_curve"])
    lines = {name: list_array([getattr(row.value, name) for row in rows]) for name in _LINES}
    table = pa.table({**place_columns(rows), **lines})
    return encode_table(table, leftOut=found.left_out)


@endpoint("GET /api/meshes", MeshesRequest, queue="work", response=ArrowResponse)
def encode_meshes(source: Source, wanted: MeshesRequest) -> bytes:
    """The meshes of a name, one per run.

    An Arrow stream of flat lists of vertices, faces and colors, and config. Three
    numbers make a vertex, a face or a color; of a batch the first mesh is sent, and
    `batch` says how many there are. The metadata "steps" has the steps of each run.
    Raises UnknownRun, UnknownTag, NotFound for a step, and TooLarge.
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
    rows: list[Row[Mesh]] = read_each_run(selected, ROWS["mesh"])
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
