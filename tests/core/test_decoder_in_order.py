"""Event files decoded in order: every value is an item, as stored."""

import struct

import numpy as np
from helpers.decoding import boundaries, every_kind, feed

from runfold._core.decoder import Decoder
from runfold._core.encoder import EventBuffer
from runfold._core.event import Form
from runfold._core.tag_table import Tags
from runfold._events import value_encoding as values


def decode_in_order(data: bytes) -> tuple[np.ndarray, Decoder, list]:
    decoder = Decoder(Tags(), is_in_order=True)
    feed(decoder, data)
    scalars, items, notes, restarts = decoder.take()
    assert len(scalars) == 0
    assert notes == []
    return items, decoder, restarts


def test_every_event_becomes_an_item_in_file_order() -> None:
    records = every_kind()
    items, decoder, restarts = decode_in_order(b"".join(records))
    names = [*decoder.tags.names(), None]
    tensor = Form.TENSOR
    assert [(Form(item["form"]), names[item["tag"]]) for item in items] == [
        (Form.FILE_VERSION, None),
        (Form.SCALAR, "loss"),
        (tensor, "accuracy"),
        (Form.SCALAR, "lr"),
        *((Form.SCALAR, tag) for tag in ("a", "b", "")),
        (Form.HISTOGRAM, "h"),
        (tensor, "ht"),
        (Form.IMAGE, "i"),
        (Form.EVENT, None),
        (tensor, "it"),
        (Form.AUDIO, "s"),
        *((tensor, tag) for tag in ("st", "t", "x")),
        (Form.NOTHING, "_hparams_/experiment"),
        (Form.GRAPH, None),
        (Form.RUN_METADATA, "step 3"),
        (Form.EVENT, None),
        (Form.EVENT, None),
        (Form.SCALAR, "loss"),
    ]
    assert sorted(set(items["record"].tolist())) == boundaries(records)[:-1]
    assert restarts == [(2, 10, {})]
    assert items["wall_time"][-3] == np.inf


def test_scalars_store_their_value_instead_of_its_position() -> None:
    buffer = EventBuffer()
    for step, number in enumerate((0.1, -np.inf, -0.0)):
        buffer.scalar("loss", number, step, 2.0)
    items, _, _ = decode_in_order(buffer.getvalue())
    expected = np.array([0.1, -np.inf, -0.0], np.float32).astype(np.float64)
    assert items["start"].tobytes() == expected.tobytes()
    assert items["step"].tolist() == [0, 1, 2]


def test_a_scalar_with_a_float64_is_the_float32_that_tensorboard_reads() -> None:
    buffer = EventBuffer()
    buffer.scalar_double("loss", 0.1, 1, 2.0)
    items, _, _ = decode_in_order(buffer.getvalue())
    assert items["start"].view(np.float64).tolist() == [float(np.float32(0.1))]


def test_items_give_the_position_of_other_values() -> None:
    data = b"".join(every_kind())
    items, _, _ = decode_in_order(data)
    stored = {
        int(item["form"]): data[item["start"] : item["start"] + item["length"]] for item in items
    }
    assert stored[Form.FILE_VERSION] == b"brain.Event:2"
    assert stored[Form.HISTOGRAM] == values.histogram("h", 0, 1, 2, 3, 4, [1, 2], [1, 1])
    assert stored[Form.EVENT] == b""


def test_invalid_values_are_also_returned() -> None:
    buffer = EventBuffer()
    unequal = struct.pack("<BBd", 0x32, 8, 1.0)
    buffer.value(b"\x0a\x01h\x2a" + bytes([len(unequal)]) + unequal, 0, 2.0)
    buffer.value(b"\x0a\x01v", 1, 2.0)
    buffer.summary([], 2, 2.0)
    buffer.event(b"\x52\x06\x0a\x04torch"[:-1])
    items, _, _ = decode_in_order(buffer.getvalue())
    assert items["form"].tolist() == [Form.HISTOGRAM, Form.NOTHING, Form.SUMMARY, Form.SOURCE]
    assert items["step"].tolist() == [0, 1, 2, 0]
