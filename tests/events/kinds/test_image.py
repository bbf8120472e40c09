"""Images: located in the file, decoded on request, replaced by a placeholder if invalid."""

import base64
import io
import struct
import sys
import types
import zlib
from contextlib import suppress

import numpy as np
import PIL.Image
import PIL.ImageShow
import pytest
import tensorboardX
from helpers.kind_values import new_form, tensor_value, written
from helpers.pictures import PIXELS, encode
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils import tensorboard as torch_tensorboard

from runfold._events.kinds.image import Image, ImageHead, locate
from runfold._events.wire import NeedMore, grow
from runfold.errors import RunfoldError

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]


def images(value):
    head = locate(value, len(value))
    return [
        Image(head.width, head.height, lambda start=start, size=size: value[start : start + size])
        for start, size in head.blobs
    ]


@pytest.mark.parametrize("writer", WRITERS)
def test_old_and_new_format_decode_to_the_same_pixels(writer, tmp_path):
    values = written(writer, tmp_path, lambda w: w.add_image("i", PIXELS, 0, dataformats="HWC"))
    (value,) = values["i"]
    for form in (value, new_form(value)):
        (image,) = images(form)
        assert (image.width, image.height, image.format) == (7, 5, "png")
        assert image.problem is None
        np.testing.assert_array_equal(image.numpy(), PIXELS)


def test_several_samples_at_one_step_are_several_images():
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
    sizes = []

    def read(size):
        sizes.append(size)
        return value[:size]

    head = grow(locate, read, len(value))
    assert head == ImageHead(7, 5, 3, [(len(value) - len(blob), len(blob))])
    assert max(sizes) < 500


def test_a_short_prefix_raises_need_more_until_it_suffices():
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
        (tensor_value(np.zeros(3, np.float32)), "expected a tensor of strings"),
        (Summary.Value(image=Summary.Image(width=-1)).SerializeToString(), "negative"),
        (Summary.Value(simple_value=1).SerializeToString(), "contains no image"),
        (Summary.Value(audio=Summary.Audio()).SerializeToString(), "contains audio, not an image"),
    ],
    ids=["height", "digits", "dtype", "negative", "scalar", "audio"],
)
def test_a_value_without_images_is_a_value_error(value, fact):
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
        (encode()[:16] + bytes(40), "png image cannot be decoded: its header is invalid"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "none of the supported formats"),
        (b"", "none of the supported formats"),
    ],
    ids=["bomb", "cut", "head", "postscript", "empty"],
)
def test_an_invalid_image_is_a_placeholder_with_a_problem(data, fact):
    image = Image(40_000, 40_000, lambda: data)
    assert fact in image.problem
    assert image.pil().size == (64, 64)
    bundle = image._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert fact in bundle["text/plain"]


def test_a_notebook_shows_the_stored_bytes_or_a_png():
    png, bmp = encode(), encode("bmp")
    assert base64.b64decode(Image(7, 5, lambda: png)._repr_mimebundle_()["image/png"]) == png
    shown = base64.b64decode(Image(7, 5, lambda: bmp)._repr_mimebundle_()["image/png"])
    np.testing.assert_array_equal(np.asarray(PIL.Image.open(io.BytesIO(shown))), PIXELS)


def test_a_palette_image_becomes_an_array_of_colors():
    gif = encode("gif", np.full((2, 2, 3), 255, np.uint8))
    assert Image(2, 2, lambda: gif).numpy().tolist() == [[[255] * 3] * 2] * 2


@given(st.binary())
def test_arbitrary_bytes_give_a_head_or_value_error(raw):
    with suppress(ValueError):
        locate(raw, len(raw))


@given(st.binary(max_size=60), st.integers(0, 200))
def test_arbitrary_prefixes_never_request_bytes_beyond_the_value(raw, beyond):
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


def image_of(data):
    return Image(7, 5, lambda: data)


@pytest.mark.parametrize("name", ["a.png", "A.PNG"])
def test_save_writes_the_stored_bytes_if_the_suffix_matches(tmp_path, name):
    stored = encode() + b"trailing bytes that PIL would drop"
    image_of(stored).save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == stored


@pytest.mark.parametrize("suffix", ["jpg", "jpeg", "webp", "gif", "bmp", "tiff"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L"])
def test_save_converts_to_the_format_of_the_suffix(tmp_path, suffix, mode):
    out = io.BytesIO()
    PIL.Image.fromarray(PIXELS).convert(mode).save(out, "png")
    image_of(out.getvalue()).save(str(tmp_path / f"a.{suffix}"))
    with PIL.Image.open(tmp_path / f"a.{suffix}") as saved:
        kind = {"jpg": "JPEG"}.get(suffix, suffix.upper())
        assert (saved.size, saved.format) == ((7, 5), kind)


def test_save_passes_options_to_pil_and_overwrites(tmp_path):
    for compress_level in (0, 9):
        image_of(encode()).save(tmp_path / "a.png", compress_level=compress_level)
        with PIL.Image.open(tmp_path / "a.png") as saved:
            np.testing.assert_array_equal(np.asarray(saved), PIXELS)
    assert (tmp_path / "a.png").read_bytes() != encode()


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (encode(), "a", "PIL cannot write images with the suffix ''"),
        (encode(), "a.txt", r"images with the suffix '\.txt'\. Use \.png"),
        (b"no image", "a.jpg", "the image has none of the supported formats png, jpeg"),
        (encode()[:50], "a.jpg", "the png image cannot be decoded"),
    ],
)
def test_a_failed_save_writes_nothing(tmp_path, data, name, message):
    with pytest.raises(ValueError, match=message):
        image_of(data).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_show_uses_pils_viewer(monkeypatch):
    shown: list[object] = []

    class Viewer(PIL.ImageShow.Viewer):
        def show_image(self, image, **options):
            shown.append(np.asarray(image))
            return 1

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(PIL.ImageShow, "_viewers", [])
    PIL.ImageShow.register(Viewer())
    image_of(encode()).show()
    np.testing.assert_array_equal(shown, [PIXELS])
    with pytest.raises(ValueError, match="none of the supported formats"):
        image_of(b"no image").show()


@pytest.mark.parametrize("display", ["", ":0"])
def test_show_without_a_viewer_or_display_suggests_save(monkeypatch, capfd, display):
    started = []

    class Viewer(PIL.ImageShow.Viewer):
        def show_image(self, image, **options):
            started.append(image)
            return 1

    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(PIL.ImageShow, "_viewers", [] if display else [Viewer()])
    with pytest.raises(RunfoldError, match=r'no image viewer\. Save it .* image\.save\("a\.png'):
        image_of(encode()).show()
    assert started == []
    assert capfd.readouterr() == ("", "")


def test_show_in_a_notebook_displays_the_image(monkeypatch):
    shown: list[object] = []
    shell = types.SimpleNamespace(kernel=object())
    display = types.SimpleNamespace(display=shown.append)
    notebook = types.SimpleNamespace(get_ipython=lambda: shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    image = image_of(encode())
    image.show()
    assert shown == [image]
