"""Audio clips decode identically from the old and the new format."""

import io
import wave
from contextlib import suppress

import numpy as np
import pytest
from helpers.kind_values import new_form, tensor_value, written
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils import tensorboard as torch_tensorboard

from runfold._events.kinds.audio import Audio, Clip, decode_wave, locate, of_bytes
from runfold._events.wire import NeedMore, grow

SAMPLES = np.sin(np.arange(800) / 9).astype(np.float32)


def wav(samples, width=2, channels=1, rate=8000):
    out = io.BytesIO()
    with wave.open(out, "wb") as writer:
        writer.setnchannels(channels)
        writer.setsampwidth(width)
        writer.setframerate(rate)
        writer.writeframes(samples)
    return out.getvalue()


def clips(value):
    return [
        Audio(clip, lambda clip=clip: value[clip.start : clip.start + clip.length])
        for clip in locate(value, len(value))
    ]


@pytest.mark.parametrize("form", [lambda value: value, new_form])
def test_old_and_new_format_decode_to_the_same_samples(form, tmp_path):
    values = written(
        torch_tensorboard.SummaryWriter,
        tmp_path,
        lambda w: w.add_audio("a", SAMPLES, 0, sample_rate=8000),
    )
    (clip,) = clips(form(values["a"][0]))
    assert (clip.sample_rate, clip.channels, clip.length_frames) == (8000, 1, 800)
    assert (clip.content_type, clip.label, clip.duration) == ("audio/wav", "", 0.1)
    rate, samples = clip.wave()
    assert rate == 8000
    assert samples[:, 0].tolist() == (SAMPLES * 32767).astype(np.int16).tolist()


def test_labels_and_headers_of_several_clips_are_read():
    first, second = wav(bytes(400), rate=8000), wav(bytes(800), channels=2, rate=16000)
    value = tensor_value(np.array([[first, "one"], [second, "<b>"]], dtype=object), "audio")
    got = clips(value)
    assert [(c.label, c.sample_rate, c.channels, c.length_frames) for c in got] == [
        ("one", 8000, 1, 200),
        ("<b>", 16000, 2, 200),
    ]
    assert [clip.data for clip in got] == [first, second]


def test_clips_without_labels_are_read():
    value = tensor_value(np.array([[wav(b"")], [b"OggS"]], dtype=object), "audio")
    assert [clip.content_type for clip in clips(value)] == ["audio/wav", "audio/ogg"]


def test_a_clip_in_an_unknown_format_keeps_the_properties_of_the_value():
    audio = Summary.Audio(
        sample_rate=44100.0,
        num_channels=2,
        length_frames=9,
        encoded_audio_string=b"????",
        content_type="audio/x",
    )
    value = Summary.Value(tag="a", audio=audio).SerializeToString()
    (clip,) = locate(value, len(value))
    assert clip == Clip(value.index(b"????"), 4, 44100.0, 2, 9, "audio/x", "")


def test_properties_are_read_without_fetching_the_clip():
    audio = Summary.Audio(encoded_audio_string=wav(bytes(100_000)), content_type="audio/wav")
    value = Summary.Value(tag="a", audio=audio).SerializeToString()
    assert locate(value[:80], len(value)) == locate(value, len(value))


def test_a_short_prefix_raises_need_more_until_it_suffices():
    rows = [[wav(bytes(300)), "one"], [wav(bytes(200)), "two"]]
    value = tensor_value(np.array(rows, dtype=object), "audio")
    whole = locate(value, len(value))
    for end in range(len(value)):
        try:
            assert locate(value[:end], len(value)) == whole
        except NeedMore as more:
            assert end < more.size <= len(value)
    assert grow(locate, lambda size: value[:size], len(value)) == whole


@pytest.mark.parametrize(
    ("width", "dtype", "numbers"),
    [
        (1, np.uint8, [0, 128, 255]),
        (2, np.int16, [-(2**15), 0, 2**15 - 1]),
        (3, np.int32, [-(2**23), -1, 2**23 - 1]),
        (4, np.int32, [-(2**31), 1, 2**31 - 1]),
    ],
)
def test_samples_of_every_width_are_decoded_as_integers(width, dtype, numbers):
    raw = b"".join(n.to_bytes(width, "little", signed=width > 1) for n in numbers)
    _, samples = decode_wave(wav(raw, width))
    assert samples.dtype == dtype
    assert samples.tolist() == [[number] for number in numbers]


def test_a_notebook_shows_a_player_and_no_html_from_the_log():
    value = tensor_value(np.array([[wav(bytes(40)), "<script>"]], dtype=object), "audio")
    html = clips(value)[0]._repr_mimebundle_()["text/html"]
    assert 'src="data:audio/wav;base64,UklGR' in html
    assert "<script>" not in html


def test_decoding_another_format_than_wav_is_a_value_error():
    (clip,) = clips(tensor_value(np.array([[b"junk", ""]], dtype=object), "audio"))
    with pytest.raises(ValueError, match="not a PCM WAV file"):
        clip.wave()
    assert "browsers cannot play this format" in clip._repr_mimebundle_()["text/plain"]


def test_other_shapes_are_rejected():
    value = tensor_value(np.array([[b"a", b"b", b"c"]], dtype=object), "audio")
    with pytest.raises(ValueError, match="expected audio as rows of a clip and its label"):
        locate(value, len(value))


@given(st.binary())
def test_arbitrary_bytes_give_clips_or_value_error(raw):
    with suppress(ValueError):
        locate(raw, len(raw))


@given(st.data())
def test_damaged_wav_files_give_samples_or_value_error(data):
    damaged = bytearray(wav(bytes(24)))
    for _ in range(3):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ValueError):
        decode_wave(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


def test_save_writes_the_stored_bytes(tmp_path):
    data = wav(np.arange(3, dtype=np.int16).tobytes())
    clip = of_bytes(data)
    clip.save(tmp_path / "a.WAV")
    assert (tmp_path / "a.WAV").read_bytes() == data
    with pytest.raises(ValueError, match=r"the clip is stored as \.wav and cannot be converted"):
        clip.save(tmp_path / "a.mp3")
    of_bytes(b"an unknown format").save(tmp_path / "a.bin")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.WAV", "a.bin"]
