"""add_graph and add_onnx_graph: the graphs from torch's converters, stored as in torch."""

import importlib.util
import subprocess
import sys

import pytest
import tensorboardX
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf
from runfold import SummaryWriter
from runfold.errors import CannotLog


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 2))

    def forward(self, x, scale=None):
        y = self.layers(x)
        return y if scale is None else y * scale


ROWS = torch.zeros(2, 3)


def read(folder):
    """Return the graph and the run metadata, as TensorBoard reads them."""
    accumulator = EventAccumulator(str(folder)).Reload()
    tags = accumulator.Tags()
    metadata = {tag: accumulator.RunMetadata(tag) for tag in tags["run_metadata"]}
    return accumulator.Graph(), metadata, tags


@pytest.mark.parametrize("given", [ROWS, (ROWS,), (ROWS, torch.ones(2))])
def test_a_graph_is_stored_as_in_torch(given, tmp_path):
    model = Model().train()
    for name, writer in {"torch": TorchWriter, "ours": SummaryWriter}.items():
        with writer(str(tmp_path / name)) as log:
            log.add_graph(model, given)
    ours = read(tmp_path / "ours")
    assert len(ours[0].node) > 5
    assert list(ours[1]) == ["step1"]
    assert ours == read(tmp_path / "torch")
    assert model.training


def test_the_nodes_are_the_same_as_in_tensorboardx(tmp_path):
    for name, writer in {"x": tensorboardX.SummaryWriter, "ours": SummaryWriter}.items():
        with writer(str(tmp_path / name)) as log:
            log.add_graph(Model(), input_to_model=ROWS, verbose=False)
    x, ours = (rf.open(tmp_path / name).graphs()["graph"][0] for name in ("x", "ours"))
    assert ours.ops == x.ops


def test_verbose_prints_the_graph(tmp_path, capsys):
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(Model(), ROWS)
        assert capsys.readouterr().out == ""
        writer.add_graph(Model(), ROWS, verbose=True)
    assert "aten::linear" in capsys.readouterr().out


def test_an_object_that_is_not_a_model_raises(tmp_path):
    with SummaryWriter(tmp_path, on_error="raise") as writer:
        writer.add_scalar("loss", 0.5, 1)
        for model in (None, "resnet", ROWS, Model):
            with pytest.raises(CannotLog, match=r"model cannot be .* expected a torch\.nn\.Module"):
                writer.add_graph(model, ROWS)
    assert rf.open(tmp_path).tags == {"scalar": ["loss"]}


def test_a_model_that_cannot_be_traced_raises_torchs_error_with_a_note(tmp_path):
    with SummaryWriter(tmp_path, on_error="raise") as writer:
        writer.add_scalar("loss", 0.5, 1)
        with pytest.raises(RuntimeError, match="shapes") as caught:
            writer.add_graph(Model(), torch.zeros(2, 5))
        (note,) = caught.value.__notes__
        assert note == (
            "add_graph: model Model could not be traced with this input_to_model "
            "(Tensor of shape (2, 5)). Nothing was logged by this call."
        )
        with pytest.raises(RuntimeError) as caught:
            writer.add_graph(Model())
        assert "(NoneType)" in caught.value.__notes__[0]
    assert rf.open(tmp_path).tags == {"scalar": ["loss"]}


def test_without_torch_the_error_says_so(tmp_path):
    code = """if True:
        import sys
        from runfold import SummaryWriter
        try:
            with SummaryWriter(sys.argv[1], on_error="raise") as writer:
                writer.add_graph(object())
        except ValueError as error:
            print(error)
        assert "torch" not in sys.modules
    """
    command = [sys.executable, "-c", code, str(tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.startswith("add_graph: model is a object, but torch is not imported")


OPENVINO = """<?xml version="1.0"?>
<net name="model" version="11">
  <layers>
    <layer id="0" name="input" type="Parameter"><data shape="1,3" element_type="f32"/></layer>
    <layer id="1" name="weights" type="Const"/>
    <layer id="2" name="product/all" type="MatMul"><data transpose_a="false"/></layer>
    <layer id="3" name="output" type="Result"/>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
  </edges>
</net>
"""


def test_an_openvino_graph_has_tensorboardxs_edges_and_one_node_per_layer(tmp_path):
    file = tmp_path / "model.xml"
    file.write_text(OPENVINO)
    graphs = {}
    for name, writer in {"x": tensorboardX.SummaryWriter, "ours": SummaryWriter}.items():
        with writer(str(tmp_path / name)) as log:
            log.add_openvino_graph(file if name == "ours" else str(file))
        accumulator = EventAccumulator(str(tmp_path / name)).Reload()
        graphs[name] = accumulator.Graph()
    edges = {
        name: [(node.name, source) for node in graph.node for source in node.input]
        for name, graph in graphs.items()
    }
    assert edges["ours"] == edges["x"]
    nodes = [(node.name, node.op, node.attr["parameters"].s) for node in graphs["ours"].node]
    assert nodes == [
        ("input", "Parameter", b"shape=1,3, element_type=f32"),
        ("weights", "Const", b""),
        ("product/all", "MatMul", b"transpose_a=false"),
        ("output", "Result", b""),
    ]
    assert rf.open(tmp_path / "ours").graphs()["graph"][0].ops == [
        "Parameter",
        "Const",
        "MatMul",
        "Result",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not XML", "ParseError"),
        ("<net/>", "it has no layers"),
        ('<net><layers><layer id="0"/></layers></net>', "KeyError: 'name'"),
        (OPENVINO.replace('to-layer="3"', 'to-layer="9"'), "KeyError: '9'"),
    ],
)
def test_a_file_that_is_not_an_openvino_model_raises(tmp_path, content, message):
    file = tmp_path / "model.xml"
    file.write_text(content)
    with SummaryWriter(tmp_path / "run", on_error="raise") as writer:
        with pytest.raises(CannotLog, match=rf"model\.xml is not an OpenVINO model.*{message}"):
            writer.add_openvino_graph(file)
        with pytest.raises(FileNotFoundError):
            writer.add_openvino_graph(tmp_path / "missing.xml")
    assert rf.open(tmp_path / "run").graphs().empty


def test_add_onnx_graph_reports_a_missing_package_or_file(tmp_path):
    has_onnx = importlib.util.find_spec("onnx") is not None
    error, message = (OSError, r"model\.onnx") if has_onnx else (ImportError, "pip install onnx")
    with SummaryWriter(tmp_path, on_error="raise") as writer:
        with pytest.raises(error, match=message):
            writer.add_onnx_graph("model.onnx")
        with pytest.raises(error, match=message):
            writer.add_onnx_graph(onnx_model_file="model.onnx")
        with pytest.raises(TypeError, match="requires the path"):
            writer.add_onnx_graph()
