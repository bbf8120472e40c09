"""What belongs to a run but not to its log: small files of JSON in its folder `.runfold`."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from typing import Any

from runfold.errors import CannotStore
from runfold.storage.address import is_url
from runfold.text import escape

SIDE_FOLDER = ".runfold"
_MOST_BYTES = 64 << 10


def write_aside(folder: str, name: str, value: Any) -> None:
    """Put JSON into a file of the run's `.runfold`, whole or not at all. Raises OSError.

    The folder may be the URL of one.
    """
    if is_url(folder):
        _write_there(folder, name, json.dumps(value).encode())
        return
    place_aside(folder, name, json.dumps(value).encode())


def place_aside(folder: str, name: str, data: bytes) -> None:
    """Put bytes into a file of the run's `.runfold`, whole or not at all. Raises OSError."""
    side = os.path.join(folder, SIDE_FOLDER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(side)  # not its parents: a run that was deleted stays deleted
    temporary = os.path.join(side, f".{name}-{os.urandom(8).hex()}")
    try:
        with open(temporary, "xb") as file:  # never through a link that another user left
            file.write(data)
        os.replace(temporary, os.path.join(side, name))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def read_aside(folder: str, name: str) -> dict[str, Any]:
    """What a file of the run's `.runfold` says; nothing where it is not there or unreadable.

    The folder may be the URL of one. Raises CannotStore where that cannot be reached.
    """
    try:
        if is_url(folder):
            found = json.loads(_read_there(folder, name))
        else:
            found = json.loads(_read_small(os.path.join(folder, SIDE_FOLDER, name)))
    except CannotStore:
        raise
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_small(path: str) -> bytes:
    """Return the bytes of a small regular file. Raises OSError for any other.

    Whoever shares the folder may have put a FIFO, a device or a link there.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > _MOST_BYTES:
            raise OSError(errno.EFBIG, "Not a small file", path)
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


def _write_there(url: str, name: str, data: bytes) -> None:
    from runfold.storage.store import Store, explain

    store = Store(url)
    try:
        store.write(f"{SIDE_FOLDER}/{name}", data)
    except Exception as error:
        raise CannotStore(f"{store}: {escape(explain(error))}. Nothing was written.") from None


def _read_there(url: str, name: str) -> bytes:
    from runfold.storage.store import Store, explain

    store = Store(url)
    try:
        return store.read(f"{SIDE_FOLDER}/{name}")
    except FileNotFoundError:
        raise
    except Exception as error:
        raise CannotStore(f"{store}: {escape(explain(error))}. Nothing was read.") from None


def as_float(said: Any) -> float | None:
    """A number that a run or its folder tells; None where it is none, or beyond all floats."""
    try:
        return float(said) if isinstance(said, int | float) else None
    except OverflowError:
        return None
