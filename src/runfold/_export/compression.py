"""Text files that are compressed as the last suffix of their name says."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def compress(file: BinaryIO, suffix: str) -> AbstractContextManager[Any]:
    """Return what to write to, so that `file` gets it compressed; no suffix, as it is.

    The same content gives the same bytes at any time. The file stays open.
    """
    if suffix == ".gz":
        import gzip

        # Without a name and a time in it.
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
    """A file that someone else closes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)
