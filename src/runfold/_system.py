"""Portable versions of system calls that Windows lacks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Flags for `os.open`; 0 if the system lacks the flag. Python closes every descriptor on
# exec, so O_CLOEXEC is never needed. Without O_BINARY, Windows translates line endings.
O_BINARY: int = getattr(os, "O_BINARY", 0)
O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
O_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)

# Whether the system has POSIX processes, locks and signals, and can open folders.
IS_POSIX = hasattr(os, "fork")


def pread(descriptor: int, count: int, offset: int) -> bytes:
    """Return up to `count` bytes of a file, starting at an offset.

    On Windows this changes the file's position, so only one thread may use a descriptor.
    """
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, count)


def read_into(descriptor: int, view: memoryview, offset: int) -> int:
    """Read bytes into `view`, starting at an offset in a file. Return how many were read."""
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [view], offset)
    data = pread(descriptor, len(view), offset)
    view[: len(data)] = data
    return len(data)


def file_system_of(path: str, mounts: str = "/proc/self/mounts") -> str:
    """Return the type of the file system that a path is on, such as `ext4`.

    The result is empty if the system cannot tell, as on macOS and Windows.
    """
    try:
        with open(mounts, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    path_bytes = os.fsencode(os.path.realpath(path))
    best, kind = b"", b""
    for line in lines:
        parts = line.split()
        if len(parts) < 3:
            continue
        # Spaces in a path are written as \040.
        root = parts[1].decode("unicode_escape").encode("latin-1", "replace").rstrip(b"/") + b"/"
        # A later mount at the same path covers an earlier one.
        if (path_bytes + b"/").startswith(root) and len(root) >= len(best):
            best, kind = root, parts[2]
    return kind.decode("ascii", "replace")


def host_name() -> str:
    """Return the name of this machine."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform

    return platform.node()


def lock_file(descriptor: int) -> None:
    """Lock an open file, waiting for other processes. Does nothing on Windows."""
    if IS_POSIX:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def register_at_fork(**calls: Callable[[], Any]) -> None:
    """Call functions around each fork, like `os.register_at_fork`. Does nothing on Windows."""
    if IS_POSIX:
        os.register_at_fork(**calls)
