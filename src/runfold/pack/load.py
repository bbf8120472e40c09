"""Which paths are packs, and the logdir that opens them: one door for event files and packs."""

from __future__ import annotations

import glob
import os
from typing import NamedTuple

from runfold.logdir.load import Logdir
from runfold.logdir.place import match_glob
from runfold.pack.layout import MARKER, PART, SUFFIX
from runfold.select import is_glob
from runfold.storage.address import is_url

StrPath = str | os.PathLike[str]


class PackPlace(NamedTuple):
    """A pack on disk.

    Names of its runs start at `base`; the runs themselves seem to lie in `root`.
    """

    path: str
    root: str
    base: str


def open_logdir(
    *paths: StrPath,
    restarts: str = "session",
    strict: bool = False,
    progress: bool | None = None,
    join: bool = True,
) -> Logdir:
    """The runs below some paths, whether they are in event files or in packs.

    With `join` off, a folder of `add_hparams` is a separate run.
    """
    kind = Logdir
    # What a URL stands for is known when it was fetched.
    if any(is_url(path) or find_packs(path) for path in paths):
        from runfold.pack.logdir import PackedLogdir

        kind = PackedLogdir
    return kind(*paths, restarts=restarts, strict=strict, progress=progress, join=join)


def find_packs(path: StrPath) -> list[PackPlace]:
    """The packs that a path stands for: a file, a folder of packs, or a glob of such."""
    given = os.path.expanduser(os.fsdecode(path))
    if not given or "\0" in given:
        return []
    whole = os.path.abspath(given)
    if given.endswith(SUFFIX) and os.path.isfile(given):
        return [PackPlace(whole, whole, whole.removesuffix(SUFFIX))]
    if os.path.isfile(os.path.join(given, MARKER)):
        parts = glob.glob(os.path.join(glob.escape(whole), "*", PART))
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
