"""The event files of a store, read in place: many at a time, in ranges, and without a copy."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from runfold._events.opened_file import LocalFile, Unreachable
from runfold._storage.fast_driver import ObjectChanged
from runfold._storage.store import Entry, ShortRead, Store, explain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runfold._events.file_state import FileState
    from runfold._events.opened_file import OpenedFile, Status

# Number of requests at the same time.
_WORKERS = 32
# On an SFTP server, each has its own channel, and servers allow about ten.
_CHANNELS = 8
# Larger files are fetched in pieces of this size, and this many before they are needed.
_PIECE = 4 << 20
_AHEAD = 4
# Each piece begins with the end of the one before, to detect a file that is replaced meanwhile.
_OVERLAP = 64
# Files up to this size are fetched whole, even for a single value or if only their end is new.
_WHOLE = 64 << 10
# Ranges fetched for values are at least this long: the next value is often close by. Each range
# that follows another is twice as long as that one.
_RANGE = 256 << 10
# If access to the first files is denied, the credentials are wrong, and no other file is tried.
_MOST_REFUSALS = 8
# After a store could not be reached, nothing is requested for this many seconds: there can be many
# files, and a driver can take half a minute to give up.
_REST = 5.0


class RemoteStatus(NamedTuple):
    """The status of a version of a file in a store."""

    st_mode: int
    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int
    st_ino: int = 0
    st_dev: int = 0

    @classmethod
    def of(cls, entry: Entry) -> RemoteStatus:
        """Return the status of the file with this entry."""
        digest = hashlib.blake2b(entry.etag.encode(), digest_size=6).digest()
        # Only compared. It is long ago as a time, so the status counts as settled.
        version = int.from_bytes(digest) if entry.etag else 0
        return cls(stat.S_IFREG, entry.size, int(entry.time * 1e9), version)


class RemoteFiles:
    """The event files below a URL, opened by the paths that their copies would have.

    An event file that has an identical copy on disk is read from there. So is a file that is not
    listed, because the store could not be reached.

    Instances can be pickled: another process, also on another machine, connects itself. It reads
    the same versions, unless the files have changed since they were listed.
    """

    def __init__(self, store: Store, root: str, entries: Mapping[str, Entry] | None = None) -> None:
        """Files of the store by name; names are relative to the URL, and `root` is its path."""
        self.store = store
        self.root = root
        self._entries = dict(entries or {})
        # The paths of files that have a copy, which may be out of date. A system call takes long
        # while other threads are busy, so most files should need none.
        self.copies: set[str] = set()
        # Why the store could not be reached; empty if it could.
        self.trouble = ""
        # Until then, nothing is requested.
        self._due = 0.0
        self._refusals = 0
        self._expected: dict[str, list[_Piece]] = {}

    def __reduce__(self) -> tuple[type[RemoteFiles], tuple[Store, str, dict[str, Entry]]]:
        return type(self), (self.store, self.root, self._entries)

    def only(self, paths: Iterable[str]) -> RemoteFiles:
        """Return some of the files, to send them to another process."""
        names = map(self._name, paths)
        entries = {name: self._entries[name] for name in names if name in self._entries}
        return RemoteFiles(self.store, self.root, entries)

    def covers(self, path: str) -> bool:
        """Return whether a path is below the URL, whether or not it exists."""
        return path == self.root or path.startswith(self.root + os.sep)

    def lists(self, path: str) -> bool:
        """Return whether a path is that of a listed file."""
        return self.covers(path) and self._name(path) in self._entries

    def try_again(self) -> None:
        """Request files again although the store could not be reached earlier."""
        self.trouble, self._refusals, self._due = "", 0, 0.0

    def update(self, entries: dict[str, Entry]) -> bool:
        """Replace the list of files after the store has been reached; return if it changed."""
        self.try_again()
        is_changed = entries != self._entries
        self._entries = entries
        return is_changed

    def __len__(self) -> int:
        return len(self._entries)

    def open(self, path: str) -> OpenedFile:
        """Return a file, open. Nothing is requested until it is read."""
        name = self._name(path)
        entry = self._entries.get(name)
        expected = self._expected.pop(path, [])
        if entry is None or self._is_copied(path, entry):
            copy = _Copy(path, entry)
            if entry is None or copy.is_whole:
                return copy
            copy.close()
        return _RemoteFile(self, name, expected)

    def size(self, path: str) -> int:
        """Return the size of a file; 0 if it does not exist."""
        entry = self._entries.get(self._name(path))
        return 0 if entry is None else entry.size

    def last_write(self, paths: Iterable[str]) -> float | None:
        """Return when any of these files was last written; None if none exists."""
        entries = (self._entries.get(self._name(path)) for path in paths)
        return max((entry.time for entry in entries if entry is not None), default=None)

    def expect(self, path: str, offset: int, known: FileState | None) -> int:
        """Begin to fetch a file from an offset on; return the number of bytes to hold."""
        name = self._name(path)
        entry = self._entries.get(name)
        if entry is None or (known is not None and known.is_same(RemoteStatus.of(entry))):
            return 0
        if self._is_copied(path, entry) or path in self._expected:
            return 0
        self._expected[path] = pieces = list(self._plan(name, offset, entry.size))
        return sum(piece.end - piece.start for piece in pieces)

    def cancel(self, paths: Iterable[str]) -> None:
        """Forget expected files, which will not be read after all."""
        for path in paths:
            for piece in self._expected.pop(path, ()):
                piece.future.cancel()

    def _plan(self, name: str, offset: int, size: int) -> Iterator[_Piece]:
        start = 0 if offset <= _WHOLE else offset - _OVERLAP
        if start:
            yield self.request(name, 0, _OVERLAP)
        for _ in range(_AHEAD):
            if start >= size:
                return
            yield self.request(name, start, min(size, start + _PIECE))
            start += _PIECE - _OVERLAP
            if start + _OVERLAP >= size:
                return

    def request(self, name: str, start: int, end: int, etag: str = "") -> _Piece:
        """Fetch a range of a file in another thread."""
        return _Piece(start, end, _pool(self.store).submit(self.fetch, name, start, end, etag))

    def fetch(self, name: str, start: int, end: int, etag: str = "") -> bytes:
        """Return a range of a file. Raises OSError, with ESTALE for another version of the file."""
        if self.trouble and time.monotonic() < self._due:
            raise Unreachable(errno.EHOSTUNREACH, self.trouble, str(self.store))
        try:
            data = self.store.read(name, start, end, etag)
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, explain(error)) from None
        except PermissionError as error:
            self._refusals += 1
            if self._refusals >= _MOST_REFUSALS:
                self._unreachable(explain(error))
            raise PermissionError(errno.EACCES, explain(error)) from None
        except (ObjectChanged, ShortRead):
            raise self.replaced(name) from None
        except Exception as error:
            if self._has_changed(name):
                raise OSError(errno.ESTALE, "replaced while it was read") from None
            raise self._unreachable(explain(error)) from None
        self._refusals = -1 << 30  # access is granted: others can only be denied one by one
        return data

    def entry(self, name: str) -> Entry:
        """Return the entry of a listed file. Raises FileNotFoundError if it has been deleted."""
        try:
            return self._entries[name]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "deleted in the store") from None

    def replaced(self, name: str) -> OSError:
        """Return an error for a file that was replaced, and look at its current version.

        Raises OSError if the store cannot be reached.
        """
        try:
            self._look_again(name)
        except FileNotFoundError as error:
            return FileNotFoundError(errno.ENOENT, explain(error))
        except Exception as error:
            return self._unreachable(explain(error))
        return OSError(errno.ESTALE, "replaced while it was read")

    def _unreachable(self, reason: str) -> Unreachable:
        """Note that the store cannot be reached, and request nothing for a while."""
        self.trouble = reason
        self._due = time.monotonic() + _REST
        return Unreachable(errno.EHOSTUNREACH, reason, str(self.store))

    def _has_changed(self, name: str) -> bool:
        """Return whether another version of a file is the reason of a failure."""
        before = self._entries.get(name)
        try:
            self._look_again(name)
        except Exception:  # the reason of the failure is the same
            return False
        return self._entries.get(name) != before

    def _look_again(self, name: str) -> None:
        self._entries[name] = self.store.find(name)

    def _is_copied(self, path: str, entry: Entry) -> bool:
        """Return whether there is a copy of the current version on disk."""
        if path not in self.copies:
            return False
        try:
            status = os.stat(path)
        except OSError:
            return False
        return status.st_size == entry.size and abs(status.st_mtime - entry.time) <= 0.001

    def _name(self, path: str) -> str:
        return path[len(self.root) + 1 :].replace(os.sep, "/")


class _Copy(LocalFile):
    """The copy of a file, with the status of the file in the store."""

    __slots__ = ("_entry", "is_whole")

    def __init__(self, path: str, entry: Entry | None) -> None:
        super().__init__(path)
        status = super().status()
        self._entry = entry or Entry(status.st_size, status.st_mtime)
        self.is_whole = status.st_size == self._entry.size

    def status(self) -> Status:  # type: ignore[override]  # the protocol allows both
        """Return the status of the file in the store."""
        return RemoteStatus.of(self._entry)


class _Piece(NamedTuple):
    """A range of a file that is being fetched."""

    start: int
    end: int
    future: Future[bytes]

    def covers(self, offset: int, size: int) -> bool:
        return self.start <= offset and offset + size <= self.end


class _RemoteFile:
    """An open file in a store: the pieces around the position at which it is read."""

    def __init__(self, files: RemoteFiles, name: str, pieces: list[_Piece]) -> None:
        self._files = files
        self._name = name
        self._entry = files.entry(name)
        self._pieces = pieces
        # The piece that was read last in order, and the range that was fetched last for a value.
        self._last: _Piece | None = None
        self._fetched = 0, 0

    def status(self) -> RemoteStatus:
        """Return the status of the version that was listed last."""
        self._entry = self._files.entry(self._name)
        return RemoteStatus.of(self._entry)

    def read_into(self, view: memoryview, offset: int) -> int:
        """Read bytes in order; the pieces that follow are fetched meanwhile."""
        size = self._entry.size
        if offset >= size or not len(view):
            return 0
        piece = self._find(offset, 1)
        if piece is None:
            start = max(0, offset - _OVERLAP)
            piece = self._files.request(self._name, start, min(size, start + _PIECE))
            self._pieces.append(piece)
        self._continue(size)
        data = piece.future.result()
        self._check_order(piece, data)
        at = offset - piece.start
        count = min(len(view), len(data) - at)
        view[:count] = data[at : at + count]
        self._drop(offset)
        return count

    def _continue(self, size: int) -> None:
        """Request the pieces that follow."""
        last = max(self._pieces, key=lambda piece: piece.end)
        while last.end < size and len(self._pieces) < _AHEAD + 2:
            start = last.end - _OVERLAP
            last = self._files.request(self._name, start, min(size, start + _PIECE))
            self._pieces.append(last)

    def _check_order(self, piece: _Piece, data: bytes) -> None:
        """Raise an error if a piece is not from the same file as the one before."""
        before, self._last = self._last, piece
        if before is None or before is piece or not before.start < piece.start < before.end:
            return
        end = before.future.result()[piece.start - before.start :]
        if data[: len(end)] != end:
            raise self._files.replaced(self._name)

    def _drop(self, offset: int) -> None:
        """Release pieces except the current one and the one before.

        A record that is read again can begin in the latter.
        """
        passed = [piece for piece in self._pieces if piece.end <= offset]
        for piece in passed[:-1]:
            self._pieces.remove(piece)

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to `size` bytes, and keep those around them for the next call."""
        whole = self._entry.size
        size = max(0, min(size, whole - offset))
        if not size:
            return b""
        piece = self._find(offset, size)
        if piece is None:
            start, end = 0, whole
            if whole > _RANGE:
                first, last = self._fetched
                is_next = first < offset < last + _RANGE
                length = max(_RANGE, min(_PIECE, 2 * (last - first))) if is_next else _RANGE
                start, end = offset, min(whole, offset + max(size, length))
                self._fetched = start, end
            try:
                data = self._files.fetch(self._name, start, end, self._entry.etag)
            except OSError as error:
                if error.errno == errno.ESTALE:
                    self._pieces.clear()
                raise
            done: Future[bytes] = Future()
            done.set_result(data)
            piece = _Piece(start, end, done)
            self._pieces = [*self._pieces[-_AHEAD:], piece]
        at = offset - piece.start
        return piece.future.result()[at : at + size]

    def _find(self, offset: int, size: int) -> _Piece | None:
        return next((piece for piece in self._pieces if piece.covers(offset, size)), None)

    def close(self) -> None:
        """Release all pieces."""
        for piece in self._pieces:
            piece.future.cancel()
        self._pieces = []


class JoinedFiles:
    """The event files of several URLs, with the methods of `RemoteFiles` that open files."""

    def __init__(self, parts: Sequence[RemoteFiles]) -> None:
        self._parts = parts

    @property
    def trouble(self) -> str:
        """Why one of the stores could not be reached; empty if all could."""
        return next((part.trouble for part in self._parts if part.trouble), "")

    def covers(self, path: str) -> bool:
        """Return whether a path is below one of the URLs, whether or not it exists."""
        return any(part.covers(path) for part in self._parts)

    def only(self, paths: Iterable[str]) -> JoinedFiles:
        """Return some of the files, to send them to another process."""
        own: dict[int, list[str]] = {}
        for path in paths:
            own.setdefault(self._parts.index(self._of(path)), []).append(path)
        return JoinedFiles([self._parts[number].only(some) for number, some in own.items()])

    def open(self, path: str) -> OpenedFile:
        """Return a file, open. Nothing is requested until it is read."""
        return self._of(path).open(path)

    def size(self, path: str) -> int:
        """Return the size of a file; 0 if it does not exist."""
        return self._of(path).size(path)

    def last_write(self, paths: Iterable[str]) -> float | None:
        """Return when any of these files was last written; None if none exists."""
        times = (self._of(path).last_write([path]) for path in paths)
        return max((time for time in times if time is not None), default=None)

    def expect(self, path: str, offset: int, known: FileState | None) -> int:
        """Begin to fetch a file from an offset on; return the number of bytes to hold."""
        return self._of(path).expect(path, offset, known)

    def cancel(self, paths: Iterable[str]) -> None:
        """Forget expected files, which will not be read after all."""
        for path in paths:
            self._of(path).cancel([path])

    def _of(self, path: str) -> RemoteFiles:
        """Return the part that lists a path, or else one that covers it."""
        around = [part for part in self._parts if part.covers(path)]
        return next((part for part in around if part.lists(path)), around[0])


# The threads of this process, by their number.
_pools: dict[int, tuple[int, ThreadPoolExecutor]] = {}
_guard = threading.Lock()


def _pool(store: Store) -> ThreadPoolExecutor:
    count = _CHANNELS if store.scheme in ("sftp", "ssh") else _WORKERS
    with _guard:
        home, pool = _pools.get(count, (0, None))
        if pool is None or home != os.getpid():  # the threads of a parent are not in its child
            pool = ThreadPoolExecutor(count, "runfold-store")
            _pools[count] = os.getpid(), pool
        return pool
