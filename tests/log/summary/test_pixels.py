"""Images: the same pixels as in torch, and clear errors for invalid values."""

import numpy as np
import pytest
import tensorboardX
import torch
from helpers.media import assert_same_picture as assert_same
from helpers.media import picture, read, written

import runfold as rf
from runfold.errors import CannotLog

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (3, 5, 7)).astype(np.uint8)
FLOATS = RNG.random((3, 5, 7))


@pytest.mark.parametrize(
    ("array", "dataformats"),
    [
        (BYTES, "CHW"),
        (FLOATS, "CHW"),
        (FLOATS.astype(np.float16), "CHW"),
        (FLOATS.astype(np.float32), "CWH"),
        (FLOATS.transpose(1, 2, 0), "HWC"),
        (FLOATS.transpose(2, 0, 1), "wch"),
        (FLOATS[0], "HW"),
        (BYTES[0], "WH"),
        (FLOATS[:1], "CHW"),
        (RNG.random((4, 5, 7)), "CHW"),
        (FLOATS[:2], "CHW"),
        (BYTES[1:].transpose(1, 2, 0), "HWC"),
        (FLOATS.astype(object), "CHW"),
        (FLOATS.astype(str), "CHW"),
        (FLOATS > 0.5, "CHW"),
        (3 * FLOATS - 1, "CHW"),
        (np.full((3, 2, 2), np.inf), "CHW"),
        (np.array([[0, 1]]), "HW"),
    ],
)
def test_pixels_are_the_same_as_in_torch(tmp_path, array, dataformats):
    assert_same(tmp_path, lambda w: w.add_image("p", array, 3, 4.0, dataformats))


@pytest.mark.parametrize("count", [1, 3, 8, 9, 17])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_batch_is_the_same_grid_as_in_torch(tmp_path, count, channels):
    batch = RNG.random((count, channels, 4, 6))
    assert_same(tmp_path, lambda w: w.add_images("p", batch))
    assert_same(tmp_path / "other", lambda w: w.add_images("p", batch.T, dataformats="WHCN"))


def test_a_batch_can_have_alpha_as_in_tensorboardx(tmp_path):
    batch = RNG.integers(0, 256, (3, 4, 5, 6)).astype(np.uint8)
    ours = written(rf.SummaryWriter, tmp_path / "a", lambda w: w.add_images("p", batch))
    theirs = written(tensorboardX.SummaryWriter, tmp_path / "b", lambda w: w.add_images("p", batch))
    np.testing.assert_array_equal(picture(ours)[3], picture(theirs)[3])


def test_gray_with_alpha_is_read_back_with_both(tmp_path):
    with rf.SummaryWriter(tmp_path) as writer:
        writer.add_image("p", BYTES[:2])
    (image,) = rf.open(tmp_path).images()["image"]
    np.testing.assert_array_equal(image.numpy(), BYTES[:2].transpose(1, 2, 0))


@pytest.mark.parametrize(
    ("batch", "dataformats"),
    [
        ([FLOATS, FLOATS / 2], "CHW"),
        ([FLOATS.transpose(1, 2, 0)] * 9, "hwc"),
        ([torch.tensor(FLOATS), torch.tensor(FLOATS / 2)], "CHW"),
        ([torch.tensor(FLOATS, requires_grad=True)] * 2, "CHW"),
        ([BYTES[:1], BYTES[1:2]], "CHW"),
    ],
)
def test_a_list_of_images_is_the_same_grid_as_in_tensorboardx(tmp_path, batch, dataformats):
    def write(writer):
        writer.add_images("p", batch, 3, 4.0, dataformats)

    ours, theirs = (
        picture(written(kind, tmp_path / kind.__module__, write))
        for kind in (rf.SummaryWriter, tensorboardX.SummaryWriter)
    )
    assert ours[:3] == theirs[:3]
    np.testing.assert_array_equal(ours[3], theirs[3])


def test_a_tuple_and_gray_images_without_a_channel_axis_are_a_batch(tmp_path):
    with rf.SummaryWriter(tmp_path) as writer:
        writer.add_images("p", (BYTES[0], BYTES[1]), dataformats="HW")
    shown = np.concatenate([BYTES[0], BYTES[1]], axis=1)
    np.testing.assert_array_equal(picture(read(tmp_path))[3], np.stack([shown] * 3, axis=2))


def test_complex_pixels_are_drawn_by_real_part_with_a_warning(tmp_path):
    with (
        rf.SummaryWriter(tmp_path) as writer,
        pytest.warns(UserWarning, match="Tag 'p': img_tensor is complex; only its real part"),
    ):
        writer.add_image("p", np.array([[0.0, 1.0 + 1j]]), dataformats="HW")
    assert picture(read(tmp_path))[3].tolist() == [[[0] * 3, [255] * 3]]


def test_torch_tensors_of_any_kind_are_accepted(tmp_path):
    image = torch.rand(3, 5, 7, requires_grad=True)
    assert_same(tmp_path, lambda w: w.add_image("p", image, torch.tensor(2)))
    log = written(rf.SummaryWriter, tmp_path / "b", lambda w: w.add_image("p", image.bfloat16()))
    assert picture(log)[:3] == (5, 7, 3)


REFUSED = [
    (np.zeros((3, 5, 7)), {"dataformats": "HW"}, "img_tensor.*shape is .3, 5, 7.*'HW' means"),
    (np.zeros((5, 5, 7)), {}, "img_tensor.*5 channels.*'CHW' means .channels, height, width"),
    (np.zeros((3, 0, 7)), {}, "img_tensor.*empty, with shape .3, 0, 7"),
    (None, {}, "img_tensor.*not a number"),
    ("photo.png", {}, "img_tensor"),
    ([[[1], [2, 3]]], {}, "img_tensor"),
    (np.zeros((3, 5, 7)), {"dataformats": "CHH"}, "dataformats.*HW or HWC or NHW or NHWC"),
    (np.zeros((3, 5, 7)), {"dataformats": None}, "dataformats"),
]


@pytest.mark.parametrize(("value", "options", "words"), REFUSED)
def test_an_invalid_image_raises_by_name_and_nothing_is_lost(tmp_path, value, options, words):
    with rf.SummaryWriter(tmp_path, on_error="raise") as writer:
        writer.add_image("p", BYTES, 1)
        with pytest.raises(CannotLog, match=f"Tag 'val/p': {words}.*Nothing was logged"):
            writer.add_image("val/p", value, 2, **options)
        writer.add_image("p", BYTES, 3)
    assert [event.step for event in read(tmp_path).Images("p")] == [1, 3]


@pytest.mark.parametrize("tag", [None, 5])
def test_an_invalid_tag_raises(tmp_path, tag):
    with (
        rf.SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(CannotLog, match="tag cannot be"),
    ):
        writer.add_image(tag, BYTES)


def test_nan_is_drawn_black_with_a_warning(tmp_path):
    array = np.array([[np.nan, 1.0]])
    with (
        rf.SummaryWriter(tmp_path) as writer,
        pytest.warns(UserWarning, match="Tag 'p': img_tensor contains NaN") as caught,
    ):
        writer.add_image("p", array, dataformats="HW")
    assert caught[0].filename == __file__
    assert picture(read(tmp_path))[3].tolist() == [[[0] * 3, [255] * 3]]
    assert np.isnan(array[0, 0])


def test_integers_up_to_255_that_are_not_uint8_cause_a_warning(tmp_path):
    with (
        rf.SummaryWriter(tmp_path) as writer,
        pytest.warns(UserWarning, match="int64 and was clipped to 1; pass uint8"),
    ):
        writer.add_image("p", BYTES.astype(np.int64))


def test_a_silent_writer_ignores_invalid_images(tmp_path):
    with rf.SummaryWriter(tmp_path, write_to_disk=False, on_error="raise") as writer:
        writer.add_image("p", "not an image")
    writer.add_image("p", "not an image")
    assert list(tmp_path.iterdir()) == []
