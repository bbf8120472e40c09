"""Graphs of torch and ONNX models, made by torch's converters, and of OpenVINO models."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any

from runfold._humanize import escape
from runfold.errors import CannotLog

_NOTHING = "Nothing was logged by this call."


def trace(
    model: Any, input_to_model: Any, verbose: bool, use_strict_trace: bool
) -> tuple[bytes, bytes]:
    """Return the serialized GraphDef and RunMetadata of a torch model.

    Raises CannotLog for any other object. Exceptions from the tracer and the model are re-raised
    with an added note about the input.
    """
    torch = sys.modules.get("torch")
    kind = type(model).__name__
    if torch is None:
        raise CannotLog(
            f"add_graph: model is a {kind}, but torch is not imported; only torch models can be "
            f"traced. {_NOTHING}"
        )
    if not isinstance(model, torch.nn.Module):
        raise CannotLog(
            f"add_graph: model cannot be {kind} {escape(repr(model), 60)}: expected a "
            f"torch.nn.Module. {_NOTHING}"
        )
    from torch.utils.tensorboard._pytorch_graph import graph

    try:
        graph_def, metadata = graph(model, input_to_model, verbose, use_strict_trace)
    except Exception as error:
        error.add_note(
            f"add_graph: model {kind} could not be traced with this input_to_model "
            f"({_describe(input_to_model)}). {_NOTHING}"
        )
        raise
    return graph_def.SerializeToString(), metadata.SerializeToString()


def read_onnx(path: str | os.PathLike[str]) -> bytes:
    """Return the serialized GraphDef of an ONNX file.

    Raises ImportError if onnx or torch is missing, OSError if the file cannot be read, and
    CannotLog if it is not an ONNX model.
    """
    try:
        import_module("onnx")
        from torch.utils.tensorboard._onnx_graph import load_onnx_graph
    except ImportError as error:
        raise ImportError(
            f"add_onnx_graph requires the packages onnx and torch ({error}). {_NOTHING} "
            "Install them with: pip install onnx torch",
            name=error.name,
        ) from error
    from google.protobuf.message import DecodeError

    try:
        with redirect_stdout(io.StringIO()):  # the converter prints the name of each node
            return bytes(load_onnx_graph(os.fspath(path)).SerializeToString())
    except DecodeError as error:
        raise CannotLog(f"{_show(path)} is not an ONNX model. {_NOTHING}") from error


def read_openvino(path: str | os.PathLike[str]) -> bytes:
    """Return the serialized GraphDef of an OpenVINO XML file, with one node per layer.

    Raises OSError if the file cannot be read, and CannotLog if it is not an OpenVINO model.
    """
    from xml.etree import ElementTree

    from tensorboard.compat.proto.graph_pb2 import GraphDef

    graph = GraphDef()
    graph.versions.producer = 22  # as in graphs from torch and tensorboardX
    nodes = {}
    try:
        root = ElementTree.parse(path).getroot()
        for layer in root.findall("layers/layer"):
            node = graph.node.add(name=layer.attrib["name"], op=layer.get("type", ""))
            settings = [setting for data in layer.findall("data") for setting in data.items()]
            node.attr["parameters"].s = ", ".join(map("=".join, settings)).encode()
            nodes[layer.attrib["id"]] = node
        for edge in root.findall("edges/edge"):
            nodes[edge.attrib["to-layer"]].input.append(nodes[edge.attrib["from-layer"]].name)
    except (ElementTree.ParseError, KeyError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise CannotLog(f"{_show(path)} is not an OpenVINO model ({reason}). {_NOTHING}") from error
    if not nodes:
        raise CannotLog(f"{_show(path)} is not an OpenVINO model: it has no layers. {_NOTHING}")
    return bytes(graph.SerializeToString())


def _show(path: str | os.PathLike[str]) -> str:
    return escape(os.fspath(path))


def _describe(given: Any) -> str:
    if isinstance(given, tuple | list):
        return ", ".join(map(_describe, given))
    shape = getattr(given, "shape", None)
    return type(given).__name__ + ("" if shape is None else f" of shape {tuple(shape)}")
