"""The folder of all indexes, in the user's cache, and the space that they may take."""

from __future__ import annotations

import contextlib
import json
import os
import time
from hashlib import blake2b
from typing import TYPE_CHECKING

from runfold import _state
from runfold._conventions import is_temporary

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIX = ".index"

# All indexes together take at most this much. The ones that have not been used for longest are
# removed first.
MOST_BYTES = 2 << 30
# An index that has not been used for this long is removed.
_MOST_SECONDS = 90 * 86400.0
# The time of the last use is noted at most this often.
_USE_SECONDS = 3600.0


def index_path(paths: Sequence[str], *options: object) -> str:
    """Return the path of the index of a logdir: of the folders and options that define it."""
    key = json.dumps([[os.path.abspath(path) for path in paths], *options])
    name = blake2b(key.encode(), digest_size=16).hexdigest()
    return os.path.join(_state.cache_folder("index"), name + SUFFIX)


def note_use(path: str) -> None:
    """Note that an index was used just now, so that others are removed first."""
    with contextlib.suppress(OSError):
        if time.time() - os.stat(path).st_mtime > _USE_SECONDS:
            os.utime(path)


def remove_old(folder: str, most: int = MOST_BYTES) -> None:
    """Remove the indexes that have not been used for longest, until the others fit."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_draft = is_temporary(entry.name)
            if (is_draft or SUFFIX in entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, entry.path, is_draft))
    now, total = time.time(), 0
    for used, size, path, is_draft in sorted(found, reverse=True):
        total += size
        # A program that was killed leaves its draft.
        if total > most or now - used > (_USE_SECONDS if is_draft else _MOST_SECONDS):
            with contextlib.suppress(OSError):
                os.unlink(path)
