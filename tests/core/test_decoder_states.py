"""The position and stop reason of a decoder, its checks, and its use by several threads."""

import struct
import threading

import numpy as np
import pytest
from helpers.decoding import FRAME, feed

from runfold._core.checksum import masked_crc32c
from runfold._core.decoder import MAX_RECORD, Decoder, decode
from runfold._core.encoder import EventBuffer, frame
from runfold._core.event import NoteCode
from runfold._core.record import StopReason
from runfold._core.tag_table import Tags


def header(length: int) -> bytes:
    size = struct.pack("<Q", length)
    return size + struct.pack("<I", masked_crc32c(size))


@pytest.mark.parametrize("length", [MAX_RECORD + 1, 2**40, 2**62, 2**63, 2**64 - 17, 2**64 - 1])
def test_a_length_above_the_limit_is_rejected_without_overflow(length: int) -> None:
    decoder = Decoder(Tags(), limit=2**64 - 1 if length > 2**62 else MAX_RECORD)
    feed(decoder, header(length) + bytes(20))
    assert (decoder.stop, decoder.offset) == (StopReason.IS_TOO_LONG, 0)
    assert decoder.needed == min(length + FRAME, 2**64 - 1)
    if length < 2**62 - FRAME:
        decoder.skip()
        assert (decoder.stop, decoder.offset) == (StopReason.AT_END, length + FRAME)
        assert decoder.take()[2] == [(0, NoteCode.RECORD_TOO_LONG, -1)]
    else:
        with pytest.raises(ValueError, match="are out of range"):
            decoder.skip()


def test_reading_continues_after_a_skipped_record() -> None:
    decoder = Decoder(Tags(), limit=40)
    data = frame(bytes(41)) + frame(b"")
    feed(decoder, data)
    decoder.skip()
    feed(decoder, data[decoder.offset :])
    assert (decoder.stop, decoder.offset, decoder.events) == (StopReason.AT_END, len(data), 1)
    with pytest.raises(ValueError, match="no record to skip"):
        decoder.skip()


@pytest.mark.parametrize(
    ("tail", "stop", "needed"),
    [
        (b"", StopReason.AT_END, 0),
        (b"\0", StopReason.IS_TORN, FRAME),
        (bytes(12), StopReason.IS_ZEROS, FRAME),
        (bytes(100), StopReason.IS_ZEROS, FRAME),
        (header(5), StopReason.IS_TORN, 5 + FRAME),
        (header(2**28) + bytes(50), StopReason.IS_TORN, 2**28 + FRAME),
        (b"\xff" * 12, StopReason.HAS_BAD_LENGTH, FRAME),
    ],
)
def test_stop_gives_the_reason_why_reading_stopped(
    tail: bytes, stop: StopReason, needed: int
) -> None:
    for before in (b"", frame(b"")):
        decoder = Decoder(Tags())
        feed(decoder, before + tail)
        assert (decoder.stop, decoder.needed, decoder.offset) == (stop, needed, len(before))


def test_a_completed_or_empty_stretch_is_no_longer_torn() -> None:
    decoder = Decoder(Tags())
    feed(decoder, frame(b"")[:5])
    feed(decoder, b"")
    assert (decoder.stop, decoder.needed) == (StopReason.AT_END, 0)


def test_wrong_arguments_are_rejected_before_anything_is_read() -> None:
    decoder, data = Decoder(Tags()), frame(b"")
    for start, end in [(-1, 3), (2, 1), (0, len(data) + 1), (-(2**63), 2**63 - 1)]:
        with pytest.raises(ValueError, match="outside a buffer of 16 bytes"):
            decode([decoder, decoder], data, np.array([0, start]), np.array([16, end]))
    with pytest.raises(ValueError, match="2 decoders need 2 starts"):
        decode([decoder] * 2, data, np.array([0]), np.array([16]))
    for wrong in (None, "decoder", Tags()):
        with pytest.raises(TypeError):
            decode([decoder, wrong], data, np.array([0, 0]), np.array([16, 16]))
    with pytest.raises(TypeError):
        Decoder(None)
    for offset in (-1, 2**62 + 1):
        with pytest.raises(ValueError, match="is out of range"):
            Decoder(Tags(), offset)
    assert (decoder.offset, decoder.events) == (0, 0)


def test_reading_tags_while_another_thread_decodes_works_or_raises() -> None:
    buffer = EventBuffer()
    buffer.table([str(i) for i in range(20_000)], np.arange(2), np.zeros(2), np.ones((2, 20_000)))
    data, decoder = buffer.getvalue(), Decoder(Tags())
    thread = threading.Thread(target=feed, args=(decoder, data))
    points_taken = 0
    thread.start()
    while True:
        was_alive = thread.is_alive()
        try:
            decoder.tags.names()
            points_taken += sum(len(points[0]) for points in decoder.take()[0].values())
        except RuntimeError as error:
            assert "another thread" in str(error)
        if not was_alive:
            break
    thread.join()
    assert points_taken == 40_000


def test_a_decoder_continues_at_the_position_of_another() -> None:
    buffer = EventBuffer()
    for step in range(4):
        buffer.scalar("loss", step / 2, step, 10.0 + step)
    data = bytes(buffer.getvalue())
    whole, first = Decoder(Tags()), Decoder(Tags())
    feed(whole, data)
    feed(first, data[: len(data) * 5 // 8])
    assert first.stop == StopReason.IS_TORN
    second = Decoder(first.tags.copy())
    second.resume(*first.position())
    assert second.position() == first.position()
    feed(second, data[second.offset :])
    assert second.position() == whole.position()
    assert second.take()[0][0][0].tolist() == [2, 3]
    with pytest.raises(ValueError, match="already decoded"):
        second.resume(*first.position())


@pytest.mark.parametrize("position", [(-1, 0, 0), (2**63 - 1, 0, 0), (0, 0, 5), (0, 0, -1)])
def test_an_impossible_position_is_rejected(position: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        Decoder(Tags()).resume(*position, 0, 0.0, 0.0)
