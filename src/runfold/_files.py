"""Safe access to files in shared folders: reads never block, writes never follow links.

Anyone with write access to a shared logdir can put a FIFO, a device, a huge file or a
link where Runfold expects a small file. All side files are read and written here.
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

# The maximum size of a side file, such as a heartbeat or a stop request.
MOST_BYTES = 64 << 10

_CHUNK = 1 << 20


class Untrusted(PermissionError):
    """A folder or file that is not used because another user may have created it."""


def check_owner(path: str, descriptor: int | None = None) -> None:
    """Raise Untrusted if another user may have created a file or folder.

    In a world-writable folder, an entry must belong to the current user, to the owner
    of that folder, or to root. Linux has the same rule for sticky folders
    (`fs.protected_regular`). With `descriptor`, the open file is checked; otherwise the
    path itself, without following a link.
    """
    status = os.lstat(path) if descriptor is None else os.fstat(descriptor)
    parent = os.stat(os.path.dirname(path) or os.curdir)
    is_open_to_all = bool(parent.st_mode & stat.S_IWOTH)
    if is_open_to_all and status.st_uid not in (os.geteuid(), parent.st_uid, 0):
        reason = f"Owned by user {status.st_uid}, in a world-writable folder"
        raise Untrusted(errno.EPERM, reason, path)


@contextlib.contextmanager
def open_folder(path: str, *, is_written: bool = False) -> Iterator[int]:
    """Yield a descriptor of a folder, to use as `dir_fd`.

    Nobody can then swap the folder for a different one. Raises Untrusted for a link or a
    file and, if `is_written` is set, whenever `check_owner` does. Raises OSError for other
    failures.
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
    """Yield a descriptor of the folder `below` in the folder `path`, created if it is missing.

    `path` can contain links. `dir_fd` is the descriptor of `path`, if it is already open.
    Each folder in `below` is opened relative to its parent, without following links, so
    that no other user can redirect the output. Raises the same errors as `open_folder` with
    `is_written`.
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
    """Open a folder, but not through a link; errors show the full path."""
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

    Never blocks, and never returns more than `most` bytes. Raises OSError for a larger
    file, and for a FIFO, a device, a folder or a symbolic link. With `dir_fd`, the path
    is relative to that open folder.
    """
    return read_with_status(path, most, dir_fd=dir_fd)[0]


def read_with_status(
    path: str, most: int = MOST_BYTES, *, dir_fd: int | None = None
) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a small regular file, and its status.

    Raises the same errors as `read_small`.
    """
    flags = os.O_RDONLY | O_BINARY | O_NONBLOCK | O_NOFOLLOW
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    data = bytearray()
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)
        # Reading one byte more than allowed detects a file that is too large or growing.
        while len(data) <= most and (
            chunk := os.read(descriptor, min(_CHUNK, most + 1 - len(data)))
        ):
            data += chunk
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"Larger than {most:,} bytes", path)
    return bytes(data), status


def replace_small(
    path: str, data: bytes, mode: int | None = None, *, dir_fd: int | None = None
) -> None:
    """Replace a file's content completely or not at all; see `open_draft`. Raises OSError."""
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
    """Yield a file to write, which replaces the file at `path` when the block ends.

    On any error the draft is deleted. It has a random name in the same folder and is
    never opened through an existing link. `mode` is set on the open draft, so that no
    other file can receive it; without a mode, the umask applies. `time` is the
    modification time, by default now. With `is_synced`, the file is on disk when the
    block ends. With `dir_fd`, the path is relative to that open folder. Raises OSError.
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
    """Create a file for writing, never through a link. Raises OSError if the path exists."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):  # no platform has all these flags
        flags |= getattr(os, name, 0)
    return open(os.open(path, flags, mode, dir_fd=dir_fd), "wb")


def place_new(draft: str, path: str, *, dir_fd: int | None = None) -> bool:
    """Move a draft to its final path; return False if the path exists. Raises OSError.

    The draft may remain as a second name for the file. With `dir_fd`, both paths are
    relative to that open folder.
    """
    try:
        # Unlike a rename, a hard link never replaces an existing file.
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
    """Whether a path is the folder or below it, after resolving all links."""
    outer, inner = os.path.realpath(folder), os.path.realpath(path)
    return inner == outer or inner.startswith(os.path.join(outer, ""))
