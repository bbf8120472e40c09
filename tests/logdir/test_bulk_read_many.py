"""Many files in one buffer: none is truncated by the files before it."""

import os
from pathlib import Path

from helpers.eventfiles import NAME, field, loss, points, scalars

import runfold as rf
from runfold._core.encoder import frame
from runfold._core.record import StopReason
from runfold._core.tag_table import Tags
from runfold._events.event_file import EventFile
from runfold._events.opened_file import OpenedFile
from runfold._logdir.bulk_read import BUFFER_SIZE, Reader, ReadFile


def test_large_record_after_a_nearly_full_buffer_is_read(tmp_path: Path):
    filler = field(15, bytes(BUFFER_SIZE - 200_000))  # an unknown field
    large = field(15, bytes(BUFFER_SIZE // 2))
    files = {
        "a": frame(filler) + scalars(1),
        "b": frame(large) + scalars(1, 2) + frame(large) + frame(large) + scalars(3),
    }
    for run, content in files.items():
        (tmp_path / run).mkdir()
        (tmp_path / run / NAME).write_bytes(content)
    runs = rf.open(tmp_path).load()
    assert {run: points(runs, run) for run in runs} == {"a": loss(1), "b": loss(1, 2, 3)}


class CuttingReader(Reader):
    """Truncates a file right after the reader has checked its size."""

    def _read_to(self, file: ReadFile, opened: OpenedFile, size: int) -> None:
        os.truncate(file.path, BUFFER_SIZE + 1)
        super()._read_to(file, opened, size)


def test_file_truncated_within_a_large_record_while_it_is_read_is_torn(
    tmp_path: Path,
):
    path = tmp_path / NAME
    path.write_bytes(scalars(1) + frame(bytes(2 * BUFFER_SIZE)) + scalars(2))
    file = EventFile(str(path), Tags())
    reader = CuttingReader()
    reader.read(file)
    reader.finish()
    assert (file.decoder.offset, file.decoder.stop) == (len(scalars(1)), StopReason.IS_TORN)
