"""Reads arbitrary bytes as an event file. Reading at once or in two pieces must be equivalent."""

from engine import instrumented, run

with instrumented():
    import numpy as np

    from runfold._core.checksum import masked_crc32c
    from runfold._core.decoder import Decoder, decode
    from runfold._core.event import Form, NoteCode
    from runfold._core.record import StopReason
    from runfold._core.tag_table import Tags

LIMIT = 1 << 20
HEADER_SIZE, FRAME_SIZE = 12, 16


def read(data: bytes, cuts: list[int]) -> tuple[object, ...]:
    """Return everything that a decoder collects, in a form that can be compared."""
    decoder = Decoder(Tags(), limit=LIMIT)
    for cut in [*cuts, len(data)]:
        stretch = data[decoder.offset : cut]
        decode([decoder], stretch, np.array([0]), np.array([len(stretch)]))
    if decoder.stop == StopReason.IS_TOO_LONG:
        assert decoder.needed > LIMIT
    scalars, items, notes, restarts = decoder.take()
    check(decoder, items, notes)
    return (
        {tag: [column.tobytes() for column in columns] for tag, columns in scalars.items()},
        items.tobytes(),
        notes,
        restarts,
        decoder.tags.names(),
        [decoder.tags.metadata(number) for number in range(len(decoder.tags))],
        (decoder.offset, decoder.stop, decoder.needed, decoder.events),
    )


def check(decoder: Decoder, items: np.ndarray, notes: list[tuple[int, int, int]]) -> None:
    """Check that all reported positions are in the part of the file that was read."""
    for item in items:
        Form(item["form"])
        start, end = item["start"], item["start"] + item["length"]
        assert item["record"] + HEADER_SIZE <= start <= end <= decoder.offset - 4
        assert -1 <= item["tag"] < len(decoder.tags)
    for offset, code, tag in notes:
        NoteCode(code)
        assert 0 <= offset <= decoder.offset - FRAME_SIZE
        assert -1 <= tag < len(decoder.tags)


def repair(data: bytes, lengths: bool, payloads: bool) -> bytes:
    """Fix the checksums.

    Random checksums are rarely valid, so without this the fuzzer would reach little code.
    """
    file = bytearray(data)
    at = 0
    while len(file) - at >= HEADER_SIZE:
        if lengths:
            file[at + 8 : at + HEADER_SIZE] = checksum(file[at : at + 8])
        end = at + int.from_bytes(file[at : at + 8], "little") + FRAME_SIZE
        if end > len(file):
            break
        if payloads:
            file[end - 4 : end] = checksum(file[at + HEADER_SIZE : end - 4])
        at = end
    return bytes(file)


def checksum(data: bytearray) -> bytes:
    """Return the four checksum bytes that follow `data` in a valid file."""
    return masked_crc32c(data).to_bytes(4, "little")


def test_one_input(data: bytes) -> None:
    """The first two bytes give the position of the cut, and the third selects what to repair."""
    cut, mode = int.from_bytes(data[:2], "little"), data[2] if len(data) > 2 else 0
    file = repair(data[3:], bool(mode & 1), bool(mode & 2))
    assert read(file, []) == read(file, [cut % (len(file) + 1)])


if __name__ == "__main__":
    run(test_one_input)
