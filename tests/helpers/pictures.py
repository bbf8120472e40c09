"""Small encoded images."""

import io

import numpy as np
import PIL.Image
import PIL.ImageShow

PIXELS = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)


def encode(format="png", pixels=PIXELS):
    out = io.BytesIO()
    PIL.Image.fromarray(pixels).save(out, format=format)
    return out.getvalue()
