"""Training scripts for torch's and tensorboardX's writers work if only the import is changed."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.script_logs import charts, embeddings, graphs, hparams, read, wall_times

OURS = "from runfold import SummaryWriter"
THEIRS = {
    "torch": "from torch.utils.tensorboard import SummaryWriter",
    "tensorboardX": "from tensorboardX import SummaryWriter",
}

# Methods that both writers have.
TRAINING = """
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch

matplotlib.use("Agg")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
inputs = torch.randn(32, 4)
labels = (inputs.sum(dim=1) > 0).long()
pictures = torch.rand(4, 3, 8, 8)
boxes = torch.tensor([[1, 1, 5, 5], [2, 3, 7, 6]])

writer = SummaryWriter(sys.argv[1], flush_secs=30, filename_suffix=".small")
writer.add_graph(model, inputs)
writer.add_text("notes", "A *small* model | 1 | 2 |")
for step in range(5):
    optimizer.zero_grad()
    outputs = model(inputs)
    loss = torch.nn.functional.cross_entropy(outputs, labels)
    loss.backward()
    optimizer.step()
    accuracy = (outputs.argmax(dim=1) == labels).float().mean()
    writer.add_scalar("train/loss", loss, step)
    writer.add_scalar("train/loss_item", loss.item(), global_step=step, walltime=1.7e9 + step)
    writer.add_scalar("train/epoch", step, step)
    writer.add_scalar("train/accuracy", accuracy.numpy(), step)
    writer.add_scalars("split/loss", {"train": loss.item(), "val": loss.item() + 1}, step)
    for name, parameter in model.named_parameters():
        writer.add_histogram(f"weights/{name}", parameter, step)
        writer.add_histogram(f"gradients/{name}", parameter.grad, step, bins="auto", max_bins=4)
    writer.add_histogram_raw("raw", 0, 2, 3, 3.5, 5.25, [1.0, 2.0], [1, 2], step)
    writer.add_pr_curve("pr", labels, outputs.softmax(dim=1)[:, 1], step)
    writer.add_image("samples/one", pictures[0], step)
    writer.add_image("samples/gray", pictures[0, 0], step, dataformats="HW")
    writer.add_image("samples/bytes", np.arange(48, dtype=np.uint8).reshape(4, 4, 3), step,
                     dataformats="HWC")
    writer.add_images("samples/four", pictures, step)
    writer.add_image_with_boxes("samples/boxes", pictures[0], boxes, step, labels=["a", "b"])
    figure, axes = plt.subplots(figsize=(2, 2))
    axes.plot([1, 2, 3], [3, 1, 2])
    writer.add_figure("figure", figure, step)
    writer.flush()
writer.add_pr_curve_raw("pr_raw", [4, 3], [4, 1], [0, 3], [0, 1], [0.5, 0.75], [1, 0.75], 1,
                        num_thresholds=2)
writer.add_video("film", torch.rand(1, 3, 3, 8, 8), 1, fps=2)
writer.add_mesh("mesh", torch.rand(1, 5, 3), colors=torch.randint(0, 255, (1, 5, 3)),
                faces=torch.tensor([[[0, 1, 2], [2, 3, 4]]]), config_dict={"fov": 75})
writer.add_embedding(inputs[:4], metadata=["a", "b", "c", "d"], label_img=pictures,
                     global_step=4, tag="inputs")
writer.add_embedding(inputs[:2], metadata=[["a", 1], ["b", 2]], metadata_header=["name", "number"])
writer.add_custom_scalars({"Both": {"loss": ["Multiline", ["train/loss", "split/loss/val"]]}})
writer.add_custom_scalars_multilinechart(["train/.*"], category="More", title="all")
writer.add_custom_scalars_marginchart(["train/loss", "low", "high"], category="Most")
"""
# Like Runfold's, the peers' writers need the package onnx for this.
ONNX = """
import onnx
info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy"]
node = onnx.helper.make_node("Relu", ["x"], ["y"])
graph = onnx.helper.make_graph([node], "relu", info[:1], info[1:])
onnx.save(onnx.helper.make_model(graph), sys.argv[1] + "/relu.onnx")
writer.add_onnx_graph(sys.argv[1] + "/relu.onnx")
"""
REST = {
    "torch": """
writer.add_audio("sound", torch.linspace(-1, 1, 50), 3, sample_rate=8000)
writer.add_tensor("activations", outputs.detach(), step)
writer.add_scalar("new", 0.5, 1, None, True)
writer.add_scalar("double", 0.1, 1, new_style=True, double_precision=True)
writer.add_image_with_boxes("twice", pictures[0], boxes, 1, None, 2)
writer.add_hparams({"lr": 0.5, "layers": 2, "optimizer": "sgd", "bias": True},
                   {"hparam/loss": loss.item()}, {"lr": [0.1, 0.5]}, "trial", 4)
assert writer.get_logdir() == sys.argv[1]
writer.close()
with SummaryWriter(log_dir=sys.argv[1], comment="more", max_queue=5) as writer:
    writer.add_scalar("later", 0.25, 7)
""",
    # tensorboardX has no add_tensor, and its add_audio needs soundfile.
    "tensorboardX": """
writer.add_scalar("described", 0.5, 1, display_name="shown", summary_description="beside")
with writer.use_metadata(global_step=12, walltime=1.7e9):
    writer.add_scalar("without_step", 0.5)
    writer.add_text("without_step/text", "text")
writer.add_hparams({"lr": 0.5, "layers": 2, "optimizer": "sgd", "bias": True},
                   {"hparam/loss": loss.item()}, name="trial", global_step=4)
writer.export_scalars_to_json(sys.argv[1] + "/scalars.json")
assert writer.logdir == sys.argv[1]
writer.close()
with SummaryWriter(logdir=sys.argv[1], comment="more", max_queue=5, write_to_disk=True) as writer:
    writer.add_scalar("later", 0.25, 7)
""",
}

# Without moviepy, the peers' writers log no video.
VIDEO = ("images", "film")
# Runfold draws the same boxes, but in one color per label.
BOXES = {("images", "samples/boxes"), ("images", "twice")}


def run(script: str, logdir: Path, *options: str) -> Path:
    file = logdir.with_name("train.py")
    file.write_text(script)
    command = [sys.executable, *options, str(file), str(logdir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=logdir.parent)
    assert done.returncode == 0, done.stderr
    return logdir


@pytest.mark.parametrize("peer", THEIRS)
def test_a_script_logs_the_same_with_another_import(peer: str, tmp_path: Path):
    onnx = ONNX if importlib.util.find_spec("onnx") else ""
    script = f"{THEIRS[peer]}\n{TRAINING}{onnx}{REST[peer]}"
    theirs = run(script, tmp_path / peer)
    # With Runfold's writer, a warning fails the script.
    changed = script.replace(THEIRS[peer], OURS)
    ours = run(changed, tmp_path / "runfold", "-W", "error::UserWarning")
    compare_values(ours, theirs)
    for tag in ("train/loss_item", "without_step"):
        assert wall_times(ours, tag) == wall_times(theirs, tag)
    assert hparams(ours) == hparams(theirs)
    assert graphs(ours) == graphs(theirs)
    assert embeddings(ours) == embeddings(theirs)
    # Runfold's add_scalars also adds a chart.
    added = {key: chart for key, chart in charts(ours).items() if key != ("split", "split/loss")}
    assert added == charts(theirs)
    if peer == "tensorboardX":
        compare_exports(ours, theirs)
    # There is one run, with one file per writer, and its named trial.
    assert {file.parent for file in ours.rglob("*tfevents*")} == {ours, ours / "trial"}
    assert len(list(ours.glob("*tfevents*"))) == 2


def compare_values(ours: Path, theirs: Path) -> None:
    found, expected = read(ours), read(theirs)
    found = {key: values for key, values in found.items() if not key[1].startswith("runfold/")}
    assert set(found) - {VIDEO} == set(expected) - {VIDEO}
    assert VIDEO in found
    for key, values in expected.items():
        if key in BOXES:
            assert [step for step, _ in found[key]] == [step for step, _ in values]
        elif key != VIDEO:
            assert found[key] == values, key


def compare_exports(ours: Path, theirs: Path) -> None:
    """Compare exports: tensorboardX's has only add_scalars' values, Runfold's has all values."""
    found, expected = (
        json.loads((folder / "scalars.json").read_text()) for folder in (ours, theirs)
    )
    assert len(expected) == 2
    for name, points in expected.items():
        other = found[str(ours / Path(name).relative_to(theirs))]
        assert [step for _, step, _ in other] == [step for _, step, _ in points]
        assert [value for *_, value in other] == [float(np.float32(value)) for *_, value in points]
