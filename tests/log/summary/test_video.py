"""Videos: frames in torch's order, with exact colors and the right duration."""

import io
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
from helpers.media import read
from tensorboardX.utils import convert_to_NTCHW
from torch.utils.tensorboard._utils import _prepare_video

import runfold as rf
from runfold._log.summary.video import encode_gif
from runfold.errors import CannotLog

RNG = np.random.default_rng(0)


def frames_of(data):
    """Return every frame of a GIF as RGB, and its duration in seconds."""
    gif: Any = PIL.Image.open(io.BytesIO(data))
    frames, seconds = [], []
    for number in range(gif.n_frames):
        gif.seek(number)
        frames.append(np.asarray(gif.convert("RGB")))
        seconds.append(gif.info["duration"] / 1000)
    return np.array(frames), seconds


def logged(folder, *values, **options):
    with rf.SummaryWriter(folder) as writer:
        writer.add_video("v", *values, **options)
    (event,) = read(folder).Images("v")
    return event


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_batch_has_the_same_layout_as_in_torch(tmp_path, count, channels):
    # There are few colors, so that a GIF keeps them all, and they are multiples of 1/255, which
    # survive torch's conversion.
    videos = RNG.choice([0.0, 1.0, 0.4], (count, 3, channels, 4, 5))
    event = logged(tmp_path, videos, 7)
    expected = (_prepare_video(videos) * 255).clip(0, 255).astype(np.uint8)
    found, _ = frames_of(event.encoded_image_string)
    np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))
    assert (event.step, event.height, event.width) == (7, *expected.shape[1:3])


def test_axes_can_be_in_any_order_as_in_tensorboardx(tmp_path):
    videos = RNG.choice([0, 100, 255], (2, 3, 4, 5, 3)).astype(np.uint8)
    event = logged(tmp_path, torch.tensor(videos), dataformats="NTHWC")
    expected = _prepare_video(convert_to_NTCHW(videos, "NTHWC") / 255)
    found, _ = frames_of(event.encoded_image_string)
    np.testing.assert_array_equal(found, np.rint(expected * 255))


@pytest.mark.parametrize("count", [2, 255, 256])
def test_up_to_256_colors_per_frame_are_exact(count):
    for _ in range(5):
        frames = np.stack(
            [
                palette[RNG.integers(0, count, (16, 16))]
                for palette in RNG.integers(0, 256, (6, count, 3)).astype(np.uint8)
            ]
        )
        frames[3, :8] = frames[2, :8]
        found, _ = frames_of(encode_gif(frames, 4))
        np.testing.assert_array_equal(found, frames)


def test_more_colors_are_reduced_to_256():
    smooth = np.stack(np.meshgrid(np.arange(64), np.arange(64)), axis=-1).astype(np.uint8) * 4
    frames = np.concatenate([smooth, smooth[..., :1]], axis=-1)[None]
    found, _ = frames_of(encode_gif(frames, 4))
    assert np.abs(found.astype(int) - frames).mean() < 8


@pytest.mark.parametrize(
    ("fps", "seconds"), [(4, 12.0), (30, 1.6), (24, 2.0), (0.5, 96.0), (60, 0.96), (1000, 0.96)]
)
def test_a_video_has_the_right_duration_up_to_50_frames_per_second(fps, seconds):
    frames = RNG.integers(0, 256, (48, 2, 2, 1)).astype(np.uint8)
    found, durations = frames_of(encode_gif(frames, fps))
    assert len(found) == 48
    assert sum(durations) == pytest.approx(seconds)
    assert min(durations) >= 0.02


def test_unchanged_frames_are_shown_for_their_full_duration():
    _, durations = frames_of(encode_gif(np.zeros((8, 2, 2, 3), np.uint8), 4))
    assert sum(durations) == pytest.approx(2.0)


def test_transparent_pixels_are_white(tmp_path):
    videos = np.zeros((1, 2, 4, 1, 2), np.uint8)
    videos[:, :, 3, :, 0] = 255
    found, _ = frames_of(logged(tmp_path, videos).encoded_image_string)
    assert found[0].tolist() == [[[0] * 3, [255] * 3]]


def test_gray_with_alpha_is_blended_with_white(tmp_path):
    video = np.array([[0, 255], [0, 0]], np.uint8).reshape(1, 1, 2, 1, 2)
    video[0, 0, 1] = [[255, 0]]
    found, _ = frames_of(logged(tmp_path, video).encoded_image_string)
    assert found[0].tolist() == [[[0] * 3, [255] * 3]]


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ((np.zeros((2, 3, 4, 4)),), {}, r"vid_tensor.*'NTCHW' means \(batch, frames, chan"),
        ((np.zeros((1, 2, 5, 4, 4)),), {}, "vid_tensor.*5 channels"),
        ((np.zeros((1, 0, 3, 4, 4)),), {}, "vid_tensor.*empty"),
        ((np.zeros((1, 1, 1, 1, 65536)),), {}, "vid_tensor.*65536 x 1 pixels"),
        ((np.zeros((1, 1, 1, 2, 2)),), {"dataformats": "NCHW"}, "dataformats.*NTCHW"),
        ((np.zeros((1, 1, 1, 2, 2)),), {"fps": 0}, "fps cannot be int 0"),
        ((np.zeros((1, 1, 1, 2, 2)),), {"fps": float("nan")}, "fps cannot be"),
    ],
)
def test_an_invalid_video_raises_by_name(tmp_path, values, options, words):
    with (
        rf.SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(CannotLog, match=f"Tag 'v': {words}"),
    ):
        writer.add_video("v", *values, **options)
