"""Tables in a notebook: a limited number of thumbnails, and no logged text as HTML."""

import base64
import io
import re

import numpy as np
import PIL.Image
from helpers.writers import PIXELS, png

from runfold._events.kinds.image import Image, of_bytes
from runfold._tables.frames.frame import Table

SOURCE = re.compile(r'<img src="data:image/png;base64,([^"]*)" alt="([^"]*)"')


def pictures(table):
    return [
        PIL.Image.open(io.BytesIO(base64.b64decode(data)))
        for data, _ in SOURCE.findall(table._repr_html_())
    ]


def test_small_image_is_drawn_unchanged():
    (shown,) = pictures(Table({"image": [of_bytes(png(PIXELS)), None]}))
    np.testing.assert_array_equal(np.asarray(shown), PIXELS)


def test_large_image_is_scaled_down():
    large = PIL.Image.fromarray(np.zeros((500, 1000, 3), np.uint8))
    assert [picture.size for picture in pictures(Table({"image": [large]}))] == [(96, 48)]


def test_number_of_thumbnails_is_limited_to_shown_rows():
    data, read = png(PIXELS), []

    def load():
        read.append(1)
        return data

    table = Table({f"image{n}": [Image(6, 4, load) for _ in range(1000)] for n in range(8)})
    html = table._repr_html_()
    assert html.count("<img") == len(read) == 60
    assert html.count("&lt;Image 6x4&gt;</td>") == 8 * 10 - 60


def test_text_of_a_log_is_escaped():
    odd = "<Image 6x4> <img src=x onerror=alert(1)>"
    html = Table({odd: [odd], "image": [of_bytes(png(PIXELS))]})._repr_html_()
    assert html.count("<img") == 1
    assert "&lt;img src=x" in html


def test_unreadable_image_shows_the_reason_in_its_cell():
    def load():
        raise ValueError("no <picture>")

    assert "no &lt;picture&gt;" in Table({"image": [Image(6, 4, load)]})._repr_html_()


def test_broken_image_is_a_placeholder():
    assert len(pictures(Table({"image": [of_bytes(b"\x89PNG\r\n\x1a\nbroken")]}))) == 1
