"""Images, located in the file and decoded on request."""

import io
import os
import sys
from base64 import b64encode
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events.kinds import stored_value
from runfold._events.wire import BYTES, VARINT, Data, fields, span
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    import PIL.Image

# Only these formats are opened, because PIL starts external programs for some others (EPS).
MAGIC = {
    "png": b"\x89PNG\r\n\x1a\n",
    "jpeg": b"\xff\xd8\xff",
    "gif": b"GIF8",
    "bmp": b"BM",
    "webp": b"RIFF",
}
MAX_PIXELS = 100_000_000
NOTEBOOK_FORMATS = ("png", "jpeg", "gif")


@dataclass(frozen=True, slots=True)
class ImageHead:
    """The size of a value's images and their positions, as (start, length) within the value.

    `colorspace` is the number of channels, or None if the value does not contain it.
    """

    width: int
    height: int
    colorspace: int | None
    blobs: list[tuple[int, int]]


def locate(prefix: Data, length: int) -> ImageHead:
    """Return the head of a value of `length` bytes, given its first bytes.

    Raises NeedMore if the prefix ends before the last image starts, and ValueError
    if the value contains no images.
    """
    form, start, stop = stored_value.locate_body(prefix, length, stored_value.IMAGE)
    if form == stored_value.IMAGE:
        return _locate_in_proto(prefix, start, stop)
    return _locate_in_tensor(prefix, start, stop)


def _locate_in_proto(prefix: Data, start: int, stop: int) -> ImageHead:
    numbers = {1: 0, 2: 0, 3: 0}
    blob = (start, 0)
    for field in fields(prefix, start, stop):
        if field.number in numbers and field.wire_type == VARINT:
            numbers[field.number] = field.value
        elif field.number == 4 and field.wire_type == BYTES:
            blob = (field.start, field.stop - field.start)
    height, width, colorspace = numbers.values()
    return ImageHead(_size(width), _size(height), colorspace or None, [blob])


def _locate_in_tensor(prefix: Data, start: int, stop: int) -> ImageHead:
    _, spans = stored_value.locate_strings(prefix, start, stop)
    if len(spans) < 2:
        raise ValueError(f"images need a width and a height; the tensor has {len(spans)} strings")
    width, height = (_parse_size(prefix, *position) for position in spans[:2])
    return ImageHead(width, height, None, [(at, end - at) for at, end in spans[2:]])


def _parse_size(prefix: Data, start: int, stop: int) -> int:
    digits = span(prefix, start, min(stop, start + 12))
    if not digits.isdigit():
        raise ValueError(f"{stored_value.text(digits)!r} is not a width or height")
    return _size(int(digits))


def _size(pixels: int) -> int:
    if pixels >= 1 << 31:
        raise ValueError("the width or height of an image is negative or above 2^31")
    return pixels


class Image(stored_value.StoredFile):
    """An image: its size, and its bytes and pixels on request.

    An image that cannot be decoded, or has more than MAX_PIXELS pixels, becomes a gray
    placeholder, and `problem` gives the reason. Nothing is cached.
    """

    __slots__ = ("height", "width")

    def __init__(self, width: int, height: int, load: Callable[[], bytes]) -> None:
        self.width = width
        self.height = height
        super().__init__(load)

    def __repr__(self) -> str:
        return f"<Image {self.width}x{self.height}>"

    def __eq__(self, other: object) -> bool:
        """Return whether the other image has the same size and the same bytes."""
        if not isinstance(other, Image):
            return NotImplemented
        is_same_size = (self.width, self.height) == (other.width, other.height)
        return is_same_size and self.data == other.data

    def __hash__(self) -> int:
        return hash((self.width, self.height))

    @property
    def format(self) -> str | None:
        """The format, judged by the first bytes: png, jpeg, gif, bmp or webp, or None."""
        return sniff(self.data)

    @property
    def problem(self) -> str | None:
        """The reason why the image cannot be shown, or None."""
        return open_image(self.data)[1]

    def pil(self) -> "PIL.Image.Image":
        """Return the image as a PIL image (the first frame of a GIF), or a placeholder."""
        return open_image(self.data)[0]

    def numpy(self) -> np.ndarray:
        """Return the pixels as an array, (height, width) or (height, width, channels)."""
        image = self.pil()
        if image.mode == "P":  # otherwise the array would contain palette indices
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        return np.asarray(image)

    def save(self, path: "str | os.PathLike[str]", **options: Any) -> None:
        """Write the image to a file, in the format given by its suffix, as PIL does.

        Stored bytes that already have this format are written unchanged. Otherwise
        the image is converted, with `options` passed to PIL's `save`. An existing
        file is overwritten. Raises ValueError for an unknown suffix and for an
        image that cannot be decoded.
        """
        data = self.data
        if options or suffix_format(path) != sniff(data):
            data = _convert(data, suffix_format(path), options)
        with open(path, "wb") as file:
            file.write(data)

    def show(self) -> None:
        """Show the image: in a notebook below the cell, otherwise in PIL's viewer.

        Raises ValueError for an image that cannot be decoded, except in a notebook,
        which shows a placeholder. Raises RunfoldError if there is no viewer or
        display.
        """
        notebook = sys.modules.get("IPython")
        if notebook is not None and hasattr(notebook.get_ipython(), "kernel"):
            notebook.display.display(self)
            return
        pil, problem = open_image(self.data)
        if problem is not None:
            raise ValueError(problem)
        from PIL import ImageShow

        if not (_has_display() and ImageShow.show(pil)):
            raise RunfoldError(
                "The image cannot be shown: this machine has no display or no image viewer."
                ' Save it instead: image.save("a.png").'
            )

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        data = self.data
        pil, problem = open_image(data)
        kind = sniff(data)
        if problem is not None or kind not in NOTEBOOK_FORMATS:
            kind, data = "png", as_png(pil)
        note = repr(self) if problem is None else f"{self!r}: {problem}"
        return {f"image/{kind}": b64encode(data).decode("ascii"), "text/plain": note}


def _has_display() -> bool:
    """Return whether a window can be opened; if not, xdg-open only prints many errors."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def of_bytes(data: bytes) -> Image:
    """Return an image for encoded bytes; its size is 0 x 0 if it cannot be determined."""
    import PIL.Image

    kind, width, height = sniff(data), 0, 0
    if kind is not None:
        with suppress(Exception):  # `open_image` reports the reason
            width, height = PIL.Image.open(io.BytesIO(data), formats=[kind]).size
    return Image(width, height, partial(bytes, data))


def sniff(data: bytes) -> str | None:
    """Return the format of an encoded image, judged by its first bytes, or None."""
    for name, magic in MAGIC.items():
        if data.startswith(magic) and (name != "webp" or data[8:12] == b"WEBP"):
            return name
    return None


def open_image(data: bytes) -> "tuple[PIL.Image.Image, str | None]":
    """Return (PIL image, None), or (placeholder, the reason why the image cannot be shown)."""
    import PIL.Image

    kind = sniff(data)
    if kind is None:
        return _placeholder(), "the image has none of the supported formats " + ", ".join(MAGIC)
    try:
        image = PIL.Image.open(io.BytesIO(data), formats=[kind])
        width, height = image.size
        if width * height > MAX_PIXELS:
            return _placeholder(), f"the image claims to have {width} x {height} pixels"
        image.load()
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning):
        return _placeholder(), "the image claims to have more pixels than are safe to decode"
    except PIL.UnidentifiedImageError:  # its message contains a memory address
        return _placeholder(), f"the {kind} image cannot be decoded: its header is invalid"
    except Exception as error:
        return _placeholder(), f"the {kind} image cannot be decoded: {error}"
    return image, None


def suffix_format(path: "str | os.PathLike[str]") -> str:
    """Return the format for the suffix of a file name, such as `jpeg` for `.JPG`.

    Raises ValueError for a suffix that PIL cannot write.
    """
    import PIL.Image

    suffix = os.path.splitext(os.fspath(path))[1].lower()
    name = PIL.Image.registered_extensions().get(suffix)
    if name not in PIL.Image.SAVE:
        raise ValueError(
            f"{os.fspath(path)!r}: PIL cannot write images with the suffix {suffix!r}. "
            f"Use {', '.join(f'.{kind}' for kind in MAGIC)}, or another format that PIL writes."
        )
    return name.lower()


def _convert(data: bytes, kind: str, options: dict[str, Any]) -> bytes:
    pil, problem = open_image(data)
    if problem is not None:
        raise ValueError(problem)
    if kind == "jpeg" and pil.mode not in ("L", "RGB", "CMYK"):
        pil = pil.convert("RGB")
    out = io.BytesIO()
    pil.save(out, kind, **options)
    return out.getvalue()


def _placeholder() -> "PIL.Image.Image":
    import PIL.Image
    import PIL.ImageDraw

    image = PIL.Image.new("RGB", (64, 64), (224, 224, 224))
    draw = PIL.ImageDraw.Draw(image)
    draw.line((8, 8, 55, 55), fill=(160, 160, 160), width=2)
    draw.line((8, 55, 55, 8), fill=(160, 160, 160), width=2)
    return image


def as_png(image: "PIL.Image.Image") -> bytes:
    """Return the image as a PNG file, converted to RGB if PNG does not support its mode."""
    out = io.BytesIO()
    (image if image.mode in ("1", "L", "LA", "P", "RGB", "RGBA") else image.convert("RGB")).save(
        out, format="PNG"
    )
    return out.getvalue()
