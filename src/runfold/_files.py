"""Files that other users may have touched: read without waiting, replaced without following links.

Whoever may write to a shared logdir can put a FIFO, a device, a huge file or a link
where Runfold expects a small file. Every side file is read and written through here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from runfold._conventions import is_event_file, name_temporary
from runfold._system import IS_POSIX, O_BINARY, O_NOFOLLOW, O_NONBLOCK

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
    if not IS_POSIX:
        raise OSError(errno.EOPNOTSUPP, "Windows cannot open a folder", path)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
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
    flags = os.O_RDONLY | O_BINARY | O_NONBLOCK | O_NOFOLLOW
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
    """Replace a file with these bytes, whole or not at all, as `open_draft`. Raises OSError."""
    with open_draft(path, mode, dir_fd=dir_fd) as file:
        file.write(data)


@contextlib.contextmanager
def open_draft(
    path: str,
    mode: int | None = None,
    *,
    time: float | None = None,
    is_synced: bool = False,
    dir_fd: int | None = None,
) -> Iterator[BinaryIO]:
    """Yield a file to write, which replaces the one at `path` when the block ends.

    After any error nothing is left of it. The draft has a random name in the same folder
    and is never opened through a link that somebody else left. `mode` is set on the open
    draft, so no other file can receive it; without a mode the umask decides. `time`
    is its time of modification, by default now. With `is_synced` it is on the disk when
    the block ends. With `dir_fd` the path is relative to that open folder. Raises OSError.
    """
    draft = os.path.join(os.path.dirname(path), name_temporary())
    file = create_file(draft, 0o666 if mode is None else mode, dir_fd=dir_fd)
    try:
        with file:
            if mode is not None:
                with contextlib.suppress(OSError, AttributeError):  # a disk or system without modes
                    os.fchmod(file.fileno(), mode)
            yield file
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        if time is not None:
            os.utime(draft, (time, time), dir_fd=dir_fd)
        os.replace(draft, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=dir_fd)
        raise


def create_file(path: str, mode: int = 0o666, *, dir_fd: int | None = None) -> BinaryIO:
    """Open a new file for writing: never an existing one, nor through a link. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):  # no system has all of them
        flags |= getattr(os, name, 0)
    return open(os.open(path, flags, mode, dir_fd=dir_fd), "wb")


def place_new(draft: str, path: str, *, dir_fd: int | None = None) -> bool:
    """Give a file or folder its final path; False if something exists there. Raises OSError.

    The draft may remain as a second name of the file. With `dir_fd` both paths are
    relative to that open folder.
    """
    try:
        # Unlike a rename, a hard link never replaces another file.
        os.link(draft, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd, follow_symlinks=False)
        return True
    except FileExistsError:
        return False
    except OSError:
        pass  # a folder, or a file system without hard links
    try:
        os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
        return False
    except FileNotFoundError:
        pass
    try:
        os.rename(draft, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR):
            return False
        raise
    return True


def list_event_files(folder: str) -> list[str]:
    """Return the names of the event files in a folder. Raises OSError."""
    return [name for name in os.listdir(folder) if is_event_file(name)]


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is below a folder after all links are resolved, or the folder itself."""
    outer, inner = os.path.realpath(folder), os.path.realpath(path)
    return inner == outer or inner.startswith(os.path.join(outer, ""))
