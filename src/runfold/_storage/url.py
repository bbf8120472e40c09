"""What a URL of a store looks like, which driver it needs, and how it is shown."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import NamedTuple

from runfold._humanize import did_you_mean, escape
from runfold.errors import CannotStore


class _Driver(NamedTuple):
    """The module behind some schemes, and the extra of Runfold that brings it."""

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

# What follows the last `@` is a host, with a port or without.
_PORT = re.compile(r"(^|@)(\[[^\]@]*\]|[^:@\[\]?#]+)(:[0-9]{1,5})?$")
_BUCKETS = ("s3", "s3a", "gs", "gcs")

# What pathlib and os.path.normpath make of a URL.
_MANGLED_URL = re.compile(rf"({'|'.join([*_DRIVERS, 'hdfs'])}):/([^/].*)", re.DOTALL)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
# Greedy, for a password may hold an `@`.
_USER_INFO = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{0,20}://)[^\s/?#\"'<>]{1,500}@")
_PARAMETERS = re.compile(r"(://[^\s?\"'<>]{0,2000}\?)[^\s\"'<>]+")


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the URL of a store, such as `s3://bucket/prefix`, and no path on a disk."""
    return _URL.match(os.fsdecode(path)) is not None


def restore_url(path: str) -> str:
    """Return `s3:/bucket`, which is what `Path("s3://bucket")` holds, as a URL; others as given."""
    found = _MANGLED_URL.fullmatch(path)
    if found is None:
        return path
    return f"{found[1]}:///{found[2]}" if found[1] == "file" else f"{found[1]}://{found[2]}"


def split_url(url: str) -> tuple[str, str]:
    """The scheme, in small letters, and what follows `://`. Raises CannotStore for no URL."""
    found = _URL.match(url)
    if found is None:
        raise CannotStore(f"'{escape(url)}' is no URL such as s3://bucket/prefix.")
    return found[1].lower(), found[2]


def mask_url(text: str) -> str:
    """The text without the users, passwords and parameters of the URLs in it."""
    return _PARAMETERS.sub(r"\1***", _USER_INFO.sub(r"\1***@", text))


def show_url(url: str) -> str:
    """A URL as it may be shown to anybody."""
    return escape(mask_url(url))


def as_url(place: str | os.PathLike[str]) -> str:
    """The URL of a place that may also be a folder on a disk; checked, without touching it.

    Raises CannotStore where the scheme is not known or its driver is not installed.
    """
    given = os.fsdecode(place)
    if not given or "\0" in given:
        raise CannotStore(f"'{escape(given)}' is neither a folder nor a URL.")
    if not is_url(given):
        return "file://" + os.path.abspath(os.path.expanduser(given))
    check_url(given)
    return given.rstrip("/")


def check_url(url: str) -> None:
    """Raise CannotStore where the scheme is not known, its driver is missing, or no place is named.

    The message says what to install.
    """
    scheme, rest = split_url(url)
    driver = _DRIVERS.get(scheme)
    if driver is None:
        known = ", ".join(f"{name}://" for name in _DRIVERS)
        hint = did_you_mean(scheme, _DRIVERS)
        raise CannotStore(
            f"{show_url(url)}: no store has the scheme '{escape(scheme)}'. "
            f"These are known: {known}. {hint}".rstrip()
        )
    if not rest.strip("/"):
        raise CannotStore(f"{show_url(url)} names no bucket and no folder.")
    if scheme in _BUCKETS and "@" in rest.split("/")[0]:
        raise CannotStore(
            f"{show_url(url)}: the URL of a bucket has no user and no password. Give them where "
            "its driver looks for them, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    if scheme in ("sftp", "ssh") and not _PORT.search(rest.partition("/")[0]):
        # Not shown: what stands there may be the beginning of a password.
        raise CannotStore(
            f"{scheme}://***: after the host stands no port. "
            "In a password, write / as %2F, ? as %3F and # as %23."
        )
    if find_spec(driver.module) is None:
        raise CannotStore(
            f"{show_url(url)}: {scheme}:// needs the package {driver.module}, which is not "
            f"installed. Install it: pip install 'runfold[{driver.extra}]'"
        )


def driver_module(scheme: str) -> str:
    """Return the module behind a scheme that is known."""
    return _DRIVERS[scheme].module


def refuse_itself(folder: str, url: str) -> None:
    """Raise CannotStore where a URL leads to a folder or into it: each copy would be copied."""
    path = local_path(url)
    if path is None:
        return
    outer, inner = os.path.realpath(folder), os.path.realpath(path)
    if os.path.commonpath([outer, inner]) == outer:
        raise CannotStore(
            f"{escape(path)} is in {escape(folder)}, which would become its own copy. "
            "Give a storage elsewhere."
        )


def join_url(url: str, name: str) -> str:
    """The URL of what has a name below another; that one itself for no name."""
    return f"{url.rstrip('/')}/{name.strip('/')}".rstrip("/")


def local_path(url: str) -> str | None:
    """The path of a `file://` URL; None for another."""
    scheme, rest = split_url(url)
    return (rest.removeprefix("localhost") or "/") if scheme == "file" else None
