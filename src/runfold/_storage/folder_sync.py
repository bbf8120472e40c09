"""What of a run's folder its storage does not have yet, and the sending of it, file by file."""

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

# A file is sent again no sooner than after so many seconds, and so many times the seconds
# that it took: where a store cannot append, a large file that grows takes up a fifth of
# the time, and of what the network bears, and no more.
_PAUSE_SECONDS = 1.0
_PAUSE_RATIO = 4.0
# A run whose heartbeat is a minute old is taken for dead.
_HEARTBEAT = side_path(HEARTBEAT)
_HEARTBEAT_SECONDS = 20.0
# Up to so many bytes are sent from memory, so that it is known to the byte what was sent.
_BLOCK = 8 << 20
# So much of the end of what was sent before tells that it was the same file.
_OVERLAP = 1024

# Up to so many bytes a file is compared by what is in it.
_SMALL = 4096

_Version = tuple[int, int, int]  # bytes, time, inode


@dataclass(slots=True)
class _Sent:
    """What the store has of a file, as far as is known."""

    version: _Version | None = None
    # How many of the first bytes are there; None where nobody knows.
    size: int | None = 0
    due: float = 0.0
    failures: int = 0


class Sender:
    """Sends a run's folder to a store, but for `others`. Used by one thread at a time.

    Without `all_files`, only the files of the log are sent.
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
        # How long it took to look through the folder, the last time.
        self.look_seconds = 0.0
        self._sent: dict[str, _Sent] = {}
        self._background = BackgroundUpload()
        # The files that a projector's configuration names, and of which version that is.
        self._configs: dict[str, tuple[_Version, set[str]]] = {}
        # The links that lead out of the folder. Nobody meant to publish what is there.
        self.outside: set[str] = set()

    def send(self, is_last: bool = False, advance: Callable[[], object] | None = None) -> bool:
        """Send what is new and due, or with `is_last` all that is new; whether all is there.

        A large artifact is on its way while later calls send what is new of the rest.
        Raises what the store raises, at the first file that fails; that one comes
        last the next time. A file that cannot be read is passed over, and not there.
        """
        now = time.monotonic()
        waiting = {
            name: version
            for name, version in self._scan()
            if self._sent.setdefault(name, _Sent()).version != version
        }
        self.look_seconds = time.monotonic() - now
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
                # What was there is there still, unless somebody else took it away; but not
                # every server that speaks S3 knows how to append to it.
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
        """Whether the store says that it has every file with all its bytes.

        What it has not is sent as a whole the next time.
        """
        listed = self.store.list_files()
        is_whole = True
        for name, version in self._scan():
            if name not in listed or listed[name].size != version[0]:
                self._sent[name] = _Sent(size=None)
                is_whole = False
        return is_whole

    def skip_same(self, listed: Mapping[str, Entry]) -> int:
        """Take what the store has already for sent; how many files are left to send.

        Of an event file that has grown since, only the rest is left.
        """
        left = 0
        for name, version in self._scan():
            there = listed.get(name)
            if there is not None and is_event_file(name):
                if there.size == version[0]:
                    self._sent[name] = _Sent(version, there.size)
                elif (
                    there.size < version[0]
                    and self.store.can_append(there.size)
                    and self._is_same(name, max(0, there.size - _OVERLAP), there.size)
                ):
                    self._sent[name] = _Sent(None, there.size)
            elif there and there.size == version[0]:
                # By what is in it where that is little: the last heartbeat may be as long as
                # the one before, and as old by the clock of the store.
                is_small = version[0] <= _SMALL
                is_newer = there.time - 1 > version[1] / 1e9
                if self._is_same(name, 0, there.size) if is_small else is_newer:
                    self._sent[name] = _Sent(version, there.size)
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
        """The files that the store does not have as they are here, as far as is known."""
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
            return True  # deleted meanwhile
        except OSError:
            return False
        with open(opened, "rb") as file:
            if os.fstat(opened).st_ino != version[2]:
                return False  # replaced since it was looked at; the next pass looks again
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
                # It may have grown while it was read.
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
        """The run's own files by name, each with what tells its versions apart."""
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
        """Whether a file is reached by a link that leads out of the folder."""
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
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        name = f"{below}/{entry.name}" if below else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(top, name)
        elif entry.is_file():
            yield name, entry.is_symlink()
