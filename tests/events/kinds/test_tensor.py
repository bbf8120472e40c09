"""Tensors that belong to no plugin."""

from contextlib import suppress

import numpy as np
import pytest
from helpers.kind_values import tensor_value, written
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from torch import arange
from torch.utils.tensorboard import SummaryWriter

from runfold._events.kinds import KINDS, PLUGIN_KINDS, tensor


def test_a_torch_tensor_keeps_its_shape_and_dtype(tmp_path):
    data = arange(6).reshape(2, 3)
    values = written(SummaryWriter, tmp_path, lambda w: w.add_tensor("t", data.double(), 1))
    got = tensor.decode(values["t"][0])
    assert got.dtype == np.float64
    assert got.tolist() == data.tolist()


def test_strings_are_returned_as_bytes():
    got = tensor.decode(tensor_value(np.array([b"a", b"\xff"], dtype=object)))
    assert got.tolist() == [b"a", b"\xff"]


def test_a_tensor_in_two_pieces_is_merged_like_in_protobuf():
    whole = Summary.Value.FromString(tensor_value(np.arange(3, dtype=np.int64)))
    pieces = [Summary.Value(), Summary.Value()]
    pieces[0].tensor.dtype = whole.tensor.dtype
    pieces[0].tensor.tensor_shape.CopyFrom(whole.tensor.tensor_shape)
    pieces[1].tensor.tensor_content = whole.tensor.tensor_content
    raw = b"".join(piece.SerializeToString() for piece in pieces)
    assert tensor.decode(raw).tolist() == [0, 1, 2]


def test_the_last_form_of_a_value_wins():
    raw = Summary.Value(simple_value=1.0).SerializeToString()
    assert tensor.decode(raw + tensor_value(np.arange(2))).tolist() == [0, 1]
    with pytest.raises(ValueError, match="the value contains a simple value"):
        tensor.decode(tensor_value(np.arange(2)) + raw)


@given(st.binary())
def test_arbitrary_bytes_give_a_tensor_or_value_error(raw):
    with suppress(ValueError):
        tensor.decode(raw)


def test_every_plugin_maps_to_a_known_kind():
    assert set(PLUGIN_KINDS.values()) <= set(KINDS)
