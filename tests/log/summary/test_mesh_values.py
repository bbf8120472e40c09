"""add_mesh: the same values as with torch, in both TensorBoard readers and in Runfold."""

import numpy as np
import pytest
import torch
from helpers.kind_values import stored
from helpers.log_pairs import read_tensors
from helpers.tensorboard_readers import READERS
from helpers.writers import COLORS, FACES, MESH_CONFIG, STEPS, TIMES, VERTICES
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf
from runfold import SummaryWriter
from runfold.errors import CannotLog

PARTS = {"vertices": VERTICES, "colors": COLORS, "faces": FACES}


@pytest.mark.parametrize("names", [("vertices",), ("vertices", "colors"), tuple(PARTS)])
@pytest.mark.parametrize("config", [None, MESH_CONFIG])
@pytest.mark.parametrize("convert", [torch.from_numpy, np.ndarray.tolist])
def test_a_mesh_is_stored_as_in_torch(names, config, convert, tmp_path):
    for name, writer in {"torch": TorchWriter, "ours": SummaryWriter}.items():
        with writer(str(tmp_path / name)) as log:
            parts = {part: convert(PARTS[part]) for part in names}
            for step, time in zip(STEPS, TIMES, strict=True):
                log.add_mesh("a/b", **parts, config_dict=config, global_step=step, walltime=time)
    ours = stored(tmp_path / "ours")
    assert len(ours) == len(names)
    assert ours == stored(tmp_path / "torch")


@pytest.mark.parametrize("reader", READERS)
def test_both_tensorboard_readers_read_the_same_as_for_torch(reader, tmp_path):
    for name, writer in {"torch": TorchWriter, "ours": SummaryWriter}.items():
        with writer(str(tmp_path / name)) as log:
            log.add_mesh("m", *map(torch.from_numpy, PARTS.values()), global_step=3, walltime=5.0)
    found = read_tensors(reader, tmp_path, "mesh")
    assert found["ours"] == found["torch"]
    assert found["ours"]["m_VERTEX"] == [(3, 5.0, VERTICES.tolist())]


def test_the_numbers_of_a_mesh_are_in_float_val(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("m", VERTICES, COLORS, FACES)
    log = EventAccumulator(str(tmp_path)).Reload()
    parts: dict[str, np.ndarray] = {"m_VERTEX": VERTICES, "m_COLOR": COLORS, "m_FACE": FACES}
    for tag, array in parts.items():
        (event,) = log.Tensors(tag)
        assert list(event.tensor_proto.float_val) == array.ravel().tolist()


def test_numbers_beyond_float32_become_infinite_as_in_torch(tmp_path):
    wide = torch.full((1, 2, 3), 1e300, dtype=torch.float64)
    for name, writer in {"torch": TorchWriter, "ours": SummaryWriter}.items():
        with writer(str(tmp_path / name)) as log:
            log.add_mesh("m", wide, global_step=1, walltime=5.0)
    assert stored(tmp_path / "ours") == stored(tmp_path / "torch")


def test_runfold_reads_the_mesh(tmp_path):
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_mesh("mesh", VERTICES, COLORS, FACES, MESH_CONFIG, 3)
    table = rf.open(tmp_path).meshes()
    assert (table["tag"].tolist(), table["step"].tolist()) == (["mesh"], [3])
    for name, array in PARTS.items():
        assert np.array_equal(table[name][0], array)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vertices": VERTICES[0]}, r"'m': vertices .*shape \(batch, n, 3\).*\(4, 3\)"),
        ({"vertices": VERTICES[..., :2]}, r"'m': vertices .*\(1, 4, 2\)"),
        ({"vertices": None}, "'m': vertices cannot be NoneType"),
        ({"vertices": "x"}, "'m': vertices cannot be str"),
        ({"vertices": VERTICES * 1j}, "'m': vertices .*complex"),
        ({"vertices": VERTICES, "colors": COLORS[:, :2]}, r"'m': colors .*\(1, 4, 3\)"),
        ({"vertices": VERTICES, "faces": [[1, 2, 3]]}, r"'m': faces .*\(1, 3\)"),
        ({"vertices": VERTICES, "config_dict": {"a": {1}}}, "'m': config_dict .*JSON"),
        ({"vertices": VERTICES, "global_step": "one"}, "'m': global_step"),
    ],
)
def test_invalid_input_raises_with_tag_and_argument(arguments, message, tmp_path):
    with SummaryWriter(tmp_path, on_error="raise") as writer:
        writer.add_scalar("loss", 0.5, 1)
        with pytest.raises(CannotLog, match=message):
            writer.add_mesh("m", **arguments)
    assert rf.open(tmp_path).tags == {"scalar": ["loss"]}


def test_a_tag_that_is_not_a_str_raises(tmp_path):
    with (
        SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(CannotLog, match=r"'7': tag .*a str"),
    ):
        writer.add_mesh(7, VERTICES)
