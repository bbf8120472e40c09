"""Bytes that identify the part of a file that was decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runfold._events.opened_file import OpenedFile, Status


class FileMark(NamedTuple):
    """A file up to `offset`: its identity, its first bytes, and those before the offset.

    `device` and `inode` are None if the first read failed partway; then only the bytes are
    compared.
    """

    device: int | None
    inode: int | None
    offset: int
    head: bytes
    before: bytes

    def is_replaced(self, stat: Status, opened: OpenedFile) -> bool:
        """Return whether an open file no longer begins with the bytes that were decoded."""
        if self.device is not None and (self.device, self.inode) != (stat.st_dev, stat.st_ino):
            return True
        # Bytes after the offset can change: torn records are completed and zeros overwritten.
        return self.offset > 0 and (
            stat.st_size < self.offset
            or opened.pread(len(self.head), 0) != self.head
            or opened.pread(len(self.before), self.offset - len(self.before)) != self.before
        )
