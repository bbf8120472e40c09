"""Opens logdirs of event files and of packs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._logdir.loader import Logdir
from runfold._pack.pack_paths import find_packs
from runfold._storage.url import is_url

if TYPE_CHECKING:
    from runfold._pack.pack_paths import StrPath


def open_logdir(
    *paths: StrPath,
    restarts: str = "session",
    strict: bool = False,
    progress: bool | None = None,
    join: bool = True,
) -> Logdir:
    """Return the runs below some paths, whether they are in event files or in packs.

    With `join` off, a folder of `add_hparams` is a separate run.
    """
    kind = Logdir
    # Only a fetched URL shows whether it is a pack.
    if any(is_url(path) or find_packs(path) for path in paths):
        from runfold._pack.packed_logdir import PackedLogdir

        kind = PackedLogdir
    return kind(*paths, restarts=restarts, strict=strict, progress=progress, join=join)
