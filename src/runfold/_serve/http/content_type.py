"""Media type of a stored image or audio clip, from its first bytes, if browsers can open it."""

from __future__ import annotations

import struct

from runfold._events.kinds import audio, image

ANY = "application/octet-stream"

# A color profile or thumbnail takes a few dozen segments before a JPEG's frame header.
_MOST_SEGMENTS = 1000


def sniff(data: bytes) -> str:
    """Return the media type if a browser can safely show or play the bytes, otherwise ANY.

    Only some image and audio formats qualify. HTML and SVG do not, because they can
    contain scripts. Neither do images with too many pixels or an unreadable size.
    """
    kind = image.sniff(data)
    if kind is None:
        return audio.sniff(data) or ANY
    width, height = picture_size(data)
    return f"image/{kind}" if 0 < width * height <= image.MAX_PIXELS else ANY


def picture_size(data: bytes) -> tuple[int, int]:
    """Return width and height from an image's header, without decoding it; (0, 0) if unknown."""
    try:
        return _READERS[image.sniff(data) or ""](data)
    except (KeyError, IndexError, struct.error):
        return 0, 0


def _png_size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif_size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _bmp_size(data: bytes) -> tuple[int, int]:
    (head,) = struct.unpack_from("<I", data, 14)
    width, height = struct.unpack_from("<HH" if head == 12 else "<ii", data, 18)
    return abs(width), abs(height)  # a negative height means rows from top to bottom


def _webp_size(data: bytes) -> tuple[int, int]:
    form = data[12:16]
    if form == b"VP8X":
        low_width, high_width, low_height, high_height = struct.unpack_from("<HBHB", data, 24)
        return 1 + (high_width << 16 | low_width), 1 + (high_height << 16 | low_height)
    if form == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Return the size in the first frame header, which comes before the pixels."""
    at = 2
    for _ in range(_MOST_SEGMENTS):
        sign, marker = data[at], data[at + 1]
        if sign != 0xFF:
            break
        (length,) = struct.unpack_from(">H", data, at + 2)
        # All start-of-frame markers; the excluded ones (DHT, JPG, DAC) have other meanings.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + length
    return 0, 0


_READERS = {
    "png": _png_size,
    "gif": _gif_size,
    "bmp": _bmp_size,
    "webp": _webp_size,
    "jpeg": _jpeg_size,
}
