"""Tensors of every dtype, compared with TensorBoard's own reader and NumPy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import types_pb2
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.util.tensor_util import make_ndarray, make_tensor_proto

from runfold._core.tensor_proto import decode_number, decode_tensor

# dtype: (field of its list, NumPy's name, three values that cover its range)
DTYPES: dict[str, tuple[str, str, list[Any]]] = {
    "DT_FLOAT": ("float_val", "f4", [1.5, -0.0, 3.4e38]),
    "DT_DOUBLE": ("double_val", "f8", [0.1, -1e308, 5e-324]),
    "DT_HALF": ("half_val", "f2", [1.5, -65504, 6e-8]),
    "DT_INT8": ("int_val", "i1", [-128, 0, 127]),
    "DT_INT16": ("int_val", "i2", [-32768, 0, 32767]),
    "DT_INT32": ("int_val", "i4", [-(2**31), -1, 2**31 - 1]),
    "DT_INT64": ("int64_val", "i8", [-(2**53), -1, 2**53]),
    "DT_UINT8": ("int_val", "u1", [0, 1, 255]),
    "DT_UINT16": ("int_val", "u2", [0, 1, 65535]),
    "DT_UINT32": ("uint32_val", "u4", [0, 1, 2**32 - 1]),
    "DT_UINT64": ("uint64_val", "u8", [0, 1, 2**53]),
    "DT_QINT8": ("int_val", "i1", [-128, 0, 127]),
    "DT_QINT16": ("int_val", "i2", [-32768, 0, 32767]),
    "DT_QINT32": ("int_val", "i4", [-(2**31), -1, 2**31 - 1]),
    "DT_QUINT8": ("int_val", "u1", [0, 1, 255]),
    "DT_QUINT16": ("int_val", "u2", [0, 1, 65535]),
    "DT_BOOL": ("bool_val", "?", [True, False, True]),
    "DT_COMPLEX64": ("scomplex_val", "c8", [1 + 2j, -1j, 0.5]),
    "DT_COMPLEX128": ("dcomplex_val", "c16", [0.1 + 2j, -1j, 1e300]),
}
REAL = sorted(name for name in DTYPES if "COMPLEX" not in name)
# TensorBoard's reader does not support lists of these dtypes.
UNLISTED_IN_TENSORBOARD = {"DT_UINT32", "DT_UINT64"}


def proto(dtype: str, shape: list[int], **fields: Any) -> TensorProto:
    dims = [TensorShapeProto.Dim(size=size) for size in shape]
    number = types_pb2.DataType.Value(dtype)
    return TensorProto(dtype=number, tensor_shape=TensorShapeProto(dim=dims), **fields)


def listed(dtype: str, shape: list[int], values: list[Any]) -> TensorProto:
    field, name, _ = DTYPES[dtype]
    array = np.array(values, name)
    if dtype == "DT_HALF":
        array = array.view("u2")
    elif "COMPLEX" in dtype:
        array = array.view(array.real.dtype)
    return proto(dtype, shape, **{field: array.tolist()})


def stored(dtype: str, shape: list[int], values: list[Any]) -> TensorProto:
    return proto(dtype, shape, tensor_content=np.array(values, DTYPES[dtype][1]).tobytes())


def decode(message: TensorProto) -> np.ndarray[Any, Any]:
    return decode_tensor(message.SerializeToString())


def number(message: TensorProto) -> tuple[float, bool] | None:
    return decode_number(message.SerializeToString())


def by_tensorboard(message: TensorProto) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = make_ndarray(message)
    return array[array.dtype.names[0]] if array.dtype.names else array


@pytest.mark.parametrize("form", [listed, stored])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_dtype_survive_a_round_trip(dtype: str, form: Any) -> None:
    _, name, values = DTYPES[dtype]
    message = form(dtype, [3, 1], values)
    array = decode(message)
    assert array.flags.writeable
    np.testing.assert_array_equal(array, np.array(values, name).reshape(3, 1), strict=True)
    if form is stored or dtype not in UNLISTED_IN_TENSORBOARD:
        np.testing.assert_array_equal(array, by_tensorboard(message), strict=True)


@pytest.mark.parametrize("shape", [[], [1], [1, 1, 1]])
@pytest.mark.parametrize("form", [listed, stored])
@pytest.mark.parametrize("dtype", REAL)
def test_one_element_of_every_real_dtype_is_a_number(
    dtype: str, form: Any, shape: list[int]
) -> None:
    _, name, values = DTYPES[dtype]
    for value in values:
        expected = float(np.array(value, name))
        assert number(form(dtype, shape, [value])) == (expected, False)


@pytest.mark.parametrize("dtype", ["DT_COMPLEX64", "DT_COMPLEX128"])
def test_complex_numbers_and_strings_are_not_numbers(dtype: str) -> None:
    assert number(listed(dtype, [], [1j])) is None
    assert number(make_tensor_proto("1.5")) is None
    assert number(proto("DT_RESOURCE", [])) is None
    assert number(TensorProto()) is None


def test_several_or_no_elements_are_not_a_number() -> None:
    assert number(make_tensor_proto([1.0, 2.0])) is None
    assert number(proto("DT_FLOAT", [0])) is None


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("DT_INT64", 2**53 + 1),
        ("DT_INT64", -(2**53) - 1),
        ("DT_INT64", 2**63 - 1),
        ("DT_INT64", -(2**63) + 1),
        ("DT_UINT64", 2**53 + 1),
        ("DT_UINT64", 2**64 - 1),
    ],
)
def test_an_integer_beyond_double_precision_is_rounded_and_flagged(dtype: str, value: int) -> None:
    for form in (listed, stored):
        assert number(form(dtype, [], [value])) == (float(value), True)
        assert decode(form(dtype, [], [value])).item() == value


def test_large_integers_within_double_precision_are_exact() -> None:
    for value in (2**62, -(2**62), -(2**63), 2**60 + 2**10):
        assert number(listed("DT_INT64", [], [value])) == (float(value), False)
    assert number(stored("DT_UINT64", [], [2**63])) == (float(2**63), False)


def test_every_half_matches_numpy() -> None:
    every = np.arange(2**16, dtype="<u2")
    content = proto("DT_HALF", [2**16], tensor_content=every.tobytes())
    np.testing.assert_array_equal(decode(content), every.view("f2"), strict=True)
    for bits in range(0, 2**16, 97):
        decoded = number(proto("DT_HALF", [], half_val=[bits]))
        assert decoded is not None
        np.testing.assert_array_equal(decoded[0], every[bits : bits + 1].view("f2")[0])


def test_bfloat16_is_the_upper_half_of_a_float32() -> None:
    every = np.arange(2**16, dtype="<u2")
    expected = (every.astype("u4") << 16).view("f4")
    content = proto("DT_BFLOAT16", [2**16], tensor_content=every.tobytes())
    values = proto("DT_BFLOAT16", [2**16], half_val=every.tolist())
    np.testing.assert_array_equal(decode(content), expected, strict=True)
    np.testing.assert_array_equal(decode(values), expected, strict=True)
    assert number(proto("DT_BFLOAT16", [], half_val=[0xBFC0])) == (-1.5, False)
    assert number(proto("DT_BFLOAT16", [], tensor_content=b"\xc0\x3f")) == (1.5, False)


@pytest.mark.parametrize(
    ("dtype", "known"),
    [
        ("DT_FLOAT8_E4M3FN", {0x38: 1, 0x7E: 448, 0x01: 2**-9, 0x08: 2**-6, 0xB8: -1}),
        ("DT_FLOAT8_E5M2", {0x3C: 1, 0x7B: 57344, 0x01: 2**-16, 0x7C: np.inf, 0xFC: -np.inf}),
    ],
)
def test_float8_becomes_float32(dtype: str, known: dict[int, float]) -> None:
    expected = np.array(list(known.values()), np.float32)
    for field in ("tensor_content", "float8_val"):
        array = decode(proto(dtype, [len(known)], **{field: bytes(known)}))
        np.testing.assert_array_equal(array, expected, strict=True)
        for bits, value in known.items():
            assert number(proto(dtype, [], **{field: bytes([bits])})) == (value, False)
        nans = decode(proto(dtype, [2], **{field: b"\x7f\xff"}))
        assert np.isnan(nans).all()


def test_strings_are_bytes_and_not_trimmed() -> None:
    texts = [b"", b"a\0", "é".encode(), b"\xff\0\0"]
    array = decode(proto("DT_STRING", [2, 2], string_val=texts))
    assert array.dtype == object
    assert array.tolist() == [texts[:2], texts[2:]]
    assert decode(make_tensor_proto("one")).item() == b"one"


@given(st.lists(st.floats(width=32), max_size=8), st.lists(st.floats(width=32), max_size=8))
def test_packed_and_single_elements_can_be_mixed(packed: list[float], single: list[float]) -> None:
    head = proto("DT_FLOAT", [len(packed) + len(single)], float_val=packed).SerializeToString()
    tail = b"".join(b"\x2d" + np.float32(value).tobytes() for value in single)
    expected = np.array(packed + single, np.float32)
    np.testing.assert_array_equal(decode_tensor(head + tail), expected, strict=True)


def test_the_dtype_and_shape_can_follow_the_values() -> None:
    message = listed("DT_INT64", [2], [7, -7])
    values = TensorProto(int64_val=[7, -7], float_val=[1.0]).SerializeToString()
    rest = TensorProto(dtype=message.dtype, tensor_shape=message.tensor_shape)
    assert decode_tensor(values + rest.SerializeToString()).tolist() == [7, -7]
