"""Which paths are packs."""

from __future__ import annotations

import glob
import os
from typing import NamedTuple

from runfold._conventions import PACK_MARKER, PACK_PART
from runfold._logdir.log_paths import match_glob
from runfold._pack.pack_layout import SUFFIX
from runfold._select import is_glob

StrPath = str | os.PathLike[str]


class PackPlace(NamedTuple):
    """A pack on disk.

    Names of its runs start at `base`; the runs themselves seem to lie in `root`.
    """

    path: str
    root: str
    base: str


def find_packs(path: StrPath) -> list[PackPlace]:
    """The packs that a path stands for: a file, a folder of packs, or a glob of such."""
    given = os.path.expanduser(os.fsdecode(path))
    if not given or "\0" in given:
        return []
    whole = os.path.abspath(given)
    if given.endswith(SUFFIX) and os.path.isfile(given):
        return [PackPlace(whole, whole, whole.removesuffix(SUFFIX))]
    if os.path.isfile(os.path.join(given, PACK_MARKER)):
        parts = glob.glob(os.path.join(glob.escape(whole), "*", PACK_PART))
        return [PackPlace(part, whole, whole) for part in sorted(parts)]
    if is_glob(given) and not os.path.lexists(given):
        # `**` matches folders only, and the packs in them count too.
        patterns = [given, os.path.join(given, "*")] if given.endswith("**") else [given]
        matches = {match for pattern in patterns for match in match_glob(pattern, [])[1]}
        return [pack for match in sorted(matches) for pack in find_packs(match)]
    return []


def split_run(path: str) -> list[str]:
    """A path such as `runs.parquet/seed-1` as the pack and the run in it; any other by itself."""
    head = path.rstrip("/")
    while head and not os.path.lexists(head):
        head = head.rpartition("/")[0]
        if head and find_packs(head):
            return [head, path[len(head) :].strip("/")]
    return [path]
