"""Short lists are filled up; shapes that do not match their values are rejected."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import types_pb2
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.util.tensor_util import make_ndarray, make_tensor_proto

from runfold._core.tensor_proto import (
    MAX_REPEATED,
    MalformedTensor,
    decode_number,
    decode_tensor,
    fits_shape,
)


def tensor(dtype: int, *shape: int, **fields: Any) -> bytes:
    dims = [TensorShapeProto.Dim(size=size) for size in shape]
    message = TensorProto(dtype=dtype, tensor_shape=TensorShapeProto(dim=dims), **fields)
    data: bytes = message.SerializeToString()
    return data


FLOAT, INT32, INT64 = types_pb2.DT_FLOAT, types_pb2.DT_INT32, types_pb2.DT_INT64
STRING, COMPLEX64, UINT8 = types_pb2.DT_STRING, types_pb2.DT_COMPLEX64, types_pb2.DT_UINT8
SAMPLES = [
    make_tensor_proto(np.arange(6, dtype=np.float32).reshape(2, 3)).SerializeToString(),
    make_tensor_proto(["one", "two"]).SerializeToString(),
    tensor(INT64, 3, int64_val=[-1, 0, 2**40]),
    tensor(COMPLEX64, 1, scomplex_val=[1.0, 2.0]),
    tensor(FLOAT, float_val=[0.25]),
]


def test_a_short_list_repeats_its_last_value() -> None:
    assert decode_tensor(tensor(FLOAT, 2, 2, float_val=[1, 2])).tolist() == [[1, 2], [2, 2]]
    assert decode_tensor(tensor(STRING, 3, string_val=[b"a", b"b"])).tolist() == [b"a", b"b", b"b"]
    assert decode_tensor(tensor(COMPLEX64, 2, scomplex_val=[1, 2])).tolist() == [1 + 2j, 1 + 2j]


def test_one_listed_value_fills_the_shape_as_in_tensorboard() -> None:
    for shape in [(4,), (2, 3), (0,), (1, 0)]:
        data = tensor(INT32, *shape, int_val=[-7])
        expected = make_ndarray(TensorProto.FromString(data))
        np.testing.assert_array_equal(decode_tensor(data), expected, strict=True)


def test_an_empty_list_means_zeros() -> None:
    assert decode_tensor(tensor(FLOAT, 2)).tolist() == [0, 0]
    assert decode_tensor(tensor(STRING, 2)).tolist() == [b"", b""]
    assert decode_tensor(tensor(FLOAT, 0, 5)).shape == (0, 5)
    assert decode_number(tensor(INT64)) == (0.0, False)


def test_content_takes_precedence_over_a_list() -> None:
    both = tensor(FLOAT, tensor_content=np.float32(1).tobytes(), float_val=[2, 3])
    assert decode_tensor(both).item() == 1
    assert decode_number(both) == (1.0, False)


def test_listed_integers_wrap_as_in_tensorflow() -> None:
    assert decode_tensor(tensor(UINT8, 2, int_val=[-1, 300])).tolist() == [255, 44]
    assert decode_number(tensor(UINT8, int_val=[300])) == (44.0, False)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            tensor(FLOAT, 3, 4, tensor_content=bytes(20)),
            r"shape \(3, 4\) needs 12 values, but the content has 5$",
        ),
        (tensor(FLOAT, 2, tensor_content=bytes(7)), "7 bytes of content"),
        (tensor(FLOAT, 0, tensor_content=bytes(4)), "needs 0 values, but the content has 1$"),
        (tensor(FLOAT, 2, float_val=[1, 2, 3]), "needs 2 values, but the list has 3$"),
        (tensor(COMPLEX64, 2, scomplex_val=[1, 2, 3]), "whole complex numbers"),
        (tensor(FLOAT, -1, float_val=[1]), r"shape \(-1,\) is negative, unknown or too large"),
        (tensor(FLOAT, 2**40, 2**40, float_val=[1]), "too large"),
        (tensor(FLOAT, 0, 2**62, 2**62), "too large"),
        (tensor(FLOAT, *[1] * 33), "33 dimensions"),
        (tensor(STRING, 1, tensor_content=b"\1a"), "strings in tensor_content"),
        (tensor(types_pb2.DT_VARIANT, 1), "dtype 21"),
        (b"", "dtype 0"),
        (b"\x0a", "not a TensorProto"),
        (b"\x08\x01\x2a\x03abc", "not a TensorProto"),
    ],
)
def test_invalid_tensors_are_rejected_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(MalformedTensor, match=message):
        decode_tensor(data)
    attempt(data)


@pytest.mark.parametrize(
    "data",
    [
        tensor(FLOAT, tensor_content=bytes(3)),
        tensor(FLOAT, tensor_content=bytes(8)),
        tensor(FLOAT, float_val=[1, 2]),
        tensor(FLOAT, -1, float_val=[1]),
        tensor(FLOAT, 2**40, 2**40, float_val=[1]),
        TensorProto(
            dtype=FLOAT, tensor_shape=TensorShapeProto(unknown_rank=True), float_val=[1]
        ).SerializeToString(),
    ],
)
def test_one_value_that_does_not_match_its_shape_is_rejected(data: bytes) -> None:
    with pytest.raises(MalformedTensor):
        decode_number(data)
    with pytest.raises(MalformedTensor):
        decode_tensor(data)


@pytest.mark.parametrize("fields", [{"tensor_content": bytes(4)}, {"float_val": [1.0]}, {}])
@pytest.mark.parametrize("size", [MAX_REPEATED + 1, 10**12, 2**56])
def test_a_huge_shape_takes_no_memory(size: int, fields: dict[str, Any]) -> None:
    data = tensor(FLOAT, size, **fields)
    tracemalloc.start()
    with pytest.raises(MalformedTensor, match=f"needs {size} values"):
        decode_tensor(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_tensor_cut_at_any_byte_decodes_or_is_rejected(sample: bytes) -> None:
    decode_tensor(sample)
    for end in range(len(sample)):
        attempt(sample[:end])


@given(st.binary(max_size=80))
def test_arbitrary_bytes_do_not_crash(data: bytes) -> None:
    attempt(data)


@given(st.sampled_from(SAMPLES), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255))))
def test_changed_bytes_do_not_crash(sample: bytes, changes: list[tuple[int, int]]) -> None:
    changed = bytearray(sample)
    for at, byte in changes:
        changed[at % len(changed)] = byte
    attempt(changed)


def attempt(data: bytes | bytearray) -> None:
    """Decode in both ways; if both succeed, they must give the same number."""
    try:
        array = decode_tensor(data)
        assert fits_shape(data)
    except MalformedTensor as error:
        array = None
        assert not fits_shape(data) or "cannot be read as an array" in str(error)
    try:
        number = decode_number(data)
    except MalformedTensor:
        assert array is None
        return
    if array is not None and number is not None:
        np.testing.assert_array_equal(float(array.item()), number[0])
