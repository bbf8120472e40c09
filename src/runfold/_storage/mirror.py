"""The files of a remote log: event files are read in place, and others from a copy in the cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from runfold._conventions import PACK_PART, is_event_file, is_run_file
from runfold._humanize import did_you_mean, escape, human_count, human_duration
from runfold._select import is_glob
from runfold._state import cache_folder, make_private
from runfold._storage.key_names import find_impossible, is_about_one_name, is_safe
from runfold._storage.projector_files import is_config, named_files
from runfold._storage.remote_files import RemoteFiles
from runfold._storage.store import BLOCK, Entry, Store, explain
from runfold._storage.stored_configs import find_configs
from runfold._storage.upload_filter import is_log
from runfold._storage.url import mask_url, split_url
from runfold._system import IS_POSIX, lock_file
from runfold.errors import CannotStore, LogdirNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    # A function that receives the number of bytes to fetch, and shows the progress.
    Show = Callable[[int], AbstractContextManager[Callable[[int], object]]]

# Number of files fetched at the same time.
_WORKERS = 8
# If access to this many files is denied, and to none granted, no other file is tried.
_MOST_REFUSALS = 8
# Number of known bytes to fetch again with new data, to detect a file that was replaced.
_OVERLAP = 1024
_PACK_SUFFIX = os.path.splitext(PACK_PART)[1]
# Variables that change which server a bucket's name refers to.
_ENDPOINTS = (
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "FSSPEC_S3_ENDPOINT_URL"),
    *("STORAGE_EMULATOR_HOST", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_CONNECTION_STRING"),
)


class Mirror:
    """The files at a URL that are needed to read the log, by the paths below `path` in the cache.

    The URL can name a logdir, a run or a file, or be a glob. Event files are listed in `files`,
    which opens them in the store; they are copied only on request. All other files are small, and
    are copied. Local files have the same modification times as the files in the store. The times
    show whether a file is up to date. The copy therefore needs no index, and several processes
    can share it.
    """

    def __init__(self, url: str, folder: str | os.PathLike[str] | None = None) -> None:
        """Prepare without fetching. `folder` replaces the default folder in the cache."""
        if not IS_POSIX:
            raise CannotStore(f"{mask_url(url)}: reading from a store does not work on Windows.")
        base, pattern = _split_glob(url)
        self.url = url
        self.trouble = ""
        self.store = Store(base)
        self.root = os.fspath(folder) if folder is not None else _choose_folder(base)
        self.path = os.path.join(self.root, pattern) if pattern else self.root
        self.files = RemoteFiles(self.store, self.root)
        # The names of all files that belong to the log; None until the store has been reached.
        self.names: frozenset[str] | None = None
        self._lock = threading.Lock()
        # The time of the last listing.
        self.listed = 0.0
        # Keys that cannot be local files, and those already reported.
        self._skipped: set[str] = set()
        self._reported: set[str] = set()

    def sync(
        self, show: Show | None = None, is_copied: bool = False, needs_events: bool = True
    ) -> bool:
        """List the files, and update the copies of small ones; return whether anything changed.

        If `is_copied` is set, event files are copied too. Copies of files that the store no
        longer has are deleted. If the store cannot be reached, the list and the copy are kept,
        `trouble` has the reason, and a warning is issued once. Raises CannotStore if there is
        neither a list nor a copy, of any file unless `needs_events` is set, and LogdirNotFound if
        there is nothing at the URL.
        """
        with self._lock:
            make_private(cache_folder("mirror"))
            self.listed = time.time()
            try:
                listed = self.store.list_files()
            except Exception as error:
                self._fail(error, is_copied, needs_events)
                return False
            if not listed:
                if self.names is not None:
                    self.names = frozenset()
                self.files.update({})
                self._remove(keep=())
                raise LogdirNotFound(self._not_found())
            return self._fetch_all(listed, show, is_copied)

    def fetch_file(self, path: str) -> None:
        """Fetch a file that is not needed to read the log, such as an artifact."""
        name = os.path.relpath(path, self.root)
        with self._lock:
            entry = self.store.list_files().get(name)
            if entry is None or not is_safe(name):
                raise FileNotFoundError(f"{self.store} has no {escape(name)}")
            if self._is_stale(name, entry):
                self._fetch_file(name, entry, _count_nothing)

    def _fetch_all(self, listed: dict[str, Entry], show: Show | None, is_copied: bool) -> bool:
        configs = find_configs(listed)
        wanted = {
            name: entry
            for name, entry in listed.items()
            if not name or is_log(name) or name in configs
        }
        odd = {name for name in wanted if not is_safe(name)}
        odd |= find_impossible(wanted.keys() - odd)
        self._skipped |= odd
        wanted = {name: entry for name, entry in wanted.items() if name not in odd}
        events = {
            name: entry for name, entry in wanted.items() if _has_events(name or self.store.url)
        }
        if "" not in wanted:
            make_private(self.root)
        is_changed = self.files.update(events)
        if wanted.keys() != self.names:
            self.names = frozenset(wanted)
            is_changed = True
        copied = wanted
        if not is_copied:
            copied = {name: entry for name, entry in wanted.items() if name not in events}
        is_fetched, errors = self._fetch(copied, show)
        is_changed |= is_fetched
        # The files that a configuration names are known only after it has been fetched.
        more = {
            file: listed[file]
            for name in filter(is_config, copied)
            for file in named_files(self.root, name)
            if file in listed and file not in wanted and is_safe(file)
        }
        if more and not errors:
            is_more, errors = self._fetch(more, show)
            is_changed |= is_more
        # Keep artifacts that were fetched on request.
        is_changed |= self._remove(filter(is_safe, listed))
        if errors:
            self._fail(errors[0], is_copied)
        else:
            self.trouble = ""
        self._report_skipped()
        return is_changed

    def _fetch(self, wanted: dict[str, Entry], show: Show | None) -> tuple[bool, list[Exception]]:
        """Update some files, several at a time.

        The first error stops the update, except in two cases. If access to a file is
        denied, for example because the file was archived, only this file is skipped,
        unless access to all of the first files is denied. Names that are invalid on the
        local disk are also skipped.
        """
        stale = {name: entry for name, entry in wanted.items() if self._is_stale(name, entry)}
        if not stale:
            return False, []
        errors: list[Exception] = []
        fetched: list[bool] = []
        is_over = threading.Event()

        def fetch(name: str, advance: Callable[[int], object]) -> None:
            if is_over.is_set():
                return
            try:
                fetched.append(self._fetch_file(name, stale[name], advance))
            except FileNotFoundError:
                pass  # it has been deleted
            except Exception as error:
                if is_about_one_name(error):
                    self._skipped.add(name)
                    return
                errors.append(error)
                is_refused = isinstance(error, PermissionError)
                if not is_refused or (len(errors) >= _MOST_REFUSALS and not fetched):
                    is_over.set()

        missing = sum(max(0, entry.size - self._size(name)) for name, entry in stale.items())
        with (
            ThreadPoolExecutor(min(_WORKERS, len(stale)), "runfold-mirror") as pool,
            show(missing) if show else contextlib.nullcontext(_count_nothing) as advance,
        ):
            list(pool.map(lambda name: fetch(name, advance), stale))
        return any(fetched), errors

    def _fetch_file(self, name: str, entry: Entry, advance: Callable[[int], object]) -> bool:
        target = self._locate(name)
        make_private(os.path.dirname(target))
        if not is_event_file(name or self.url):
            self.store.get(name, entry, target, advance)
            return True
        # Only one process at a time updates the file. It does so in place: readers can continue.
        with open(os.open(target, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            lock_file(file.fileno())
            status = os.fstat(file.fileno())
            start = status.st_size
            # Compare whole seconds: the fraction only distinguishes versions.
            if start >= entry.size and int(status.st_mtime) > int(entry.time):
                return False  # another process has fetched a newer version
            is_other = start > 0 and start >= entry.size
            if is_other or not self._grow(file.fileno(), name, entry, advance):
                self.store.get(name, entry, target, advance)
        return True

    def _grow(self, file: int, name: str, entry: Entry, advance: Callable[[int], object]) -> bool:
        """Append new data to a file; return False if the store has a different file."""
        size = os.fstat(file).st_size
        known = os.pread(file, _OVERLAP, max(0, size - _OVERLAP))
        while size < entry.size:
            end = min(entry.size, size + BLOCK)
            data = self.store.read(name, size - len(known), end)
            if not data.startswith(known):
                return False
            fresh = memoryview(data)[len(known) :]
            while fresh:
                count = os.pwrite(file, fresh, size)
                size += count
                fresh = fresh[count:]
                advance(count)
            known = b""
        os.utime(file, (entry.time, entry.time))
        return True

    def _remove(self, keep: Iterable[str]) -> bool:
        """Delete files that the store no longer has, but not files that were never in the store.

        Also note which event files have a copy.
        """
        kept = {self._locate(name) for name in keep}
        copies = self.files.copies = set()
        if os.path.isfile(self.root):
            if self.root not in kept:
                os.unlink(self.root)
            else:
                copies.add(self.root)
            return self.root not in kept
        is_changed = False
        for folder, _, names in os.walk(self.root, topdown=False):
            for name in names:
                path = os.path.join(folder, name)
                if path in kept:
                    if is_event_file(name):
                        copies.add(path)
                    continue
                below = os.path.relpath(path, self.root)
                if _is_hidden(below) and not is_log(below):
                    continue
                with contextlib.suppress(OSError):
                    # Keep newer files: another process fetched them after a later listing.
                    if os.stat(path).st_ctime < self.listed:
                        os.unlink(path)
                        is_changed = True
            if folder != self.root:
                with contextlib.suppress(OSError):  # not empty
                    os.rmdir(folder)
        return is_changed

    def _is_stale(self, name: str, entry: Entry) -> bool:
        try:
            status = os.stat(self._locate(name))
        except OSError:
            return True
        return status.st_size != entry.size or abs(status.st_mtime - entry.time) > 0.001

    def _size(self, name: str) -> int:
        try:
            return os.path.getsize(self._locate(name))
        except OSError:
            return 0

    def _locate(self, name: str) -> str:
        return os.path.join(self.root, name) if name else self.root

    def _fail(self, error: Exception, is_copied: bool, needs_events: bool = True) -> None:
        """Keep what is known, and warn once. Raises CannotStore if nothing is known."""
        reason, newest = explain(error), _newest(self.root, needs_events)
        is_listed = self.names is not None and not is_copied
        if newest is None and not is_listed:
            raise CannotStore(
                f"{self.store}: {escape(reason)}. There is no local copy to show instead. "
                "Check the URL, the credentials and the network."
            ) from None
        was_well, self.trouble = not self.trouble, reason
        if was_well and (is_listed or newest is None):
            self._warn(f"{reason}. Using what was read earlier")
        elif was_well and newest is not None:
            age = human_duration(max(0.0, time.time() - newest))
            self._warn(f"{reason}. Using the local copy; its newest data is {age} old")

    def _report_skipped(self) -> None:
        """Warn once about each key that cannot be a local file."""
        new = sorted(self._skipped - self._reported)
        if new:
            self._reported.update(new)
            few = ", ".join(ascii(name[:80]) for name in new[:3])
            count = f"{human_count(len(new), 'key')} in the store cannot be saved as a local file"
            self._warn(f"{count}: {few}. Skipped; to read such a file, rename it in the store")

    def _warn(self, fact: str) -> None:
        with contextlib.suppress(Warning):  # a filter can turn them into errors
            warnings.warn(f"{self.store}: {escape(fact, 500)}.", stacklevel=4)

    def _not_found(self) -> str:
        name = self.store.url.rpartition("/")[2]
        hint = did_you_mean(name, set(self.store.list_siblings()) - {name})
        return f"No logdir '{self.store}': nothing has this prefix. {hint}".rstrip()


def _split_glob(url: str) -> tuple[str, str]:
    """Split a URL before the first part that contains a wildcard."""
    scheme, rest = split_url(url)
    parts = rest.rstrip("/").split("/")
    first = next((i for i, part in enumerate(parts) if is_glob(part)), len(parts))
    return f"{scheme}://{'/'.join(parts[:first])}", "/".join(parts[first:])


def _choose_folder(url: str) -> str:
    """Return the folder for the copy of a URL; nested URLs get nested folders."""
    scheme, rest = split_url(url)
    host, *parts = rest.split("/")
    server = "\0".join([scheme, *(os.environ.get(name, "") for name in _ENDPOINTS)])
    if scheme in ("sftp", "ssh"):
        # Drop the user and the password: they do not change the location. In
        # abfs://container@account, the part before the `@` does.
        host = host.rpartition("@")[2]
    key = f"{scheme}-{hashlib.sha256(server.encode()).hexdigest()[:12]}"
    if not all(map(is_safe, filter(None, (host, *parts)))):
        raise CannotStore(f"{Store(url)}: '.' and '..' are not allowed in a URL.")
    return cache_folder("mirror", key, host, *filter(None, parts))


def _has_events(name: str) -> bool:
    """Return whether a file is read in place: an event file, but not a pack."""
    return is_event_file(name) and not name.endswith(_PACK_SUFFIX)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _newest(root: str, needs_events: bool) -> float | None:
    """Return the time of the newest data in a copy, or None; empty files are ignored."""
    files = [root] + [
        os.path.join(top, name)
        for top, _, names in os.walk(root)
        for name in names
        if is_run_file(name) or name.endswith(_PACK_SUFFIX) or not needs_events
    ]
    times = []
    for path in files:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode) and status.st_size:
                times.append(status.st_mtime)
    return max(times, default=None)


def _count_nothing(_: int) -> None:
    pass
