"""Opens logdirs that contain event files or packs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from runfold._humanize import not_one_of, read_size
from runfold._logdir.loader import Logdir
from runfold._pack.pack_paths import find_packs
from runfold._storage.url import is_url

if TYPE_CHECKING:
    from runfold._logdir.run_engine import Engine
    from runfold._pack.pack_paths import StrPath

ENGINES = ("ray",)

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
    engine: str | None = None,
    address: str | None = None,
    index: bool | None = None,
) -> Logdir:
    """Return the runs below the given paths, whether they are in event files or in packs.

    If `join` is False, a folder created by `add_hparams` is a separate run. If `find_config` is
    False, the settings of a run are only its hparams. `find_config` is True by default, unless
    the environment variable RUNFOLD_FIND_CONFIG is 0. `limit_memory` is in bytes, or text with
    a unit. If `copy` is True, URLs are copied before they are read. It is False by default, unless
    the environment variable RUNFOLD_COPY is set. `engine` is None or "ray", and `address` is the
    address of its cluster. `index` keeps what was read in the user's cache, and uses it the next
    time. It is False by default, unless the environment variable RUNFOLD_INDEX is 1.

    Raises ValueError for an invalid limit or engine, RunfoldError for a pack with one of them, and
    NoCluster if there is no cluster.
    """
    limit = None if limit_memory is None else read_size(limit_memory)
    if find_config is None:
        find_config = os.environ.get("RUNFOLD_FIND_CONFIG", "").lower() not in _OFF
    if copy is None:
        copy = os.environ.get("RUNFOLD_COPY", "").lower() not in ("", *_OFF)
    chosen = connect_engine(engine, address)
    if index is None:
        index = os.environ.get("RUNFOLD_INDEX", "0").lower() not in _OFF
    # In strict mode, every file is read to find its first problem. A limit and an engine have
    # their own ways to read.
    is_simple = not strict and limit is None and chosen is None
    has_index = index and sys.platform == "linux" and is_simple
    kind = Logdir
    if has_index:
        from runfold._index.indexed_logdir import IndexedLogdir

        kind = IndexedLogdir
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
        engine=chosen,
    )


def connect_engine(engine: str | None, address: str | None) -> Engine | None:
    """Return an engine by its name. Raises ValueError for another name, and NoCluster."""
    if engine is None:
        if address is not None:
            raise ValueError("address requires an engine: engine='ray' (--engine ray).")
        return None
    if engine not in ENGINES:
        raise ValueError(not_one_of("engine", engine, ENGINES))
    from runfold._engines.ray_engine import RayEngine

    return RayEngine(address)
