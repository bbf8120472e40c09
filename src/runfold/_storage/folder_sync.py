"""Sends the files of a run's folder that its store does not have yet."""

from __future__ import annotations

import errno
import functools
import os
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._conventions import HEARTBEAT, is_event_file, side_path
from runfold._files import is_inside
from runfold._storage.background_upload import BackgroundUpload
from runfold._storage.projector_files import is_config, named_files
from runfold._storage.upload_filter import is_own, is_unhidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runfold._storage.store import Entry, Store

# Before sending a file again, wait at least this many seconds, and this many times as long
# as sending it took. If a store cannot append, a large growing file therefore takes at most
# a fifth of the time and of the bandwidth.
_PAUSE_SECONDS = 1.0
_PAUSE_RATIO = 4.0
# A run is considered dead when its heartbeat is a minute old.
_HEARTBEAT = side_path(HEARTBEAT)
_HEARTBEAT_SECONDS = 20.0
# Up to this many bytes are sent from memory, so that the number of bytes sent is exact.
_BLOCK = 8 << 20
# Number of bytes to compare, at the end of what was sent, to check that the file is the same.
_OVERLAP = 1024

# Files up to this size are compared by content.
_SMALL = 4096

_Version = tuple[int, int, int]  # bytes, time, inode


@dataclass(slots=True)
class _Sent:
    """The part of a file that the store is known to have."""

    version: _Version | None = None
    # The number of leading bytes in the store; None if unknown.
    size: int | None = 0
    due: float = 0.0
    failures: int = 0


class Sender:
    """Sends a run's folder to a store, except the files in `others`. Not thread-safe.

    Unless `all_files` is set, only the files of the log are sent.
    """

    def __init__(
        self,
        folder: str,
        store: Store,
        others: frozenset[str] = frozenset(),
        all_files: bool = False,
    ) -> None:
        self.folder = folder
        self.store = store
        self._others = others
        self._is_sent = is_unhidden if all_files else is_own
        # The duration of the last scan of the folder.
        self.scan_seconds = 0.0
        self._sent: dict[str, _Sent] = {}
        self._background = BackgroundUpload()
        # The version of each projector configuration, and the files it names.
        self._configs: dict[str, tuple[_Version, set[str]]] = {}
        # Links that point outside the folder. The targets of these links must not be published.
        self.outside: set[str] = set()

    def send(self, is_last: bool = False, advance: Callable[[], object] | None = None) -> bool:
        """Send new data: what is due, or everything if `is_last`; return whether all was sent.

        Large artifacts are sent in the background while later calls send other files.
        Raises the store's exception at the first file that fails; next time, this file
        is sent last. A file that cannot be read is skipped, and the result is then
        False.
        """
        now = time.monotonic()
        waiting = {
            name: version
            for name, version in self._scan()
            if self._sent.setdefault(name, _Sent()).version != version
        }
        self.scan_seconds = time.monotonic() - now
        is_whole = True
        for name in sorted(waiting, key=lambda name: (self._sent[name].failures, waiting[name])):
            sent = self._sent[name]
            if not is_last and now < sent.due:
                is_whole = False
                continue
            began = time.monotonic()
            try:
                is_whole &= self._send_file(name, waiting[name], sent, is_last, advance)
            except Exception as error:
                sent.failures += 1
                # The earlier bytes are still in the store, unless they were deleted.
                # However, not every S3 server can append to them.
                is_lost = isinstance(error, FileNotFoundError) or _errno(error) == errno.EINVAL
                if is_lost or sent.failures > 1:
                    sent.size = None
                raise
            sent.failures = 0
            took = time.monotonic() - began
            pause = _HEARTBEAT_SECONDS if name == _HEARTBEAT else _PAUSE_SECONDS
            sent.due = began + took + max(pause, _PAUSE_RATIO * took)
            if advance is not None:
                advance()
        return is_whole

    def verify(self) -> bool:
        """Whether the store lists every file at its full size.

        Files that do not match are sent again completely next time.
        """
        listed = self.store.list_files()
        is_whole = True
        for name, version in self._scan():
            if name not in listed or listed[name].size != version[0]:
                self._sent[name] = _Sent(size=None)
                is_whole = False
        return is_whole

    def skip_same(self, listed: Mapping[str, Entry]) -> int:
        """Mark files already in the store as sent; return the number of files left to send.

        If an event file has grown, only the rest is left to send.
        """
        left = 0
        for name, version in self._scan():
            remote = listed.get(name)
            if remote is not None and is_event_file(name):
                if remote.size == version[0]:
                    self._sent[name] = _Sent(version, remote.size)
                elif (
                    remote.size < version[0]
                    and self.store.can_append(remote.size)
                    and self._is_same(name, max(0, remote.size - _OVERLAP), remote.size)
                ):
                    self._sent[name] = _Sent(None, remote.size)
            elif remote and remote.size == version[0]:
                # Compare small files by content: a new heartbeat can have the same size as
                # the previous one, and the same age by the store's clock.
                is_small = version[0] <= _SMALL
                is_newer = remote.time - 1 > version[1] / 1e9
                if self._is_same(name, 0, remote.size) if is_small else is_newer:
                    self._sent[name] = _Sent(version, remote.size)
            left += name not in self._sent or self._sent[name].version is None
        return left

    def _is_same(self, name: str, start: int, end: int) -> bool:
        """Whether the store has these bytes of a file."""
        if start == end:
            return True
        with open(os.path.join(self.folder, name), "rb") as file:
            file.seek(start)
            return file.read(end - start) == self.store.read(name, start, end)

    def missing(self) -> list[str]:
        """Return the files that the store is not known to have in their current version."""
        return [
            name
            for name, version in self._scan()
            if name not in self._sent or self._sent[name].version != version
        ]

    def _send_file(
        self,
        name: str,
        version: _Version,
        sent: _Sent,
        is_last: bool,
        advance: Callable[[], object] | None,
    ) -> bool:
        path = os.path.join(self.folder, name)
        size = version[0]
        try:
            opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return True  # it has been deleted
        except OSError:
            return False
        with open(opened, "rb") as file:
            if os.fstat(opened).st_ino != version[2]:
                return False  # replaced since the scan; the next pass checks it again
            start = sent.size or 0
            grows = is_event_file(name) and 0 < start <= size and self.store.can_append(start)
            if grows and size - start <= _BLOCK:
                file.seek(start)
                data = file.read(size - start)
                self.store.append(name, start, data)
                sent.size = start + len(data)
            elif size <= _BLOCK:
                data = file.read(size)
                self.store.write(name, data)
                sent.size = len(data)
            elif is_event_file(name):
                # The file may have grown while it was being read.
                self.store.put(name, path, advance)
                sent.size = size
            else:
                put = functools.partial(self.store.put, name, path, advance)
                if not self._background.send((name, version), put, is_last):
                    return False
                sent.size = size
        sent.version = version
        return True

    def _scan(self) -> Iterator[tuple[str, _Version]]:
        """Yield the name and version of each file to send."""
        named: set[str] = set()
        for name, is_link in _walk(self.folder):
            if not self._is_sent(name) or (is_link and self._is_outside(name)):
                continue
            version = None if name in self._others else self._version(name)
            if version is None:
                continue
            yield name, version
            if is_config(name):
                if self._configs.get(name, (None,))[0] != version:
                    self._configs[name] = version, named_files(self.folder, name)
                named |= self._configs[name][1]
        for name in sorted(named):
            version = self._version(name)
            if version is None or self._is_sent(name) or self._is_outside(name):
                continue
            yield name, version

    def _is_outside(self, name: str) -> bool:
        """Whether a file is reached through a link and is outside the folder."""
        if is_inside(os.path.join(self.folder, name), self.folder):
            return False
        self.outside.add(name)
        return True

    def _version(self, name: str) -> _Version | None:
        try:
            status = os.stat(os.path.join(self.folder, name))
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return status.st_size, status.st_mtime_ns, status.st_ino


def _errno(error: Exception) -> int | None:
    return error.errno if isinstance(error, OSError) else None


def _walk(top: str, below: str = "") -> Iterator[tuple[str, bool]]:
    """Yield the name of each file below a folder, and whether it is a link.

    Links to folders are not followed.
    """
    try:
        with os.scandir(os.path.join(top, below)) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in ordered:
        name = f"{below}/{entry.name}" if below else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(top, name)
        elif entry.is_file():
            yield name, entry.is_symlink()
