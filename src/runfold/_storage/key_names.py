"""Checks whether the keys of a store can be files on this machine."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

# The longest file or folder name, in bytes, that every common file system allows.
_LONGEST_PART = 255
# Errors that concern a single name rather than the whole disk.
_ABOUT_ONE_NAME = frozenset(
    {errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EILSEQ, errno.ELOOP}
)


def is_safe(key: str) -> bool:
    """Whether a key is a path below the copy's folder."""
    parts = key.split("/")
    return not key or not ("\0" in key or any(part in ("", ".", "..") for part in parts))


def find_impossible(keys: Collection[str]) -> set[str]:
    """Return the keys that cannot be files: those with a part that is too long or is itself a file.

    A bucket can contain both `run/events` and `run/events/more`; the shorter key wins.
    """
    known = set(keys)
    return {
        key
        for key in keys
        if any(len(os.fsencode(part)) > _LONGEST_PART for part in key.split("/"))
        or any(folder in known for folder in _folders(key))
    }


def is_about_one_name(error: BaseException) -> bool:
    """Whether an error from the local disk concerns only one file."""
    return isinstance(error, OSError) and error.errno in _ABOUT_ONE_NAME


def _folders(key: str) -> list[str]:
    """Return the folders above a key: `a` and `a/b` for `a/b/c`."""
    parts = key.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
