"""Images and audio clips that do not decode, or claim to be larger than any memory."""

import struct
import zlib

import pytest
from helpers.eventfiles import field, loss, record, scalars, varint

from runfold._core.encoder import frame
from runfold._events import value_encoding as values

SIZE = len(scalars(1))


def png(width: int, height: int) -> bytes:
    """Return a PNG that claims a size but has no pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.fault(33)
@pytest.mark.parametrize(
    "data", [b"not an image", b"", png(1, 1)[:20], png(8, 8), png(31_623, 31_623)]
)
@pytest.mark.parametrize("form", ["image", "image_tensor"])
def test_image_that_does_not_decode_is_shown_as_a_placeholder(faulty_log, data, form):
    image = (
        values.image("i", 8, 8, 3, data)
        if form == "image"
        else values.image_tensor("i", 8, 8, [data])
    )
    log = faulty_log(scalars(1), record(image, step=2), scalars(3))
    log.check(loss(1, 3))
    shown = log.runs.images()["image"].item()
    assert shown.problem
    assert shown.pil().size == (64, 64)
    assert shown.data == data
    assert shown.problem in shown._repr_mimebundle_()["text/plain"]


@pytest.mark.fault(33)
def test_image_that_claims_a_billion_pixels_is_listed_with_that_size(faulty_log):
    log = faulty_log(record(values.image("i", 100_000, 10_000, 3, b"tiny"), step=1))
    row = log.runs.images().iloc[0]
    assert (row["width"], row["height"]) == (10_000, 100_000)
    assert row["image"].pil().size == (64, 64)


@pytest.mark.fault(33)
@pytest.mark.parametrize("claim", [-1, 1 << 40])
def test_image_with_an_impossible_size_is_reported_and_skipped(faulty_log, claim):
    bad = field(1, b"i") + field(4, varint(1 << 3) + varint(claim) + field(4, png(1, 1)))
    log = faulty_log(scalars(1), frame(field(2, 2) + field(5, field(1, bad))))
    assert log.runs.images().empty
    assert log.notes() == [("bad-value", SIZE)]


@pytest.mark.fault(33)
@pytest.mark.parametrize("data", [b"not a clip", b"", b"RIFF\xff\xff\xff\xffWAVEfmt "])
def test_audio_that_does_not_decode_is_listed_with_a_problem(faulty_log, data):
    log = faulty_log(scalars(1), record(values.audio("a", 44_100, 1, 1 << 40, data), step=2))
    log.check(loss(1))
    clip = log.runs.audio()["audio"].item()
    assert clip.data == data
    assert clip._repr_mimebundle_()["text/plain"]
    with pytest.raises(ValueError, match="not a PCM WAV file"):
        clip.wave()
