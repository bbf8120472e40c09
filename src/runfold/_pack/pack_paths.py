"""Finds packs on disk."""

from __future__ import annotations

import glob
import os
from typing import NamedTuple

from runfold._conventions import PACK_MARKER, PACK_PART
from runfold._logdir.log_paths import match_glob
from runfold._pack.pack_layout import SUFFIX
from runfold._select import is_glob

StrPath = str | os.PathLike[str]


class PackLocation(NamedTuple):
    """A pack on disk.

    Names of its runs are relative to `base`; the runs appear to be in `root`.
    """

    path: str
    root: str
    base: str


def find_packs(path: StrPath) -> list[PackLocation]:
    """Return the packs at a path: a file, a folder of packs, or a glob."""
    expanded = os.path.expanduser(os.fsdecode(path))
    if not expanded or "\0" in expanded:
        return []
    absolute = os.path.abspath(expanded)
    if expanded.endswith(SUFFIX) and os.path.isfile(expanded):
        return [PackLocation(absolute, absolute, absolute.removesuffix(SUFFIX))]
    if os.path.isfile(os.path.join(expanded, PACK_MARKER)):
        parts = glob.glob(os.path.join(glob.escape(absolute), "*", PACK_PART))
        return [PackLocation(part, absolute, absolute) for part in sorted(parts)]
    if is_glob(expanded) and not os.path.lexists(expanded):
        # `**` matches only folders; include the packs in them.
        patterns = (
            [expanded, os.path.join(expanded, "*")] if expanded.endswith("**") else [expanded]
        )
        matches = {match for pattern in patterns for match in match_glob(pattern, [])[1]}
        return [pack for match in sorted(matches) for pack in find_packs(match)]
    return []


def split_run(path: str) -> list[str]:
    """Split a path such as `runs.parquet/seed-1` into pack and run; do not split other paths."""
    head = path.rstrip("/")
    while head and not os.path.lexists(head):
        head = head.rpartition("/")[0]
        if head and find_packs(head):
            return [head, path[len(head) :].strip("/")]
    return [path]
