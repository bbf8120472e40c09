"""Images: found by position, decoded when looked at, a placeholder where they do not decode."""

import base64
import io
import struct
import zlib
from contextlib import suppress

import numpy as np
import PIL.Image
import pytest
import tensorboardX
from hypothesis import given
from hypothesis import strategies as st
from kind_values import new_form, tensor_value, written
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils import tensorboard as torch_tensorboard

from runfold.events.kinds.image import Image, ImageHead, locate
from runfold.events.wire import NeedMore, grow

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]
PIXELS = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)


def encode(format="png", pixels=PIXELS):
    out = io.BytesIO()
    PIL.Image.fromarray(pixels).save(out, format=format)
    return out.getvalue()


def images(value):
    head = locate(value, len(value))
    return [
        Image(head.width, head.height, lambda start=start, size=size: value[start : start + size])
        for start, size in head.blobs
    ]


@pytest.mark.parametrize("writer", WRITERS)
def test_pixels_come_back_the_same_from_old_and_new_form(writer, tmp_path):
    values = written(writer, tmp_path, lambda w: w.add_image("i", PIXELS, 0, dataformats="HWC"))
    (value,) = values["i"]
    for form in (value, new_form(value)):
        (image,) = images(form)
        assert (image.width, image.height, image.format) == (7, 5, "png")
        assert image.problem is None
        np.testing.assert_array_equal(image.numpy(), PIXELS)


def test_several_samples_of_one_step_are_several_images():
    blobs = [encode(), encode("jpeg"), encode("webp"), b""]
    value = tensor_value(np.array([b"7", b"5", *blobs], dtype=object), "images")
    got = images(value)
    assert [image.data for image in got] == blobs
    assert [image.format for image in got] == ["png", "jpeg", "webp", None]


def test_the_head_needs_only_the_bytes_before_the_image():
    blob = bytes(100_000)
    proto = Summary.Value(tag="t" * 300)
    proto.image.width, proto.image.height, proto.image.colorspace = 7, 5, 3
    proto.image.encoded_image_string = blob
    value = proto.SerializeToString()
    asked = []

    def read(size):
        asked.append(size)
        return value[:size]

    head = grow(locate, read, len(value))
    assert head == ImageHead(7, 5, 3, [(len(value) - len(blob), len(blob))])
    assert max(asked) < 500


def test_a_short_prefix_asks_for_more_until_it_is_enough():
    value = tensor_value(np.array([b"7", b"5", bytes(900), bytes(900)], dtype=object), "images")
    whole = locate(value, len(value))
    assert [size for _, size in whole.blobs] == [900, 900]
    for end in range(len(value)):
        try:
            assert locate(memoryview(value)[:end], len(value)) == whole
        except NeedMore as more:
            assert end < more.size <= len(value)
    assert grow(locate, lambda size: value[:size], len(value)) == whole


def test_a_file_that_shrank_is_a_value_error_not_an_endless_loop():
    value = tensor_value(np.array([b"7", b"5", bytes(900), bytes(900)], dtype=object), "images")
    with pytest.raises(ValueError, match="the value ends after 100 of"):
        grow(locate, lambda size: value[: min(size, 100)], len(value))


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        (tensor_value(np.array([b"7"], dtype=object)), "need a width and a height"),
        (tensor_value(np.array([b"7", b"x", b""], dtype=object)), "'x' is not a width"),
        (tensor_value(np.zeros(3, np.float32)), "a tensor of strings was expected"),
        (Summary.Value(image=Summary.Image(width=-1)).SerializeToString(), "negative"),
        (Summary.Value(simple_value=1).SerializeToString(), "holds no image"),
        (Summary.Value(audio=Summary.Audio()).SerializeToString(), "holds audio, not an image"),
    ],
    ids=["height", "digits", "dtype", "negative", "scalar", "audio"],
)
def test_a_value_without_images_says_so(value, fact):
    with pytest.raises(ValueError, match=fact):
        locate(value, len(value))


def bomb():
    header = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")):
        check = struct.pack(">I", zlib.crc32(kind + body))
        png += struct.pack(">I", len(body)) + kind + body + check
    return png


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (bomb(), "claims"),
        (encode()[:48], "cannot be decoded"),
        (encode()[:16] + bytes(40), "png image cannot be decoded: its head makes no sense"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "none of the formats"),
        (b"", "none of the formats"),
    ],
    ids=["bomb", "cut", "head", "postscript", "empty"],
)
def test_what_does_not_decode_is_a_placeholder_with_a_problem(data, fact):
    image = Image(40_000, 40_000, lambda: data)
    assert fact in image.problem
    assert image.pil().size == (64, 64)
    bundle = image._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert fact in bundle["text/plain"]


def test_a_notebook_gets_the_stored_bytes_or_a_png():
    png, bmp = encode(), encode("bmp")
    assert base64.b64decode(Image(7, 5, lambda: png)._repr_mimebundle_()["image/png"]) == png
    shown = base64.b64decode(Image(7, 5, lambda: bmp)._repr_mimebundle_()["image/png"])
    np.testing.assert_array_equal(np.asarray(PIL.Image.open(io.BytesIO(shown))), PIXELS)


def test_a_palette_image_has_colors_in_its_array():
    gif = encode("gif", np.full((2, 2, 3), 255, np.uint8))
    assert Image(2, 2, lambda: gif).numpy().tolist() == [[[255] * 3] * 2] * 2


@given(st.binary())
def test_arbitrary_bytes_give_a_head_or_value_error(raw):
    with suppress(ValueError):
        locate(raw, len(raw))


@given(st.binary(max_size=60), st.integers(0, 200))
def test_arbitrary_prefixes_never_ask_beyond_the_value(raw, beyond):
    length = len(raw) + beyond
    with suppress(ValueError):
        try:
            locate(raw, length)
        except NeedMore as more:
            assert len(raw) < more.size <= length


@given(st.sampled_from(["png", "jpeg", "gif", "bmp", "webp"]), st.data())
def test_damaged_images_never_raise(format, data):
    damaged = bytearray(encode(format))
    for _ in range(3):
        damaged[data.draw(st.integers(12, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    Image(7, 5, lambda: bytes(damaged)).numpy()
