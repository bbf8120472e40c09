"""Graphs and run metadata as tables."""

import json

import pytest
from helpers.logs import values, write
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef

import runfold as rf
from runfold._events.value_encoding import tensor
from runfold._tables.frames.column_values import objects

GRAPH = GraphDef()
GRAPH.node.add(name="x", op="Placeholder")
GRAPH.node.add(name="y", op="Relu", input=["x"])
LAYER = {"class_name": "Dense", "config": {"name": "dense"}, "name": "dense", "inbound_nodes": []}
KERAS = {"class_name": "Sequential", "config": {"name": "model", "layers": [LAYER]}}


def string(tag, content, plugin):
    return tensor(tag, objects([content]).reshape(()), plugin)


def test_graphs_of_events_and_keras_models_are_graphs(tmp_path):
    def add(buffer):
        buffer.graph(GRAPH.SerializeToString(), 10.0)

    keras = string("keras", json.dumps(KERAS).encode(), "graph_keras_model")
    write(tmp_path, add, values(keras))
    table = rf.open(tmp_path).graphs()
    assert table["tag"].tolist() == ["", "keras"]
    assert table["nodes"].tolist() == [2, 1]
    first, second = table["graph"]
    assert first.proto() == GRAPH
    assert second.ops == ["Dense"]
    assert rf.open(tmp_path).graphs("keras")["nodes"].tolist() == [1]


def test_undecodable_graph_is_a_problem_and_the_others_are_kept(tmp_path):
    keras = string("broken", b"not JSON", "graph_keras_model")
    good = string("good", json.dumps(KERAS).encode(), "graph_keras_model")
    write(tmp_path, values(keras, good))
    runs = rf.open(tmp_path)
    assert runs.graphs()["tag"].tolist() == ["good"]
    assert runs.problems()["code"].tolist() == ["bad-value"]


@pytest.mark.parametrize("plugin", ["graph_run_metadata", "graph_run_metadata_graph"])
def test_graphs_of_traced_functions_are_in_the_run_metadata(tmp_path, plugin):
    metadata = RunMetadata()
    metadata.function_graphs.add().pre_optimization_graph.CopyFrom(GRAPH)
    metadata.function_graphs.add()
    write(tmp_path, values(string("trace", metadata.SerializeToString(), plugin)))
    table = rf.open(tmp_path).run_metadata()
    assert table["tag"].tolist() == ["trace"]
    (graph,) = table["metadata"][0].graphs()
    assert graph.names == ["x", "y"]
    assert table["metadata"][0].proto() == metadata


def test_run_metadata_without_graphs_has_none(tmp_path):
    def add(buffer):
        buffer.run_metadata("step", RunMetadata().SerializeToString(), 5, 10.0)

    write(tmp_path, add)
    (row,) = rf.open(tmp_path).run_metadata().itertuples()
    assert (row.tag, row.step, row.metadata.graphs()) == ("step", 5, [])
