"""Folders that are parts of runs, for code that works on folders rather than runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._logdir.hparams_folders import Joins, find_families
from runfold._logdir.run_log import RunLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runfold._logdir.discover import FoundRun


def find_parts(folders: Mapping[str, FoundRun]) -> dict[str, str]:
    """Return the run that each folder created by `add_hparams` is part of, by folder name.

    Only folders that may be parts, and their runs, are read.
    """
    families = find_families(folders)
    names = {*families, *(name for family in families.values() for name in family)}
    logs = {name: RunLog(folders[name]) for name in names}
    for log in logs.values():
        log.load()
    return Joins().find(families, logs)


def add_parts(
    chosen: Iterable[str], folders: Iterable[str], owners: Mapping[str, str]
) -> list[str]:
    """Return the chosen folders and the parts of chosen runs, in the order of `folders`."""
    requested = frozenset(chosen)
    return [name for name in folders if name in requested or owners.get(name) in requested]
