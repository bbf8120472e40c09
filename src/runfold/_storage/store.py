"""A store: files by name below a URL, in a bucket, on another machine or in a shared folder."""

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
from typing import TYPE_CHECKING, Any

from runfold._conventions import name_temporary
from runfold._files import open_draft
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

# S3 puts a new object together from parts; each but the last has at least so many bytes,
# and one that is copied from another object at most so many.
_SMALLEST_PART = 5 << 20
_LARGEST_PART = 5 << 30
# Where a file can be written in the middle, and is not replaced as a whole.
_DISKS = ("file", "sftp", "ssh")
# Files are fetched in ranges of so many bytes.
BLOCK = 8 << 20
_AZURE = ("az", "abfs", "abfss")
# What drivers log goes where the program's own log goes, and not to stderr where it has none:
# that a store fails is told by an error, or a warning.
_LOGGERS = ("paramiko", "gcsfs", "s3fs", "fsspec", "azure")
_SILENCE = logging.NullHandler()
_TIMES = ("LastModified", "mtime", "updated", "last_modified")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a store: its bytes, and when it was last written, in seconds since 1970."""

    size: int
    time: float


class Store:
    """The files below a URL. Opened at the first call, which every process makes for itself.

    All names are relative to the URL, with `/`. Credentials are those that the driver
    finds, in the environment or its own files. Every method raises what the driver
    raises, which may be no OSError: `explain` has it in words.
    """

    def __init__(self, url: str) -> None:
        """Check the URL, and connect to nothing. Raises CannotStore."""
        check_url(url)
        self.url = url.rstrip("/")
        self.scheme = split_url(url)[0]
        self._opened: tuple[int, Any, str] | None = None

    def __str__(self) -> str:
        return show_url(self.url)

    def import_driver(self) -> None:
        """Import what the first connection needs, in the calling thread.

        A fork while another thread imports a module leaves a child that waits for that
        module for ever.
        """
        with contextlib.suppress(Exception):  # whoever connects reports it
            import_module(driver_module(self.scheme))
            from fsspec.core import url_to_fs

            url_to_fs("file:///")
            "".encode("idna")

    def list_files(self) -> dict[str, Entry]:
        """All files by name, and the URL's own file by an empty name; none where nothing is."""
        system, root = self._open()
        system.invalidate_cache()
        if self.scheme in _DISKS:
            found = _find_on_disk(system, root)
        else:
            found = system.find(root, detail=True)
            # What adlfs has for the URL of a file.
            if isinstance(found, list):
                found = {path: system.info(path) for path in found}
        return {
            path[len(root) :].removeprefix("/"): Entry(int(info["size"]), _time_of(info))
            for path, info in found.items()
            # Consoles of stores make empty objects that stand for folders.
            if info.get("type") == "file" and not path.endswith("/")
        }

    def list_beside(self) -> list[str]:
        """The names of what lies beside the URL, files and folders; none where nobody says."""
        system, root = self._open()
        with contextlib.suppress(Exception):
            found = system.ls(root.rpartition("/")[0], detail=False)
            return [path.rstrip("/").rpartition("/")[2] for path in found]
        return []

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes of a file, or some of them. Raises FileNotFoundError, OSError for too few."""
        system, root = self._open()
        data: bytes = system.cat_file(join_url(root, name), start=start or None, end=end)
        if end is not None and len(data) != end - start:
            raise OSError(f"{end - start} bytes were asked for, and {len(data)} came")
        return data

    def get(self, name: str, entry: Entry, target: str, advance: Callable[[int], object]) -> None:
        """Copy a file from there, with its time, whole or not at all; `advance` counts bytes."""
        with open_draft(target, time=entry.time) as file:
            for start in range(0, entry.size, BLOCK):
                data = self.read(name, start, min(entry.size, start + BLOCK))
                file.write(data)
                advance(len(data))

    def write(self, name: str, data: bytes) -> None:
        """Put a small file there, whole or not at all."""
        with self._place(name) as (system, path):
            system.pipe_file(path, data)

    def create(self, name: str, data: bytes) -> bool:
        """Create a small file, and return False where one exists already.

        Of several machines that try at the same time, one succeeds. A server that
        knows no conditional writes lets all of them succeed.
        """
        system, root = self._open()
        path = join_url(root, name)
        try:
            if self.scheme in _DISKS:
                system.makedirs(path.rpartition("/")[0], exist_ok=True)
                # paramiko opens for writing only where both letters are given.
                with system.open(path, "xb" if self.scheme == "file" else "wxb") as file:
                    file.write(data)
            else:
                system.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        except Exception as error:
            if self.scheme in _DISKS and system.exists(path):
                return False  # a server of SFTP says no more than that it failed
            if not _is_unsupported(error):
                raise
            system.pipe_file(path, data)
        return True

    def put(self, name: str, source: str, advance: Callable[[], object] | None = None) -> None:
        """Copy a file there, whole or not at all; `advance` is called as it goes on."""
        from fsspec import AbstractFileSystem
        from fsspec.callbacks import Callback

        callback = Callback(hooks={"advance": lambda *_, **__: advance and advance()})
        with self._place(name) as (system, path):
            if self.scheme == "file":
                # The driver's own calls nobody back.
                AbstractFileSystem.put_file(system, source, path, callback=callback)
            else:
                system.put_file(source, path, callback=callback)

    def can_append(self, start: int) -> bool:
        """Whether what follows so many bytes can be sent without those."""
        if self.scheme in ("s3", "s3a"):
            return _SMALLEST_PART <= start <= _LARGEST_PART
        return self.scheme in _DISKS

    def append(self, name: str, start: int, data: bytes) -> None:
        """Let a file be its first bytes, up to `start`, and then these; once more does no harm.

        Whoever reads meanwhile finds the old file or the new one, on a disk also a
        part of the new bytes. Raises where the file has not so many bytes.
        """
        system, root = self._open()
        path = join_url(root, name)
        # Not every server minds, and what it would put together is no event file.
        if system.info(path)["size"] < start:
            raise FileNotFoundError(f"{name} has lost what was in it")
        if self.scheme in _DISKS:
            with system.open(path, "r+b") as file:
                file.seek(start)
                file.write(data)
            return
        # The store itself copies what it has: only the new bytes travel.
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
        """Remove a file; nothing where there is none."""
        system, root = self._open()
        with contextlib.suppress(FileNotFoundError):
            system.rm_file(join_url(root, name))

    @contextlib.contextmanager
    def _place(self, name: str) -> Any:
        """Where to write a file so that nobody ever finds half of it."""
        system, root = self._open()
        path = join_url(root, name)
        if self.scheme not in _DISKS:
            yield system, path
            return
        folder = path.rpartition("/")[0]
        system.makedirs(folder, exist_ok=True)
        # The file's own name must not be in it, or it would be taken for an event file.
        temporary = f"{folder}/{name_temporary()}"
        try:
            yield system, temporary
            system.mv(temporary, path)
        except BaseException:
            with contextlib.suppress(Exception):
                system.rm_file(temporary)
            raise

    def _open(self) -> tuple[Any, str]:
        """The driver and the path there; the child of a fork opens its own."""
        if self._opened is None or self._opened[0] != os.getpid():
            system, root = _open_driver(self.scheme, self.url)
            self._opened = os.getpid(), system, root.rstrip("/")
        return self._opened[1], self._opened[2]


def _reset_driver() -> None:
    """Let the child of a fork have its own lock in fsspec: another thread may hold the parent's."""
    asyn = sys.modules.get("fsspec.asyn")
    if asyn is not None:
        asyn.reset_lock()


register_at_fork(after_in_child=_reset_driver)


def _open_driver(scheme: str, url: str) -> tuple[Any, str]:
    """The driver of a URL, and the path there as the driver has it."""
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(_SILENCE)
    if scheme in ("sftp", "ssh"):
        from runfold._storage.sftp import open_sftp

        return open_sftp(url)
    from fsspec.core import url_to_fs

    # What was listed before must not hide what is new.
    options: dict[str, Any] = {"use_listings_cache": False}
    is_hasty = scheme in ("s3", "s3a") and "AWS_MAX_ATTEMPTS" not in os.environ
    if is_hasty:
        # It would try five times, five times over, and wait for a quarter of a minute each time:
        # who waits has a copy, or a better thing to do.
        options["config_kwargs"] = {"retries": {"total_max_attempts": 2, "mode": "standard"}}
    system, root = url_to_fs(url, **options)
    if is_hasty:
        system.retries = 2
    if scheme in _AZURE:
        # It would wait for 15, 18 and 24 seconds, at every request, and takes no option.
        with contextlib.suppress(AttributeError):
            policy = system.service_client._config.retry_policy
            policy.initial_backoff = policy.random_jitter_range = 0
            policy.increment_base = 1
    return system, root


def _find_on_disk(system: Any, root: str) -> dict[str, Any]:
    """The files of a folder, or a file itself, by path; none where neither is.

    Raises where the disk cannot be reached: the driver would say that it is empty.
    """
    try:
        top = system.info(root or "/")
    except FileNotFoundError:
        return {}
    if top["type"] == "file":
        return {root: top}
    found: dict[str, Any] = system.find(root or "/", detail=True, on_error=_pass_over)
    return found


def _pass_over(error: OSError) -> None:
    """Leave out a folder that is gone, or may not be read."""
    if not isinstance(error, FileNotFoundError | PermissionError):
        raise error


def explain(error: BaseException) -> str:
    """What a driver's error says, in one line and without credentials."""
    # Azure's go on with the whole answer.
    text = " ".join(str(error).strip().partition("\n")[0].split()).rstrip(".")
    if isinstance(error, PermissionError):
        text = f"permission denied ({text})" if text else "permission denied"
    elif isinstance(error, FileNotFoundError) and " " not in text:
        # Google's has a path, and no word.
        text = f"not found ({text})"
    elif not text or text.isdigit() or isinstance(error, KeyError):
        text = f"{type(error).__name__} {text}".strip()
    return mask_url(text)


def is_refusal(error: BaseException) -> bool:
    """Whether trying again is useless: no such bucket, no permission, or no credentials."""
    # Azure's errors and Google's have the answer's status.
    status = getattr(error, "status_code", getattr(error, "code", None))
    is_denied = isinstance(error, FileNotFoundError | PermissionError) or status in (401, 403, 404)
    # botocore's NoCredentialsError and Google's DefaultCredentialsError; no driver is imported.
    return is_denied or type(error).__name__.endswith("CredentialsError")


def _is_unsupported(error: BaseException) -> bool:
    """Whether a server answers that it does not know a request (501 NotImplemented)."""
    cause = error.__cause__ or error
    answer = getattr(cause, "response", None)
    return isinstance(answer, dict) and answer.get("Error", {}).get("Code") == "NotImplemented"


def _time_of(info: dict[str, Any]) -> float:
    """When a file was written, with a fraction that tells versions apart by their etags.

    Stores count in seconds, and a file may be written twice in one.
    """
    mark = info.get("ETag") or info.get("etag")
    if not mark:
        return _read_time(info)
    return math.floor(_read_time(info)) + zlib.crc32(str(mark).encode()) % 997 / 1000


def _read_time(info: dict[str, Any]) -> float:
    for name in _TIMES:
        told = info.get(name)
        if isinstance(told, datetime):
            return told.timestamp()
        if isinstance(told, int | float):
            return float(told)
        if isinstance(told, str):
            with contextlib.suppress(ValueError):
                return datetime.fromisoformat(told).timestamp()
    return 0.0
