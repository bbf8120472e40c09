"""Conversion of logged values: any framework's tensors, and values that only look like tensors."""

import warnings

import ml_dtypes
import numpy as np
import pytest
import torch
from helpers.kind_values import stored

import runfold as rf
from runfold._log.writer.convert import as_array
from runfold.errors import CannotLog

NUMBERS = np.array([[0.0, 1.5], [-2.0, 4.0]], np.float32)


class LikeJax:
    """An array with `__array__`, like those of JAX."""

    def __init__(self, content):
        self._content = np.asarray(content)
        self.shape, self.dtype = self._content.shape, self._content.dtype

    def __array__(self, dtype=None, copy=None):
        return np.array(self._content, dtype)


class LikeTensorFlow(LikeJax):
    """A tensor whose `__array__` fails, as TensorFlow's does for a bfloat16 scalar."""

    def __array__(self, dtype=None, copy=None):
        return self._content.item()

    def numpy(self):
        return self._content[()]


class OnlyDLPack:
    """A tensor that only supports DLPack."""

    def __init__(self, content):
        self._content = torch.as_tensor(content)

    def __dlpack__(self, **options):
        return self._content.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._content.__dlpack_device__()


class Traced:
    """A tensor inside a compiled function, without values yet."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("It was traced.\nSee this page for more.")


def quantized(content):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch plans to remove this function
        return torch.quantize_per_tensor(torch.as_tensor(content), 0.5, 0, torch.qint8)


KINDS = {
    "jax": LikeJax,
    "tensorflow": LikeTensorFlow,
    "dlpack": OnlyDLPack,
    "gradient": lambda content: torch.tensor(content, requires_grad=True),
    "parameter": lambda content: torch.nn.Parameter(torch.tensor(content)),
    "bfloat16": lambda content: torch.tensor(content, dtype=torch.bfloat16, requires_grad=True),
    "float8": lambda content: torch.tensor(content).to(torch.float8_e5m2),
    "bfloat16 of JAX": lambda content: content.astype(ml_dtypes.bfloat16),
    "float8 of JAX": lambda content: content.astype(ml_dtypes.float8_e5m2),
    "sparse": lambda content: torch.tensor(content).to_sparse(),
    "quantized": quantized,
    "negated": lambda content: torch._neg_view(torch.tensor(-content)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_of_every_framework_keep_their_numbers(kind):
    np.testing.assert_array_equal(as_array(KINDS[kind](NUMBERS), "x", "tensor"), NUMBERS)


def test_four_bit_integers_are_numbers():
    numbers = as_array(np.array([-8, 0, 7]).astype(ml_dtypes.int4), "x", "tensor")
    assert (numbers.tolist(), numbers.dtype) == ([-8, 0, 7], np.int8)


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_accepts_tensors_of_every_framework(tmp_path, kind):
    for name, convert in (("one", KINDS[kind]), ("plain", np.asarray)):
        with rf.SummaryWriter(tmp_path / name) as writer:
            writer.add_scalar("scalar", convert(np.float32([1.5])), 3)
            writer.add_scalars("scalars", {"a": convert(np.float32([1.5]))}, 3)
            writer.add_tensor("tensor", convert(NUMBERS), 3)
            writer.add_histogram("histogram", convert(NUMBERS), 3)
            writer.add_image("image", convert(NUMBERS), 3, dataformats="HW")
            writer.add_audio("audio", convert(NUMBERS[0] / 3), 3)
            writer.add_mesh("mesh", convert(np.ones((1, 4, 3), np.float32)), global_step=3)
    assert stored(tmp_path / "one") == stored(tmp_path / "plain")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (torch.ones(1, device="meta"), "Cannot copy out of meta tensor; no data"),
        (Traced(), "It was traced"),
        (LikeJax(np.array(["text"])), "it does not contain numbers"),
    ],
)
def test_a_value_without_numbers_raises_with_a_one_line_message(tmp_path, value, reason):
    with rf.SummaryWriter(tmp_path, on_error="raise") as writer:
        for call, argument in (
            (writer.add_scalar, "scalar_value"),
            (writer.add_tensor, "tensor"),
            (writer.add_histogram, "values"),
            (writer.add_image, "img_tensor"),
        ):
            with pytest.raises(CannotLog) as caught:
                call("loss", value)
            assert str(caught.value).startswith(f"Tag 'loss': {argument} cannot be ")
            assert str(caught.value).endswith(f": {reason}. Nothing was logged by this call.")
    assert stored(tmp_path) == {}


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.bool_])
def test_masked_numbers_are_nan(dtype):
    masked = np.ma.array([1, 0, 1], dtype=dtype, mask=[False, True, False])
    np.testing.assert_array_equal(as_array(masked, "x", "tensor"), [1, np.nan, 1])
    np.testing.assert_array_equal(as_array(np.ma.masked, "x", "tensor"), np.nan)
    assert as_array(np.ma.array([1, 0], dtype=dtype), "x", "tensor").dtype == dtype


def test_an_hparam_of_unknown_shape_is_stored_as_its_text(tmp_path):
    class Ragged:
        shape, dtype = (2, None), np.float32

        def __str__(self):
            return "[[1.0], [2.0, 3.0]]"

    with rf.SummaryWriter(tmp_path, hparams={"sizes": Ragged(), "lr": LikeJax(0.5)}):
        pass
    found = rf.open(tmp_path).hparams()
    assert dict(zip(found["hparam"], found["value"], strict=True)) == {
        "sizes": "[[1.0], [2.0, 3.0]]",
        "lr": 0.5,
    }
