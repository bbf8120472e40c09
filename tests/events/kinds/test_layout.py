"""Layouts of the custom scalars page."""

from contextlib import suppress

import pytest
import tensorboardX
from helpers.kind_values import tensor_value, written
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import tensorboard as torch_tensorboard

from runfold._events.kinds import layout
from runfold._events.kinds.layout import Category, Chart, Layout, Margin

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]


@pytest.mark.parametrize("writer", WRITERS)
def test_charts_are_read_with_their_tags_and_margins(writer, tmp_path):
    page = {
        "losses": {
            "both": ["Multiline", ["loss/train", "loss/.*"]],
            "band": ["Margin", ["loss", "loss/low", "loss/high"]],
        },
        "empty": {},
    }
    values = written(writer, tmp_path, lambda w: w.add_custom_scalars(page))
    (value,) = values["custom_scalars__config__"]
    band = Margin("loss", "loss/low", "loss/high")
    assert layout.decode(value) == Layout(
        (
            Category(
                "losses",
                False,
                (Chart("both", ("loss/train", "loss/.*"), ()), Chart("band", (), (band,))),
            ),
            Category("empty", False, ()),
        )
    )


def test_other_content_is_a_value_error():
    with pytest.raises(ValueError, match="not a Layout message"):
        layout.decode(tensor_value(b"\x12\xff", "custom_scalars"))
    with pytest.raises(ValueError, match=r"expected one string for a layout, got \(2,\)"):
        layout.decode(tensor_value([1, 2], "custom_scalars"))


@given(st.binary())
def test_arbitrary_bytes_give_a_layout_or_value_error(raw):
    with suppress(ValueError):
        layout.decode(tensor_value(raw, "custom_scalars"))
