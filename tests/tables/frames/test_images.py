"""Images as a table: sizes are known at once, bytes and pixels are read on use."""

import os

import numpy as np
import pytest
from helpers.logs import values, write
from helpers.writers import PIXELS, png

import runfold as rf
from runfold._events.value_encoding import image, image_tensor
from runfold.errors import BadLog, FileChanged

HEIGHT, WIDTH, _ = PIXELS.shape


def make_image(pixels=PIXELS, tag="sample"):
    return image(tag, HEIGHT, WIDTH, 3, png(pixels))


def test_table_has_index_and_size(tmp_path):
    write(tmp_path / "old", values(make_image()))
    write(tmp_path / "new", values(image_tensor("sample", WIDTH, HEIGHT, [png(PIXELS)] * 2)))
    table = rf.open(tmp_path).images()
    assert table["run"].tolist() == ["new", "new", "old"]
    assert table["index"].tolist() == [0, 1, 0]
    assert table["width"].tolist() == [WIDTH] * 3
    assert table["height"].tolist() == [HEIGHT] * 3
    for picture in table["image"]:
        np.testing.assert_array_equal(picture.numpy(), PIXELS)
        assert picture.pil().size == (WIDTH, HEIGHT)


def test_bytes_are_read_on_use(tmp_path, monkeypatch):
    large = b"\x89PNG\r\n\x1a\n" + bytes(1_000_000)
    write(tmp_path, values(*[image("large", 9, 9, 3, large)] * 3))
    runs = rf.open(tmp_path).load()
    read = []
    pread = os.pread

    def counting(descriptor, size, offset):
        data = pread(descriptor, size, offset)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counting)
    table = runs.images()
    assert len(table) == 3
    assert sum(read) < 10_000
    assert table["image"][1].data == large
    assert sum(read) > 1_000_000


def test_file_is_opened_once_for_all_images_of_a_tag(tmp_path, monkeypatch):
    small, large = make_image(), image_tensor("sample", WIDTH, HEIGHT, [b"x" * 500, png(PIXELS)])
    write(tmp_path, values(*[small] * 30, large), number=1)
    write(tmp_path, values(*[small] * 30), number=2)
    runs = rf.open(tmp_path).load()
    opened = []
    open_file = os.open

    def counting(path, flags):
        opened.append(path)
        return open_file(path, flags)

    monkeypatch.setattr(os, "open", counting)
    table = runs.images()
    # The first read does not include the start of the second image.
    assert [path[-1] for path in opened] == ["1", "1", "2"]
    assert table["index"].tolist() == [0] * 31 + [1] + [0] * 30
    for picture in table["image"][[0, 31, 61]]:
        np.testing.assert_array_equal(picture.numpy(), PIXELS)


def test_undecodable_image_is_a_placeholder_with_the_reason(tmp_path):
    write(tmp_path, values(image("broken", 4, 4, 3, b"\x89PNG\r\n\x1a\nrubbish")))
    (picture,) = rf.open(tmp_path).images()["image"]
    assert "cannot be decoded" in picture.problem
    assert picture.pil().size == (64, 64)


def test_value_without_an_image_is_a_problem(tmp_path):
    write(tmp_path, values(image_tensor("bad", 1, 1, [b""]).replace(b"\x01\x31", b"\x01x")))
    runs = rf.open(tmp_path)
    assert runs.images().empty
    assert runs.problems()["code"].tolist() == ["bad-value"]
    with pytest.raises(BadLog, match="not a width or height"):
        rf.open(tmp_path, strict=True).images()


def test_image_returned_before_a_refresh_does_not_change(tmp_path):
    # Both files have their image at the same offset, so a mix-up would go unnoticed.
    write(tmp_path, values(make_image(PIXELS)), number=2)
    runs = rf.open(tmp_path)
    (picture,) = runs.images()["image"]
    write(tmp_path, values(make_image(PIXELS.max() - PIXELS)), number=1)
    runs.refresh()
    assert len(runs.images()) == 2
    np.testing.assert_array_equal(picture.numpy(), PIXELS)


def test_image_of_a_replaced_file_is_not_read_from_the_new_file(tmp_path):
    write(tmp_path, values(make_image(PIXELS)))
    runs = rf.open(tmp_path)
    (picture,) = runs.images()["image"]
    write(tmp_path / "elsewhere", values(make_image(PIXELS.max() - PIXELS))).replace(
        tmp_path / "events.out.tfevents.1"
    )
    with pytest.raises(FileChanged, match="refresh"):
        picture.data  # noqa: B018
    runs.refresh()
    with pytest.raises(FileChanged):
        picture.data  # noqa: B018
    np.testing.assert_array_equal(runs.images()["image"][0].numpy(), PIXELS.max() - PIXELS)
