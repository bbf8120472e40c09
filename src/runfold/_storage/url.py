"""URLs of stores: parsing, checking, masking, and finding their drivers."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import NamedTuple

from runfold._humanize import did_you_mean, escape
from runfold.errors import CannotStore


class _Driver(NamedTuple):
    """The module for some schemes, and the Runfold extra that installs it."""

    module: str
    extra: str


_DRIVERS = {
    "s3": _Driver("s3fs", "s3"),
    "s3a": _Driver("s3fs", "s3"),
    "gs": _Driver("gcsfs", "gcs"),
    "gcs": _Driver("gcsfs", "gcs"),
    "az": _Driver("adlfs", "azure"),
    "abfs": _Driver("adlfs", "azure"),
    "abfss": _Driver("adlfs", "azure"),
    "sftp": _Driver("paramiko", "sftp"),
    "ssh": _Driver("paramiko", "sftp"),
    "file": _Driver("fsspec", ""),
}

# The part after the last `@` is a host with an optional port.
_PORT = re.compile(r"(^|@)(\[[^\]@]*\]|[^:@\[\]?#]+)(:[0-9]{1,5})?$")
_BUCKETS = ("s3", "s3a", "gs", "gcs")

# A URL after pathlib or os.path.normpath has collapsed its slashes.
_MANGLED_URL = re.compile(rf"({'|'.join([*_DRIVERS, 'hdfs'])}):/([^/].*)", re.DOTALL)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
# Greedy, because a password can contain `@`.
_USER_INFO = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{0,20}://)[^\s/?#\"'<>]{1,500}@")
_PARAMETERS = re.compile(r"(://[^\s?\"'<>]{0,2000}\?)[^\s\"'<>]+")


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the URL of a store, such as `s3://bucket/prefix`."""
    return _URL.match(os.fsdecode(path)) is not None


def restore_url(path: str) -> str:
    """Return `s3:/bucket`, the value of `Path("s3://bucket")`, as a URL; other paths unchanged."""
    match = _MANGLED_URL.fullmatch(path)
    if match is None:
        return path
    return f"{match[1]}:///{match[2]}" if match[1] == "file" else f"{match[1]}://{match[2]}"


def split_url(url: str) -> tuple[str, str]:
    """Return the scheme in lowercase, and the part after `://`.

    Raises CannotStore if it is not a URL.
    """
    match = _URL.match(url)
    if match is None:
        raise CannotStore(f"'{escape(url)}' is not a URL such as s3://bucket/prefix.")
    return match[1].lower(), match[2]


def mask_url(text: str) -> str:
    """Return the text with the users, passwords and parameters in its URLs masked."""
    return _PARAMETERS.sub(r"\1***", _USER_INFO.sub(r"\1***@", text))


def show_url(url: str) -> str:
    """Return a URL masked and escaped for display."""
    return escape(mask_url(url))


def as_url(place: str | os.PathLike[str]) -> str:
    """Return a folder or URL as a checked URL, without connecting.

    Raises CannotStore if the scheme is unknown or its driver is not installed.
    """
    given = os.fsdecode(place)
    if not given or "\0" in given:
        raise CannotStore(f"'{escape(given)}' is neither a folder nor a URL.")
    if not is_url(given):
        return "file://" + os.path.abspath(os.path.expanduser(given))
    check_url(given)
    return given.rstrip("/")


def check_url(url: str) -> None:
    """Raise CannotStore for an unknown scheme, a missing driver or a missing location.

    The message says what to install.
    """
    scheme, rest = split_url(url)
    driver = _DRIVERS.get(scheme)
    if driver is None:
        known = ", ".join(f"{name}://" for name in _DRIVERS)
        hint = did_you_mean(scheme, _DRIVERS)
        raise CannotStore(
            f"{show_url(url)}: unknown scheme '{escape(scheme)}'. "
            f"Supported: {known}. {hint}".rstrip()
        )
    if not rest.strip("/"):
        raise CannotStore(f"{show_url(url)}: the bucket or folder is missing.")
    if scheme in _BUCKETS and "@" in rest.split("/")[0]:
        raise CannotStore(
            f"{show_url(url)}: a bucket's URL cannot contain a user or a password. Set the "
            "driver's own variables, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    if scheme in ("sftp", "ssh") and not _PORT.search(rest.partition("/")[0]):
        # The value is not shown, because it may be the beginning of a password.
        raise CannotStore(
            f"{scheme}://***: expected a port number after the host. "
            "In a password, write / as %2F, ? as %3F and # as %23."
        )
    if find_spec(driver.module) is None:
        raise CannotStore(
            f"{show_url(url)}: {scheme}:// needs the package {driver.module}, which is not "
            f"installed. Install it: pip install 'runfold[{driver.extra}]'"
        )


def driver_module(scheme: str) -> str:
    """Return the driver module of a supported scheme."""
    return _DRIVERS[scheme].module


def refuse_itself(folder: str, url: str) -> None:
    """Raise CannotStore if a URL is the folder or inside it: each copy would be copied again."""
    path = local_path(url)
    if path is None:
        return
    outer, inner = os.path.realpath(folder), os.path.realpath(path)
    if os.path.commonpath([outer, inner]) == outer:
        raise CannotStore(
            f"{escape(path)} is in {escape(folder)}, so the upload would copy itself. "
            "Choose a storage location outside this folder."
        )


def join_url(url: str, name: str) -> str:
    """Return the URL of a name below another URL; an empty name returns that URL."""
    return f"{url.rstrip('/')}/{name.strip('/')}".rstrip("/")


def local_path(url: str) -> str | None:
    """Return the path of a `file://` URL, or None for other URLs."""
    scheme, rest = split_url(url)
    return (rest.removeprefix("localhost") or "/") if scheme == "file" else None
