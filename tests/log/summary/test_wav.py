"""Audio: the same samples as in torch, in mono and stereo, and clear errors for invalid values."""

import numpy as np
import pytest
import torch
from helpers.media import both, read

import runfold as rf
from runfold.errors import CannotLog

WAVE = np.sin(np.arange(2000) / 7)


def clip(folder):
    (row,) = rf.open(folder).audio().itertuples()
    rate, samples = row.audio.wave()
    return rate, row.channels, row.length_frames, samples


@pytest.mark.parametrize(
    "samples",
    [
        WAVE,
        WAVE.astype(np.float32)[None],
        WAVE[:, None],
        torch.tensor(WAVE).reshape(1, 1, -1),
        np.array([1.0, -1.0, 0.0]),
        np.array([0, 1, -1]),
    ],
)
def test_a_mono_clip_has_the_same_bytes_as_in_torch(tmp_path, samples):
    logs = both(tmp_path, lambda w: w.add_audio("s", samples, 3, 8000, 4.0))
    ours, theirs = (log.Audio("s") for log in logs)
    assert ours == theirs
    assert ours[0].length_frames == samples.size if isinstance(samples, np.ndarray) else 2000


def test_stereo_can_be_frames_by_channels_or_channels_by_frames(tmp_path):
    stereo = np.stack([WAVE, -WAVE / 2], axis=1)
    for name, samples in (("frames", stereo), ("channels", stereo.T)):
        with rf.SummaryWriter(tmp_path / name) as writer:
            writer.add_audio("s", samples, sample_rate=44100)
        rate, channels, frames, found = clip(tmp_path / name)
        assert (rate, channels, frames) == (44100, 2, 2000)
        np.testing.assert_array_equal(found, (stereo * 32767).astype(np.int16))
        (event,) = read(tmp_path / name).Audio("s")
        assert (event.sample_rate, event.length_frames) == (44100.0, 2000)


def test_values_outside_the_range_are_clipped_with_a_warning(tmp_path):
    with (
        rf.SummaryWriter(tmp_path) as writer,
        pytest.warns(UserWarning, match="Tag 's': snd_tensor has values outside -1 to 1") as caught,
    ):
        writer.add_audio("s", [2.0, -np.inf, 0.5])
    assert caught[0].filename == __file__
    assert clip(tmp_path)[3].ravel().tolist() == [32767, -32767, 16383]


def test_nan_becomes_silence_with_a_warning(tmp_path):
    samples = np.array([np.nan, 0.5])
    with rf.SummaryWriter(tmp_path) as writer, pytest.warns(UserWarning, match="'s'.*contains NaN"):
        writer.add_audio("s", samples)
    assert clip(tmp_path)[3].ravel().tolist() == [0, 16383]
    assert np.isnan(samples[0])


def test_int16_samples_are_unchanged_and_float16_does_not_overflow(tmp_path):
    with rf.SummaryWriter(tmp_path / "i") as writer:
        writer.add_audio("s", np.array([-32768, 5, 32767], np.int16))
    assert clip(tmp_path / "i")[3].ravel().tolist() == [-32768, 5, 32767]
    with rf.SummaryWriter(tmp_path / "f") as writer:
        writer.add_audio("s", np.array([1, -1, 0], np.float16))
    assert clip(tmp_path / "f")[3].ravel().tolist() == [32767, -32767, 0]


@pytest.mark.parametrize(
    ("samples", "rate", "words"),
    [
        (np.zeros((5, 3)), 8000, r"snd_tensor.*shape is \(5, 3\); expected"),
        (np.zeros((2, 2, 2)), 8000, "snd_tensor"),
        (np.zeros(0), 8000, "snd_tensor.*empty"),
        ("sound.wav", 8000, "snd_tensor"),
        (WAVE, 0, "sample_rate cannot be int 0"),
        (WAVE, float("inf"), "sample_rate"),
        (WAVE, 2**40, "sample_rate"),
        (WAVE, "fast", "sample_rate.*not a number"),
    ],
)
def test_invalid_audio_raises_by_name(tmp_path, samples, rate, words):
    with (
        rf.SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(CannotLog, match=f"Tag 's': {words}"),
    ):
        writer.add_audio("s", samples, sample_rate=rate)
