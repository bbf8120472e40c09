"""A few media types are detected from the first bytes; other content can only be saved."""

import io

import pytest
from helpers.png_head import png_head
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from runfold._serve.http.content_type import ANY, picture_size, sniff

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")


def encode(form: str, width: int = 7, height: int = 5, **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (255, 0, 0)).save(out, form, **options)
    return out.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_images_are_recognized_with_their_size(form):
    data = encode(form)
    assert sniff(data) == f"image/{form.lower()}"
    assert picture_size(data) == (7, 5)


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("WEBP", {"lossless": True}),
        ("WEBP", {"lossless": False, "exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0"}),
        ("JPEG", {"progressive": True}),
        ("JPEG", {"icc_profile": bytes(100_000)}),
    ],
)
def test_size_is_read_from_every_variant_of_a_format(form, options):
    assert picture_size(encode(form, 300, 200, **options)) == (300, 200)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        (b"OggS\0\2", "audio/ogg"),
        (b"fLaC\0\0", "audio/flac"),
        (b"ID3\4", "audio/mpeg"),
        (b"\xff\xfb\x90", "audio/mpeg"),
    ],
)
def test_audio_is_recognized(data, kind):
    assert sniff(data) == kind


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<!doctype html><script>alert(1)</script>",
        b"<?xml version='1.0'?><svg/>",
        b"%PDF-1.7",
        b"PK\3\4",
        b"GIF8",
        b"BMW is not an image",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"RIFF\0\0\0\0WEBPVP8X",
    ],
)
def test_other_content_can_only_be_saved(data):
    assert sniff(data) == ANY


@pytest.mark.parametrize(
    "size", [(40_000, 25_000), (2**31 - 1, 2**31 - 1), (0, 10)], ids=["10^9", "most", "none"]
)
def test_an_image_too_large_for_a_browser_can_only_be_saved(size):
    assert picture_size(png_head(*size)) == size
    assert sniff(png_head(*size)) == ANY


@given(st.sampled_from(FORMATS), st.binary(max_size=60), st.integers(0, 200))
def test_arbitrary_bytes_are_handled(form, rest, keep):
    data = encode(form)[:keep] + rest
    width, height = picture_size(data)
    assert width >= 0
    assert height >= 0
    assert isinstance(sniff(data), str)
