"""Compression of text files by the last suffix of their name."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def compress(file: BinaryIO, suffix: str) -> AbstractContextManager[Any]:
    """Return a stream that compresses into `file`, or `file` itself for an empty suffix.

    The same content always gives the same bytes. The file remains open.
    """
    if suffix == ".gz":
        import gzip

        # A file name or time would make the bytes differ.
        return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if suffix == ".xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    if suffix == ".zst":
        import pyarrow as pa

        stream: AbstractContextManager[Any] = pa.CompressedOutputStream(_KeptOpen(file), "zstd")
        return stream
    return nullcontext(file)


class _KeptOpen(io.RawIOBase):
    """A file that remains open when its stream closes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)
