"""Scalars logged as tensors: every dtype, as raw bytes and as lists of values."""

import numpy as np
import pytest
from helpers.logs import values, write
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import runfold as rf

THIRD = 1 / 3
HALF = np.float16(THIRD)
# bfloat16 is the upper half of float32.
BFLOAT16_BITS = int(np.float32(THIRD).view(np.uint32)) >> 16
BFLOAT16 = float(np.uint32(BFLOAT16_BITS << 16).view(np.float32))

# dtype: raw bytes, list of values, decoded value
DTYPES = {
    "DT_FLOAT": (np.float32(THIRD).tobytes(), {"float_val": [THIRD]}, float(np.float32(THIRD))),
    "DT_DOUBLE": (np.float64(THIRD).tobytes(), {"double_val": [THIRD]}, THIRD),
    "DT_HALF": (HALF.tobytes(), {"half_val": [int(HALF.view(np.uint16))]}, float(HALF)),
    "DT_BFLOAT16": (
        np.uint16(BFLOAT16_BITS).tobytes(),
        {"half_val": [BFLOAT16_BITS]},
        BFLOAT16,
    ),
    "DT_INT8": (np.int8(-5).tobytes(), {"int_val": [-5]}, -5.0),
    "DT_UINT8": (np.uint8(250).tobytes(), {"int_val": [250]}, 250.0),
    "DT_INT16": (np.int16(-5).tobytes(), {"int_val": [-5]}, -5.0),
    "DT_UINT16": (np.uint16(65535).tobytes(), {"int_val": [65535]}, 65535.0),
    "DT_INT32": (np.int32(-5).tobytes(), {"int_val": [-5]}, -5.0),
    "DT_UINT32": (np.uint32(2**32 - 1).tobytes(), {"uint32_val": [2**32 - 1]}, 2.0**32 - 1),
    "DT_INT64": (np.int64(-(2**53)).tobytes(), {"int64_val": [-(2**53)]}, -(2.0**53)),
    "DT_UINT64": (np.uint64(2**63).tobytes(), {"uint64_val": [2**63]}, 2.0**63),
    "DT_BOOL": (b"\x01", {"bool_val": [True]}, 1.0),
}
SHAPES = {"a number": (), "an array of one": (1,), "a matrix of one": (1, 1)}


def message(dtype, content, shape=(), plugin="scalars"):
    tensor = TensorProto(dtype=dtype, **content)
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    metadata = SummaryMetadata()
    metadata.plugin_data.plugin_name = plugin
    value = Summary.Value(tag="x", tensor=tensor, metadata=metadata if plugin else None)
    return value.SerializeToString()


def read(folder, *messages):
    write(folder, values(*messages))
    return rf.open(folder)["."]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("plugin", ["scalars", ""])
def test_every_dtype_reads_exactly_from_bytes_and_lists(dtype, plugin, tmp_path):
    raw, listed, expected = DTYPES[dtype]
    run = read(
        tmp_path,
        message(dtype, {"tensor_content": raw}, plugin=plugin),
        message(dtype, listed, plugin=plugin),
    )
    assert run["x"].values.tolist() == [expected, expected]
    assert run.problems().empty


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_one_value_is_a_scalar_whatever_its_shape(shape, tmp_path):
    run = read(tmp_path, message("DT_FLOAT", {"float_val": [0.5]}, shape))
    assert run["x"].values.tolist() == [0.5]


def test_one_value_under_another_plugin_is_not_a_scalar(tmp_path):
    run = read(tmp_path, message("DT_FLOAT", {"float_val": [0.5]}, plugin="my_plugin"))
    assert run.tags == {"tensor": ["x"]}
    assert run.tensors()["value"].tolist() == [np.float32(0.5)]


def test_one_value_with_metadata_but_no_plugin_is_a_scalar(tmp_path):
    # tf.compat.v1.summary.tensor_summary and tf.summary.write(metadata=...) write this.
    value = Summary.Value.FromString(message("DT_FLOAT", {"float_val": [0.5]}, plugin=""))
    value.metadata.display_name = "a name to show"
    run = read(tmp_path, value.SerializeToString())
    assert run["x"].values.tolist() == [0.5]


def test_integer_beyond_float64_is_rounded_and_reported(tmp_path):
    run = read(tmp_path, message("DT_INT64", {"int64_val": [2**53 + 1]}))
    assert run["x"].values.tolist() == [2.0**53]
    assert run.problems()["code"].tolist() == ["rounded-integer"]


def test_several_values_are_a_tensor_even_under_the_scalars_plugin(tmp_path):
    run = read(tmp_path, message("DT_FLOAT", {"float_val": [0.5, 1.5]}, (2,)))
    assert run.tags == {"tensor": ["x"]}
    np.testing.assert_array_equal(run.tensors()["value"][0], [0.5, 1.5])
