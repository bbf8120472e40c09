"""Where a decoder stands and why, what it refuses, and who may use it when."""

import struct

import pytest
from decoding import feed

from runfold.core.checksum import masked_crc32c
from runfold.core.decoder import Decoder, State
from runfold.core.encoder import frame
from runfold.core.tags import Tags


def header(length: int) -> bytes:
    size = struct.pack("<Q", length)
    return size + struct.pack("<I", masked_crc32c(size))


def test_reading_goes_on_behind_a_record_that_was_stepped_over() -> None:
    decoder = Decoder(Tags(), limit=40)
    data = frame(bytes(41)) + frame(b"")
    feed(decoder, data)
    decoder.skip()
    feed(decoder, data[decoder.offset :])
    assert (decoder.state, decoder.offset, decoder.events) == (State.AT_END, len(data), 1)
    with pytest.raises(ValueError, match="no record to step over"):
        decoder.skip()
