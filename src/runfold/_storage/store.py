"""A store: files below a URL, in a bucket, on another machine or in a shared folder."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import zlib
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from runfold._conventions import name_temporary
from runfold._files import open_draft
from runfold._storage.fast_driver import FastDriver, ObjectChanged, open_fast_driver
from runfold._storage.url import (
    check_url,
    driver_module,
    join_url,
    mask_url,
    show_url,
    split_url,
)
from runfold._system import register_at_fork

if TYPE_CHECKING:
    from collections.abc import Callable

# S3 assembles a new object from parts. Each part except the last has at least _SMALLEST_PART
# bytes. A part copied from another object has at most _LARGEST_PART bytes.
_SMALLEST_PART = 5 << 20
_LARGEST_PART = 5 << 30
# Stores that can write into the middle of a file instead of replacing it.
_DISKS = ("file", "sftp", "ssh")
# Files are fetched in ranges of this many bytes.
BLOCK = 8 << 20
_AZURE = ("az", "abfs", "abfss")
_S3 = ("s3", "s3a")
# Drivers' log messages go to the program's log handlers, but not to stderr if there are none:
# an error or a warning reports that a store has failed.
_LOGGERS = ("paramiko", "gcsfs", "s3fs", "fsspec", "azure")
_SILENCE = logging.NullHandler()
_TIMES = ("LastModified", "mtime", "updated", "last_modified")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a store: its size in bytes, and the Unix time when it was last written.

    `etag` identifies the version; empty if the store has no such mark.
    """

    size: int
    time: float
    etag: str = ""


class ShortRead(OSError):
    """The file has fewer bytes than requested."""


class Store:
    """The files below a URL. Each process connects on its first call.

    All names are relative to the URL, and their separator is `/`. The driver finds the
    credentials in the environment or in its own files. Every method can raise the
    driver's exceptions, which are not always OSErrors: use `explain` to describe them.
    """

    def __init__(self, url: str) -> None:
        """Check the URL without connecting. Raises CannotStore if it is invalid."""
        check_url(url)
        self.url = url.rstrip("/")
        self.scheme = split_url(url)[0]
        self._opened: tuple[int, Any, str] | None = None
        self._fast: FastDriver | None = None

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        """Pickle the URL: the other process connects itself."""
        return type(self), (self.url,)

    def __str__(self) -> str:
        return show_url(self.url)

    def import_driver(self) -> None:
        """Import the modules for the first connection, in the calling thread.

        If a fork happens while another thread imports a module, the child waits for
        that module forever.
        """
        with contextlib.suppress(Exception):  # reported when connecting
            import_module(driver_module(self.scheme))
            if self.scheme in _S3 and find_spec("obstore") is not None:
                import_module("obstore.store")
            from fsspec.core import url_to_fs

            url_to_fs("file:///")
            "".encode("idna")

    def list_files(self) -> dict[str, Entry]:
        """Return all files by name; the name is empty if the URL is itself a file."""
        system, root = self._open()
        if self._fast is not None and self._fast.is_usable:
            try:
                listed = self._list_fast(self._fast, root)
            except Exception:  # the driver finds the same error, or can list these keys
                listed = {}
            # Only the driver tells the URL of a file from one where nothing is.
            if listed:
                return listed
        system.invalidate_cache()
        if self.scheme in _DISKS:
            files = _find_on_disk(system, root)
        else:
            files = system.find(root, detail=True)
            # adlfs returns a list for the URL of a file.
            if isinstance(files, list):
                files = {path: system.info(path) for path in files}
        return {
            path[len(root) :].removeprefix("/"): _entry_of(info)
            for path, info in files.items()
            # Web consoles create empty objects to represent folders.
            if info.get("type") == "file" and not path.endswith("/")
        }

    def _list_fast(self, fast: FastDriver, root: str) -> dict[str, Entry]:
        folder = root.partition("/")[2]
        skipped = len(folder) + 1 if folder else 0
        return {
            key[skipped:]: Entry(size, _whole_time(time.timestamp(), etag), etag)
            for key, size, time, etag in fast.list_objects(folder)
        }

    def find(self, name: str) -> Entry:
        """Return a file's entry as it is now. Raises FileNotFoundError if it is missing."""
        system, root = self._open()
        system.invalidate_cache()
        return _entry_of(system.info(join_url(root, name)))

    def list_siblings(self) -> list[str]:
        """Return the names of files and folders next to the URL; empty on failure."""
        system, root = self._open()
        with contextlib.suppress(Exception):
            paths = system.ls(root.rpartition("/")[0], detail=False)
            return [path.rstrip("/").rpartition("/")[2] for path in paths]
        return []

    def read(self, name: str, start: int = 0, end: int | None = None, etag: str = "") -> bytes:
        """Return a file's bytes, or a range of them. Raises OSError if missing or too short.

        With an ETag, raises ObjectChanged for another version of the file, but not every driver
        can tell.
        """
        system, root = self._open()
        path = join_url(root, name)
        fast = self._fast
        data: bytes | None = None
        if fast is not None and fast.is_usable and (end is None or end > start):
            try:
                data = fast.read(path.partition("/")[2], start, end, etag)
            except ObjectChanged:
                raise
            except Exception:  # the driver repeats the request, and finds the reason
                data = system.cat_file(path, start=start or None, end=end)
                fast.note_failure()
        if data is None:
            data = system.cat_file(path, start=start or None, end=end)
        if end is not None and len(data) != end - start:
            raise ShortRead(f"requested {end - start} bytes, got {len(data)}")
        return data

    def get(self, name: str, entry: Entry, target: str, advance: Callable[[int], object]) -> None:
        """Download a whole file or nothing, and keep its time; `advance` counts bytes."""
        with open_draft(target, time=entry.time) as file:
            for start in range(0, entry.size, BLOCK):
                data = self.read(name, start, min(entry.size, start + BLOCK))
                file.write(data)
                advance(len(data))

    def write(self, name: str, data: bytes) -> None:
        """Write a small file, completely or not at all."""
        with self._write_path(name) as (system, path):
            system.pipe_file(path, data)

    def create(self, name: str, data: bytes) -> bool:
        """Create a small file; return False if it already exists.

        If several machines try at the same time, only one succeeds. On a server without
        conditional writes, all of them succeed.
        """
        system, root = self._open()
        path = join_url(root, name)
        try:
            if self.scheme in _DISKS:
                system.makedirs(path.rpartition("/")[0], exist_ok=True)
                # paramiko opens for writing only if both letters are given.
                with system.open(path, "xb" if self.scheme == "file" else "wxb") as file:
                    file.write(data)
            else:
                system.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        except Exception as error:
            if self.scheme in _DISKS and system.exists(path):
                return False  # an SFTP server reports only a generic failure
            if not _is_unsupported(error):
                raise
            system.pipe_file(path, data)
        return True

    def put(self, name: str, source: str, advance: Callable[[], object] | None = None) -> None:
        """Upload a file, completely or not at all; `advance` is called to report progress."""
        from fsspec import AbstractFileSystem
        from fsspec.callbacks import Callback

        callback = Callback(hooks={"advance": lambda *_, **__: advance and advance()})
        with self._write_path(name) as (system, path):
            if self.scheme == "file":
                # The driver's own method ignores the callback.
                AbstractFileSystem.put_file(system, source, path, callback=callback)
            else:
                system.put_file(source, path, callback=callback)

    def can_append(self, start: int) -> bool:
        """Whether data after the first `start` bytes can be sent without resending those bytes."""
        if self.scheme in _S3:
            return _SMALLEST_PART <= start <= _LARGEST_PART
        return self.scheme in _DISKS

    def append(self, name: str, start: int, data: bytes) -> None:
        """Replace everything after the first `start` bytes of a file with `data`.

        Calling it twice is harmless. Concurrent readers see the old file or the new one;
        on a disk, possibly also part of the new bytes. Raises FileNotFoundError if the
        file is shorter than `start`.
        """
        system, root = self._open()
        path = join_url(root, name)
        # Not every server checks the size. Without the check, the result would not be a
        # valid event file.
        if system.info(path)["size"] < start:
            raise FileNotFoundError(f"{name} is shorter than expected")
        if self.scheme in _DISKS:
            with system.open(path, "r+b") as file:
                file.seek(start)
                file.write(data)
            return
        # The store copies the existing bytes itself: only the new bytes are sent.
        bucket, key, _ = system.split_path(path)
        where = {"Bucket": bucket, "Key": key}
        upload = system.call_s3("create_multipart_upload", **where)["UploadId"]
        try:
            copied = system.call_s3(
                "upload_part_copy",
                **where,
                CopySource=where,
                CopySourceRange=f"bytes=0-{start - 1}",
                UploadId=upload,
                PartNumber=1,
            )["CopyPartResult"]["ETag"]
            added = system.call_s3(
                "upload_part", **where, UploadId=upload, PartNumber=2, Body=data
            )["ETag"]
            parts = [{"PartNumber": 1, "ETag": copied}, {"PartNumber": 2, "ETag": added}]
            system.call_s3(
                "complete_multipart_upload",
                **where,
                UploadId=upload,
                MultipartUpload={"Parts": parts},
            )
        except BaseException:
            with contextlib.suppress(Exception):
                system.call_s3("abort_multipart_upload", **where, UploadId=upload)
            raise

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        system, root = self._open()
        with contextlib.suppress(FileNotFoundError):
            system.rm_file(join_url(root, name))

    @contextlib.contextmanager
    def _write_path(self, name: str) -> Any:
        """Yield the path to write a file to, so that readers never see an incomplete file."""
        system, root = self._open()
        path = join_url(root, name)
        if self.scheme not in _DISKS:
            yield system, path
            return
        folder = path.rpartition("/")[0]
        system.makedirs(folder, exist_ok=True)
        # The temporary name must not look like an event file.
        temporary = f"{folder}/{name_temporary()}"
        try:
            yield system, temporary
            system.mv(temporary, path)
        except BaseException:
            with contextlib.suppress(Exception):
                system.rm_file(temporary)
            raise

    def _open(self) -> tuple[Any, str]:
        """Return the driver and its path; a forked child opens its own."""
        if self._opened is None or self._opened[0] != os.getpid():
            system, root = _open_driver(self.scheme, self.url)
            root = root.rstrip("/")
            self._fast = open_fast_driver(system, root) if self.scheme in _S3 else None
            self._opened = os.getpid(), system, root
        return self._opened[1], self._opened[2]


def _reset_driver() -> None:
    """Reset fsspec's lock in a forked child: another thread of the parent may hold it."""
    asyn = sys.modules.get("fsspec.asyn")
    if asyn is not None:
        asyn.reset_lock()


register_at_fork(after_in_child=_reset_driver)


def _open_driver(scheme: str, url: str) -> tuple[Any, str]:
    """Return the driver for a URL, and the driver's path."""
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(_SILENCE)
    if scheme in ("sftp", "ssh"):
        from runfold._storage.sftp import open_sftp

        return open_sftp(url)
    from fsspec.core import url_to_fs

    # Old listings must not hide new files.
    options: dict[str, Any] = {"use_listings_cache": False}
    is_hasty = scheme in _S3 and "AWS_MAX_ATTEMPTS" not in os.environ
    if is_hasty:
        # By default, the driver makes 25 attempts (5 times 5), with waits of 15 seconds. That is
        # too long: readers have a local copy, and uploads are tried again later.
        options["config_kwargs"] = {"retries": {"total_max_attempts": 2, "mode": "standard"}}
    system, root = url_to_fs(url, **options)
    if is_hasty:
        system.retries = 2
    if scheme in _AZURE:
        # By default, the driver waits 15, 18 and 24 seconds per request; no option changes this.
        with contextlib.suppress(AttributeError):
            policy = system.service_client._config.retry_policy
            policy.initial_backoff = policy.random_jitter_range = 0
            policy.increment_base = 1
    return system, root


def _find_on_disk(system: Any, root: str) -> dict[str, Any]:
    """Return the files of a folder, or a single file, by path; empty if the path is missing.

    Raises an error if the disk cannot be reached; the driver itself would report an empty folder.
    """
    try:
        top = system.info(root or "/")
    except FileNotFoundError:
        return {}
    if top["type"] == "file":
        return {root: top}
    files: dict[str, Any] = system.find(root or "/", detail=True, on_error=_skip_folder)
    return files


def _skip_folder(error: OSError) -> None:
    """Skip a folder that was deleted or is not readable."""
    if not isinstance(error, FileNotFoundError | PermissionError):
        raise error


def explain(error: BaseException) -> str:
    """Return a driver's error message in one line, without credentials."""
    # Azure appends the whole response.
    text = " ".join(str(error).strip().partition("\n")[0].split()).rstrip(".")
    if isinstance(error, PermissionError):
        text = f"permission denied ({text})" if text else "permission denied"
    elif isinstance(error, FileNotFoundError) and " " not in text:
        # Google's message is only a path.
        text = f"not found ({text})"
    elif not text or text.isdigit() or isinstance(error, KeyError):
        text = f"{type(error).__name__} {text}".strip()
    return mask_url(text)


def is_refusal(error: BaseException) -> bool:
    """Whether trying again is useless: no such bucket, no permission, or no credentials."""
    # Azure's and Google's errors contain the HTTP status.
    status = getattr(error, "status_code", getattr(error, "code", None))
    is_denied = isinstance(error, FileNotFoundError | PermissionError) or status in (401, 403, 404)
    # botocore's NoCredentialsError and Google's DefaultCredentialsError; no driver is imported.
    return is_denied or type(error).__name__.endswith("CredentialsError")


def _is_unsupported(error: BaseException) -> bool:
    """Whether a server does not support a request (501 NotImplemented)."""
    cause = error.__cause__ or error
    response = getattr(cause, "response", None)
    return isinstance(response, dict) and response.get("Error", {}).get("Code") == "NotImplemented"


def _time_of(info: dict[str, Any]) -> float:
    """Return when a file was written, with a fraction derived from its ETag.

    Store times are in whole seconds, and a file can be written twice in one second.
    """
    return _whole_time(_read_time(info), _etag_of(info))


def _whole_time(time: float, etag: str) -> float:
    return math.floor(time) + zlib.crc32(etag.encode()) % 997 / 1000 if etag else time


def _etag_of(info: dict[str, Any]) -> str:
    return str(info.get("ETag") or info.get("etag") or "")


def _entry_of(info: dict[str, Any]) -> Entry:
    return Entry(int(info["size"]), _time_of(info), _etag_of(info))


def _read_time(info: dict[str, Any]) -> float:
    for name in _TIMES:
        value = info.get(name)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                return datetime.fromisoformat(value).timestamp()
    return 0.0
