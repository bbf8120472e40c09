"""Opens logdirs that contain event files or packs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold._humanize import read_size
from runfold._logdir.loader import Logdir
from runfold._pack.pack_paths import find_packs
from runfold._storage.url import is_url

if TYPE_CHECKING:
    from runfold._pack.pack_paths import StrPath

_OFF = ("0", "false", "no", "off")


def open_logdir(
    *paths: StrPath,
    restarts: str = "session",
    strict: bool = False,
    progress: bool | None = None,
    join: bool = True,
    find_config: bool | None = None,
    limit_memory: int | str | None = None,
    copy: bool | None = None,
) -> Logdir:
    """Return the runs below the given paths, whether they are in event files or in packs.

    If `join` is False, a folder created by `add_hparams` is a separate run. If `find_config` is
    False, the settings of a run are only its hparams. `find_config` is True by default, unless
    the environment variable RUNFOLD_FIND_CONFIG is 0. `limit_memory` is in bytes, or text with
    a unit. If `copy` is True, URLs are copied before they are read. It is False by default, unless
    the environment variable RUNFOLD_COPY is set.

    Raises ValueError for an invalid limit, and RunfoldError for a pack with a limit.
    """
    limit = None if limit_memory is None else read_size(limit_memory)
    if find_config is None:
        find_config = os.environ.get("RUNFOLD_FIND_CONFIG", "").lower() not in _OFF
    if copy is None:
        copy = os.environ.get("RUNFOLD_COPY", "").lower() not in ("", *_OFF)
    kind = Logdir
    # A URL must be fetched to find out whether it is a pack.
    if any(is_url(path) or find_packs(path) for path in paths):
        from runfold._pack.packed_logdir import PackedLogdir

        kind = PackedLogdir
    return kind(
        *paths,
        restarts=restarts,
        strict=strict,
        progress=progress,
        join=join,
        find_config=find_config,
        limit_memory=limit,
        copy=copy,
    )
