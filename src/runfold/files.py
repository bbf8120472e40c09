"""Files that other users may have touched: read without waiting, replaced without following links.

Whoever may write to a shared logdir can put a FIFO, a device, a huge file or a link
where Runfold expects a small file. Every side file is read and written through here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat

# The largest side file: a heartbeat, a stop request, the index of experiments.
MOST_BYTES = 64 << 10


def read_small(path: str, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a small regular file.

    Never waits, and never reads more than `most` bytes. Raises OSError for a file
    that is larger, and for a FIFO, a device, a folder or a symbolic link.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)
        data = b""
        # One byte more than allowed reveals a file that is too large, also one that grows.
        while len(data) <= most and (chunk := os.read(descriptor, most + 1 - len(data))):
            data += chunk
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"Larger than {most:,} bytes", path)
    return data


def replace_small(path: str, data: bytes, mode: int | None = None) -> None:
    """Replace a file with these bytes, whole or not at all. Raises OSError.

    The draft has a random name and is never opened through a link that somebody
    else left. `mode` is set on the open draft, so no other file can receive it;
    without it the umask decides.
    """
    draft = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o666)
    try:
        with open(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(data)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is below a folder after all links are resolved, or the folder itself."""
    outer, inner = os.path.realpath(folder), os.path.realpath(path)
    return inner == outer or inner.startswith(os.path.join(outer, ""))
