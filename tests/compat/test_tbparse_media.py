"""Images and audio decode to the same arrays as with TensorFlow, without TensorFlow."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from helpers import parsers, writers
from helpers.logs import values, write
from helpers.media import pixels

from runfold._events.value_encoding import audio, image
from runfold.compat.tbparse import SummaryReader

pytestmark = pytest.mark.filterwarnings(*parsers.OLD_WAYS)


def encoded(array: np.ndarray, mode: str | None = None, form: str = "PNG", **options: Any) -> bytes:
    """Return an array as an image file, optionally converted to a PIL mode."""
    picture = PIL.Image.fromarray(array)
    out = io.BytesIO()
    (picture if mode is None else picture.convert(mode)).save(out, form, **options)
    return out.getvalue()


def read_image(folder: Path, data: bytes) -> np.ndarray:
    write(folder, values(image("p", 4, 6, 3, data)))
    row: Any
    (row,) = SummaryReader(folder).images.itertuples()
    return row.value


RGB = writers.PIXELS
GRAY = RGB[..., 0]
DEEP = np.arange(24, dtype=np.uint16).reshape(4, 6) * 1000
ALPHA = np.dstack([RGB, GRAY])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (encoded(RGB), RGB),
        (encoded(ALPHA), ALPHA),
        (encoded(GRAY), GRAY[..., None]),
        (encoded(np.dstack([GRAY, GRAY]), "LA"), np.dstack([GRAY, GRAY])),
        (encoded(GRAY > 9), (GRAY > 9)[..., None] * np.uint8(255)),
        (encoded(DEEP), (DEEP >> 8).astype(np.uint8)[..., None]),
        (encoded(GRAY, "P"), np.dstack([GRAY] * 3)),
        (encoded(RGB, form="BMP"), RGB),
        (encoded(RGB, form="JPEG"), pixels(encoded(RGB, form="JPEG"))),
        (encoded(GRAY, form="GIF"), np.dstack([GRAY] * 3)[None]),
    ],
    ids=["rgb", "alpha", "gray", "gray+alpha", "bits", "deep", "palette", "bmp", "jpeg", "gif"],
)
def test_image_has_the_channels_of_its_file(data, expected, tmp_path):
    found = read_image(tmp_path, data)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, expected)


def test_animation_has_a_first_axis_for_its_frames(tmp_path):
    frames = [PIL.Image.fromarray(np.full((4, 6), 60 * number, np.uint8)) for number in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    film = read_image(tmp_path, out.getvalue())
    assert film.shape == (3, 4, 6, 3)
    assert film[:, 0, 0, 0].tolist() == [0, 60, 120]


@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize("writer", ["torch", "tensorboardx", "tensorflow_1"])
def test_images_of_a_writer_decode_to_its_pixels(writer, pivot, tmp_path):
    writers.WRITERS[writer](tmp_path)
    columns = {"width", "height", "dir_name", "sample_rate"}
    table = SummaryReader(tmp_path, pivot=pivot, extra_columns=columns).images
    names = ["sample", "sample/height", "sample/width"]
    names = names if pivot else ["tag", "value", "height", "width"]
    assert list(table) == ["step", *names, "dir_name"]
    assert table["step"].tolist() == writers.STEPS
    for row in table.iloc[:, -4:-1].itertuples(index=False):
        assert tuple(row)[1:] == RGB.shape[:2]
        np.testing.assert_array_equal(row[0], RGB)


@pytest.mark.parametrize("writer", ["torch", "tensorflow_1"])
def test_audio_is_scaled_to_one_as_frames_and_channels(writer, tmp_path):
    writers.WRITERS[writer](tmp_path)
    columns = {"content_type", "length_frames", "sample_rate", "width"}
    table = SummaryReader(tmp_path, extra_columns=columns).audio
    names = ["value", "content_type", "length_frames", "sample_rate"]
    assert list(table) == ["step", "tag", *names]
    expected = writers.SAMPLES[:, None] / np.float32(32768)
    for row in table.itertuples():
        assert row.value.dtype == np.float32
        np.testing.assert_array_equal(row.value, expected)
        assert (row.tag, row.content_type, row.length_frames) == ("sound", "audio/wav", 5)
        assert row.sample_rate == writers.RATE
    wide = SummaryReader(tmp_path, pivot=True, extra_columns=columns).audio
    titles = ["content_type", "length_frames", "sample_rate"]
    assert list(wide) == ["step", "sound", *(f"sound/{name}" for name in titles)]


def test_tensorflow_tensors_become_images_and_audio(tmp_path):
    writers.tensorflow_2(tmp_path)
    table = SummaryReader(tmp_path).tensors
    by_tag: dict[str, Any] = {row.tag: row.value for row in table.itertuples()}
    found = SummaryReader.tensor_to_image(by_tag["sample"])
    height, width = RGB.shape[:2]
    assert (found["height"], found["width"]) == (height, width)
    np.testing.assert_array_equal(found["image"], RGB)
    twice = np.array([*by_tag["sample"], by_tag["sample"][-1]], object)
    np.testing.assert_array_equal(SummaryReader.tensor_to_image(twice)["image"], [RGB, RGB])

    clip = SummaryReader.tensor_to_audio(by_tag["sound"])
    expected = writers.SAMPLES[:, None] / np.float32(32768)
    np.testing.assert_array_equal(clip["audio"], expected)
    assert (clip["content_type"], clip["length_frames"]) == ("audio/wav", 5)
    assert (clip["sample_rate"].dtype, clip["sample_rate"].shape) == (np.int32, ())
    two = SummaryReader.tensor_to_audio(np.concatenate([by_tag["sound"]] * 2))
    np.testing.assert_array_equal(two["audio"], [expected, expected])
    assert two["sample_rate"].tolist() == [writers.RATE] * 2


def test_undecodable_values_are_skipped_and_logged(tmp_path, caplog):
    events = [image("p", 4, 6, 3, b"no image"), image("p", 4, 6, 3, encoded(RGB))]
    events += [
        audio("s", 8000, 1, 5, b"no clip"),
        audio("s", 8000, 1, 5, writers.wav(writers.SAMPLES)),
    ]
    write(tmp_path, values(*events))
    reader = SummaryReader(tmp_path)
    assert [len(reader.images), len(reader.audio)] == [1, 1]
    assert [record.getMessage().split(": ", 1)[1] for record in caplog.records] == [
        "1 values of ['p'] could not be decoded and are missing from the images.",
        "1 values of ['s'] could not be decoded and are missing from the audio.",
    ]
