"""Graphs and run metadata, from torch, Keras and TensorFlow."""

import json
from contextlib import suppress

import pytest
import torch
from helpers.kind_values import events, tensor_value
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from torch.utils.tensorboard import SummaryWriter

from runfold._events.kinds import graph, run_metadata
from runfold._events.kinds.graph import Node

KERAS = {
    "class_name": "Sequential",
    "config": {
        "name": "net",
        "layers": [
            {"class_name": "Dense", "config": {"name": "hidden", "dtype": "float32"}},
            {"class_name": "Dense", "config": {"name": "out", "dtype": "float32"}},
        ],
    },
}


def small_graph():
    proto = GraphDef()
    proto.node.add(name="x", op="Placeholder")
    proto.node.add(name="y", op="Relu", input=["x"])
    return proto


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from torch's tracing
def test_a_torch_graph_is_read_with_its_run_metadata(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(torch.nn.Linear(2, 1), torch.zeros(1, 2))
    (event,) = (event for event in events(tmp_path) if event.HasField("graph_def"))
    expected = GraphDef.FromString(event.graph_def)
    got = graph.decode(event.graph_def)
    assert len(got) == len(expected.node) > 0
    assert got.names == [node.name for node in expected.node]
    assert got.ops == [node.op for node in expected.node]
    assert [list(node.inputs) for node in got.nodes] == [list(n.input) for n in expected.node]
    assert got.proto() == expected
    (tagged,) = (
        event.tagged_run_metadata
        for event in events(tmp_path)
        if event.HasField("tagged_run_metadata")
    )
    metadata = run_metadata.decode(tagged.SerializeToString())
    assert metadata.tag == tagged.tag
    assert metadata.proto() == RunMetadata.FromString(tagged.run_metadata)


def test_the_graph_in_a_meta_graph_is_read():
    meta = MetaGraphDef(graph_def=small_graph())
    meta.meta_info_def.tags.append("train")
    got = graph.decode_meta(meta.SerializeToString())
    assert got.nodes == [Node("x", "Placeholder", ()), Node("y", "Relu", ("x",))]
    with pytest.raises(ValueError, match="no graph"):
        graph.decode_meta(b"")


def test_a_keras_model_becomes_a_graph_of_layers():
    value = tensor_value(json.dumps(KERAS).encode(), "graph_keras_model", b"1")
    got = graph.decode_value(value)
    assert got.names == ["net/hidden", "net/out"]
    assert got.ops == ["Dense", "Dense"]
    assert got.config == KERAS
    assert len(got.proto().node) == 2


def test_the_plugin_of_an_earlier_value_replaces_missing_metadata():
    value = tensor_value(json.dumps(KERAS).encode())
    assert len(graph.decode_value(value, "graph_keras_model")) == 2


@pytest.mark.parametrize("raw", [b"{", b"[]", b"{}", b'{"config": 1}', b"[" * 100_000])
def test_json_that_is_not_a_keras_model_is_a_value_error(raw):
    with pytest.raises(ValueError, match="Keras model"):
        graph.decode_value(tensor_value(raw, "graph_keras_model"))


def test_a_value_with_run_metadata_is_read():
    proto = RunMetadata()
    proto.function_graphs.add().pre_optimization_graph.CopyFrom(small_graph())
    value = tensor_value(proto.SerializeToString(), "graph_run_metadata", b"1", tag="step")
    got = run_metadata.decode_value(value)
    assert (got.tag, got.proto()) == ("step", proto)


def test_invalid_messages_fail_when_the_proto_is_requested():
    looks = b"\x0a\x02\x0a\x01"  # a node with a truncated name
    with pytest.raises(ValueError, match="runs past the end"):
        graph.decode(looks)
    with pytest.raises(ValueError, match="not a RunMetadata message"):
        run_metadata.RunMetadata("", looks).proto()


@given(st.binary())
def test_arbitrary_bytes_give_value_error_or_a_result(raw):
    for decode in (
        graph.decode,
        graph.decode_meta,
        graph.decode_value,
        run_metadata.decode,
        run_metadata.decode_value,
    ):
        with suppress(ValueError):
            decode(raw).proto()
