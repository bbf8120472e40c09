"""Configuration files of runs in a store."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from runfold._conventions import CONFIG_NAMES, HYDRA_FOLDER, MOST_CONFIG_BYTES, is_event_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runfold._storage.store import Entry


def find_configs(listed: Mapping[str, Entry]) -> set[str]:
    """Return the small configuration files in the folders of runs, and in those above.

    Other folders, such as those of checkpoints, can contain many files with the same names.
    """
    folders: set[str] = set()
    for name in filter(is_event_file, listed):
        folder = posixpath.dirname(name)
        while folder not in folders:
            folders.add(folder)
            folder = posixpath.dirname(folder)
    return {
        name
        for name, entry in listed.items()
        if posixpath.basename(name) in CONFIG_NAMES
        and entry.size <= MOST_CONFIG_BYTES
        and _folder_of(name) in folders
    }


def _folder_of(name: str) -> str:
    """Return the folder whose runs a file configures."""
    folder = posixpath.dirname(name)
    # accelerate saves `hparams.yml` in a time-stamped folder.
    is_inside = posixpath.basename(folder) == HYDRA_FOLDER or name.endswith(".yml")
    return posixpath.dirname(folder) if is_inside else folder
