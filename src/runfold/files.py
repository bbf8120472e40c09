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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The largest side file, such as a heartbeat or a stop request.
MOST_BYTES = 64 << 10

_CHUNK = 1 << 20


class Untrusted(PermissionError):
    """A folder or file that is not used, because another user may have put it there."""


def check_owner(path: str, descriptor: int | None = None) -> None:
    """Raise Untrusted if another user may have put a file or folder there.

    In a folder that everybody may write to, an entry must belong to the current user,
    to the owner of that folder, or to root. Linux has the same rule for sticky folders
    (`fs.protected_regular`). With `descriptor` the entry is the open file, otherwise
    the path itself; a link is not followed.
    """
    status = os.lstat(path) if descriptor is None else os.fstat(descriptor)
    parent = os.stat(os.path.dirname(path) or os.curdir)
    is_open_to_all = bool(parent.st_mode & stat.S_IWOTH)
    if is_open_to_all and status.st_uid not in (os.geteuid(), parent.st_uid, 0):
        reason = f"Owned by user {status.st_uid}, in a folder that everybody may write to"
        raise Untrusted(errno.EPERM, reason, path)


@contextlib.contextmanager
def open_folder(path: str, *, is_written: bool = False) -> Iterator[int]:
    """Yield a descriptor of a folder, for the `dir_fd` of what is done in it.

    Whoever may rename the folder cannot put another one in its place meanwhile.
    Raises Untrusted for a link and for a file, and with `is_written` where
    `check_owner` does; otherwise OSError.
    """
    descriptor = _open_folder(path, path)
    try:
        if is_written:
            check_owner(path, descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def make_folder(path: str, below: str, *, dir_fd: int | None = None) -> Iterator[int]:
    """Yield a descriptor of the folder `below` another one, created if it is missing.

    `path` may lead through links; `dir_fd` is its descriptor if it is open already. Each
    folder after it is opened from the one before, without following a link, so that
    nobody else can direct what is written to another place. Raises Untrusted as
    `open_folder` with `is_written` does, and OSError.
    """
    if dir_fd is None:
        os.makedirs(path, exist_ok=True)
        descriptor = _open_folder(os.path.realpath(path), path)
    else:
        descriptor = os.dup(dir_fd)
    try:
        for name in filter(None, below.split("/")):
            path = os.path.join(path, name)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=descriptor)
            inner = _open_folder(name, path, descriptor)
            os.close(descriptor)
            descriptor = inner
            check_owner(path, descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(name: str, path: str, dir_fd: int | None = None) -> int:
    """Open a folder, but not through a link; errors show its whole path."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.lexists(path):
            raise Untrusted(errno.EPERM, "A link or a file instead of a folder", path) from None
        raise


def read_small(path: str, most: int = MOST_BYTES, *, dir_fd: int | None = None) -> bytes:
    """Return the bytes of a small regular file.

    Never waits, and never reads more than `most` bytes. Raises OSError for a file
    that is larger, and for a FIFO, a device, a folder or a symbolic link. With
    `dir_fd` the path is relative to that open folder.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    data = bytearray()
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)
        # One byte more than allowed reveals a file that is too large, also one that grows.
        while len(data) <= most and (
            chunk := os.read(descriptor, min(_CHUNK, most + 1 - len(data)))
        ):
            data += chunk
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"Larger than {most:,} bytes", path)
    return bytes(data)


def replace_small(
    path: str, data: bytes, mode: int | None = None, *, dir_fd: int | None = None
) -> None:
    """Replace a file with these bytes, whole or not at all. Raises OSError.

    The draft has a random name and is never opened through a link that somebody
    else left. `mode` is set on the open draft, so no other file can receive it;
    without a mode the umask decides. With `dir_fd` the path is relative to that open folder.
    """
    draft = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o666 if mode is None else mode, dir_fd=dir_fd)
    try:
        with open(descriptor, "wb") as file:
            if mode is not None:
                with contextlib.suppress(OSError):  # a disk without modes
                    os.fchmod(descriptor, mode)
            file.write(data)
        os.replace(draft, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=dir_fd)
        raise


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is below a folder after all links are resolved, or the folder itself."""
    outer, inner = os.path.realpath(folder), os.path.realpath(path)
    return inner == outer or inner.startswith(os.path.join(outer, ""))
