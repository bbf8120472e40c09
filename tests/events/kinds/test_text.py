"""Text: strings from any writer are read as strings."""

from contextlib import suppress

import numpy as np
import pytest
import tensorboardX
from helpers.kind_values import tensor_value, written
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import tensorboard as torch_tensorboard

from runfold._events.kinds import text

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_writers_text_is_one_string(writer, tmp_path):
    values = written(writer, tmp_path, lambda w: w.add_text("note", "grüße\n*bold*", 3))
    (value,) = values["note/text_summary"]
    assert text.decode(value) == "grüße\n*bold*"


def test_a_scalar_string_tensor_is_one_string():
    assert text.decode(tensor_value(b"hello", "text")) == "hello"


def test_an_array_of_strings_keeps_its_shape():
    got = text.decode(tensor_value(np.array([["a", "b"], ["c", "é"]], dtype=object), "text"))
    assert got.tolist() == [["a", "b"], ["c", "é"]]


def test_bad_utf8_is_escaped_without_loss():
    assert text.decode(tensor_value(b"ok \xff\x00", "text")) == "ok \\xff\x00"


def test_a_tensor_of_numbers_is_not_text():
    with pytest.raises(ValueError, match="text must be a tensor of strings, got"):
        text.decode(tensor_value(np.ones(3, np.float32), "text"))


@given(st.text())
def test_any_string_survives(string):
    assert text.decode(tensor_value(string.encode(), "text")) == string


@given(st.binary())
def test_arbitrary_bytes_give_text_or_value_error(raw):
    with suppress(ValueError):
        text.decode(raw)


def test_a_truncated_value_gives_value_error_or_text():
    whole = tensor_value(np.array([b"first", b"second"], dtype=object), "text")
    for end in range(len(whole)):
        with suppress(ValueError):
            text.decode(whole[:end])
