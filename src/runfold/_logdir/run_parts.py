"""The folders that are parts of runs, for whoever works on folders rather than on runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._logdir.hparams_folders import Joins, find_families
from runfold._logdir.run_log import RunLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runfold._logdir.discover import FoundRun


def find_parts(folders: Mapping[str, FoundRun]) -> dict[str, str]:
    """The run that each folder of `add_hparams` is part of, by the name of the folder.

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
    """The chosen folders and the parts of chosen runs, in the order of `folders`."""
    wanted = frozenset(chosen)
    return [name for name in folders if name in wanted or owners.get(name) in wanted]
