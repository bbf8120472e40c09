"""Fast reading from S3: the package obstore, with the settings and credentials of s3fs.

s3fs finds the server and the credentials, and describes errors. obstore makes the same requests
with a tenth of the processor time. It is optional: whoever uses this module repeats a call that
failed with s3fs.
"""

from __future__ import annotations

import importlib.util
import os
import re
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from runfold._conventions import CONFIG_NAMES
from runfold._storage.upload_filter import is_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from obstore import GetOptions

# The credentials are read from the driver again after this many seconds: it renews them.
_RENEWAL_SECONDS = 300.0
# Settings of the driver that have the same meaning here. With any other, only the driver is used.
_KNOWN_OPTIONS = frozenset(("endpoint_url", "region_name"))
# Not access points or directory buckets, which have other rules for their addresses.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_OTHER_BUCKETS = ("--x-s3", "-s3alias")
# Calls that fail in a row, although the driver succeeds, before only the driver is used.
_MOST_FAILURES = 8

# The process in which obstore's threads run. A forked child does not have them, and its calls
# would wait forever.
_home: int | None = None


class ObjectChanged(OSError):
    """The object is not the requested version."""


class Object(NamedTuple):
    """An object in a bucket."""

    key: str
    size: int
    time: datetime
    etag: str


class FastDriver:
    """The objects of a bucket. Methods raise any exception; the caller then uses the driver."""

    def __init__(self, system: Any, bucket: str) -> None:
        self._system = system
        self._bucket = bucket
        self._lock = threading.Lock()
        self._store: Any = None
        self._due = 0.0
        self._has_worked = False
        self._failures = 0

    @property
    def is_usable(self) -> bool:
        """Whether to use it: not in a forked child, nor if only the driver can reach the store."""
        if _home not in (None, os.getpid()):
            return False
        return self._failures < (_MOST_FAILURES if self._has_worked else 1)

    def note_failure(self) -> None:
        """Note that the driver succeeded where a call to this class failed."""
        self._failures += 1

    def read(self, key: str, start: int, end: int | None, etag: str = "") -> bytes:
        """Return a range of an object. Raises ObjectChanged if it has another ETag."""
        import obstore
        from obstore.exceptions import PreconditionError

        store = self._connect()
        if end is not None and not etag:
            data = obstore.get_range(store, key, start=start, end=end)
        else:
            options: GetOptions = {"if_match": etag} if etag else {}
            options["range"] = {"offset": start} if end is None else (start, end)
            try:
                data = obstore.get(store, key, options=options).bytes()
            except PreconditionError:
                self._succeed()
                raise ObjectChanged(key) from None
        self._succeed()
        return bytes(data)

    def list_objects(self, folder: str) -> Iterator[Object]:
        """Yield the objects in a folder and those below it."""
        import obstore

        store = self._connect()
        found = [meta for page in obstore.list(store, folder or None) for meta in page]
        keys = {meta["path"] for meta in found if meta["size"]}
        folders = {key[:at] for key in keys for at in _slashes(key)}
        for meta in found:
            key: str = meta["path"]
            # The key of an empty object can be that of a folder, with a slash at its end.
            if not meta["size"] and (key in folders or self._is_folder(store, key)):
                continue
            yield Object(key, meta["size"], meta["last_modified"], meta["e_tag"] or "")
        self._succeed()

    def _is_folder(self, store: Any, key: str) -> bool:
        import obstore

        # Other names are never read, and there can be many.
        if not (is_log(key) or key.rpartition("/")[2] in CONFIG_NAMES):
            return False
        try:
            obstore.head(store, key)
        except FileNotFoundError:
            return True
        return False

    def _succeed(self) -> None:
        self._has_worked = True
        self._failures = 0

    def _connect(self) -> Any:
        """Return the connection, with current credentials."""
        global _home
        with self._lock:
            now = time.monotonic()
            if self._store is None or now > self._due:
                from fsspec.asyn import sync
                from obstore.store import S3Store

                config = sync(self._system.loop, _find_settings, self._system)
                _home = os.getpid()
                self._store = S3Store(
                    self._bucket,
                    config=config,
                    client_options={
                        "allow_http": True,
                        "connect_timeout": timedelta(seconds=self._system.connect_timeout),
                        "read_timeout": timedelta(seconds=self._system.read_timeout),
                        "timeout": timedelta(hours=1),
                    },
                    # The driver repeats requests.
                    retry_config={"max_retries": 0},
                )
                self._due = now + _RENEWAL_SECONDS
            return self._store


def open_fast_driver(system: Any, root: str) -> FastDriver | None:
    """Return the fast driver for a path of s3fs; None if it is missing or would act differently."""
    if importlib.util.find_spec("obstore") is None:
        return None
    bucket = root.partition("/")[0]
    is_plain = (
        _BUCKET.fullmatch(bucket)
        and not bucket.endswith(_OTHER_BUCKETS)
        and not (system.req_kw or system.s3_additional_kwargs or system.version_aware)
        and not system.cache_regions
        and system._session_is_owned
        and system.client_kwargs.keys() <= _KNOWN_OPTIONS
        and system.config_kwargs.keys() <= {"retries"}
    )
    return FastDriver(system, bucket) if is_plain else None


async def _find_settings(system: Any) -> dict[str, Any]:
    """Return the server and the credentials that s3fs uses."""
    client = await system.set_session()
    endpoint = client.meta.endpoint_url
    if endpoint.startswith("https:") and "AWS_CA_BUNDLE" in os.environ:
        raise ValueError("only the driver knows these certificates")
    config = {
        "endpoint": endpoint,
        "region": client.meta.region_name,
        "virtual_hosted_style_request": False,
    }
    if system.anon:
        return config | {"skip_signature": True}
    credentials = client._request_signer._credentials
    frozen = await credentials.get_frozen_credentials()
    config |= {"access_key_id": frozen.access_key, "secret_access_key": frozen.secret_key}
    return config | ({"token": frozen.token} if frozen.token else {})


def _slashes(key: str) -> Iterator[int]:
    at = key.find("/")
    while at >= 0:
        yield at
        at = key.find("/", at + 1)
