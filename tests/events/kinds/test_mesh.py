"""Meshes: parts are decoded separately and then combined."""

from contextlib import suppress

import numpy as np
import pytest
import tensorboardX
import torch
from helpers.kind_values import tensor_value, written
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from torch.utils import tensorboard as torch_tensorboard

from runfold._events.kinds import mesh

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]
VERTICES = torch.tensor([[[1, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]]], dtype=torch.float)
COLORS = torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255]]], dtype=torch.int)
FACES = torch.tensor([[[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]], dtype=torch.int)
CONFIG = {"camera": {"cls": "PerspectiveCamera"}}


def content(kind="VERTEX", name="m", config=""):
    return MeshPluginData(
        name=name, content_type=MeshPluginData.ContentType.Value(kind), json_config=config
    ).SerializeToString()


def part(array, kind="VERTEX", name="m"):
    return mesh.decode(tensor_value(array, "mesh", content(kind, name), f"m_{kind}"))


@pytest.mark.parametrize("writer", WRITERS)
def test_a_mesh_of_any_writer_is_read_in_full(writer, tmp_path):
    values = written(
        writer,
        tmp_path,
        lambda w: w.add_mesh("m", VERTICES, COLORS, FACES, CONFIG, global_step=2),
    )
    parts = [mesh.decode(value) for stored in values.values() for value in stored]
    assert {(p.name, p.content, p.shape) for p in parts} == {
        ("m", "vertices", (1, 4, 3)),
        ("m", "faces", (1, 4, 3)),
        ("m", "colors", (1, 4, 3)),
    }
    whole = mesh.combine(parts)
    assert whole.name == "m"
    assert whole.config == CONFIG
    assert whole.vertices.tolist() == VERTICES.tolist()
    assert (whole.faces.dtype, whole.faces.tolist()) == (np.int64, FACES.tolist())
    assert (whole.colors.dtype, whole.colors.tolist()) == (np.uint8, COLORS.tolist())


def test_a_point_cloud_has_no_faces_and_no_colors():
    cloud = mesh.combine([part(VERTICES.numpy())])
    assert cloud.faces is None
    assert cloud.colors is None
    assert cloud.config == {}


def test_metadata_of_an_earlier_value_replaces_missing_metadata():
    value = tensor_value(VERTICES.numpy(), tag="pc_VERTEX")
    with pytest.raises(ValueError, match="does not specify whether"):
        mesh.decode(value)
    assert mesh.decode(value, content(name="")).name == "pc"


def test_colors_that_are_not_bytes_are_unchanged():
    colors = np.full((1, 4, 3), 0.5, np.float32)
    whole = mesh.combine([part(VERTICES.numpy()), part(colors, "COLOR")])
    assert whole.colors.tolist() == colors.tolist()


def test_parts_that_do_not_make_a_mesh_are_a_value_error():
    with pytest.raises(ValueError, match="no vertices"):
        mesh.combine([part(FACES.numpy(), "FACE")])
    with pytest.raises(ValueError, match="different names"):
        mesh.combine([part(VERTICES.numpy()), part(FACES.numpy(), "FACE", name="other")])


def test_bad_metadata_or_tensor_is_a_value_error():
    for array, metadata, fact in (
        (VERTICES.numpy(), b"\x12\xff", "not a MeshPluginData"),
        (VERTICES.numpy(), content(config="{"), "not JSON"),
        (VERTICES.numpy(), content(config="[" * 100_000), "not JSON"),
        (np.zeros((2, 4)), content(), r"rows of 3 numbers, not \(2, 4\) float64"),
    ):
        with pytest.raises(ValueError, match=fact):
            mesh.decode(tensor_value(array, "mesh", metadata))


@given(st.binary())
def test_arbitrary_metadata_gives_a_part_or_value_error(metadata):
    with suppress(ValueError):
        mesh.combine([mesh.decode(tensor_value(VERTICES.numpy(), "mesh", metadata))])
