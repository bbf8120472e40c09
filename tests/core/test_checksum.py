"""All implementations of CRC32C, including TensorBoard's, give the same number."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub import pywrap_tensorflow as tensorboard

from runfold._core.checksum import IMPLEMENTATION, crc32c, crc32c_by_table, masked_crc32c

NOISE = random.Random(7).randbytes(20_000)


def test_known_values_are_computed() -> None:
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43


def test_the_implementation_is_named() -> None:
    assert IMPLEMENTATION in {"sse4.2", "arm64-crc", "table"}


@pytest.mark.parametrize("start", range(8))
def test_every_alignment_and_short_length_agrees_with_tensorboard(start: int) -> None:
    view = memoryview(NOISE)
    for length in range(101):
        data = view[start : start + length]
        expected = tensorboard.crc32c(bytes(data))
        assert crc32c(data) == expected
        assert crc32c_by_table(data) == expected


@pytest.mark.parametrize("length", [3071, 3072, 3073, 3079, 6143, 6144, 6149, 9216, 19_999])
def test_buffers_read_in_interleaved_blocks_agree_with_the_table(length: int) -> None:
    for start in (0, 1):
        data = memoryview(NOISE)[start : start + length]
        assert crc32c(data) == crc32c_by_table(data)
    assert crc32c(NOISE[:length]) == tensorboard.crc32c(NOISE[:length])


def test_a_flipped_bit_in_any_block_is_detected() -> None:
    whole = crc32c(NOISE)
    for at in range(0, len(NOISE), 509):
        changed = bytearray(NOISE)
        changed[at] ^= 1
        assert crc32c(changed) != whole
        assert crc32c(changed) == crc32c_by_table(changed)


@given(st.binary(max_size=300))
def test_all_agree_on_any_bytes(data: bytes) -> None:
    assert crc32c(data) == crc32c_by_table(data) == tensorboard.crc32c(data)
    assert masked_crc32c(data) == tensorboard.masked_crc32c(data)


@given(st.binary(min_size=1, max_size=64), st.integers(40, 300))
def test_long_repeated_buffers_agree_with_the_table(data: bytes, times: int) -> None:
    assert crc32c(data * times) == crc32c_by_table(data * times)


def test_any_contiguous_buffer_is_accepted() -> None:
    assert crc32c(bytearray(b"abc")) == crc32c(memoryview(b"abc")) == crc32c(b"abc")
