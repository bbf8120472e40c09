"""The folders of a store, built from its list of files, as they would be on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold._conventions import CONFIG_NAMES, PROJECTOR_CONFIG, is_run_file, is_temporary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Folders, unfinished folders, event files, special files, links, configuration files and reserved
# folders: the entries of a folder that matter to a search for runs.
Listing = tuple[list[str], list[str], list[str], list[str], list[str], list[str], list[str]]


class ListedTree:
    """The files and folders below the path of a URL's copy. There are no links."""

    def __init__(self, root: str, names: Iterable[str]) -> None:
        """Files with these names, relative to `root`; an empty name if the root is a file."""
        self.root = root
        known = frozenset(names)
        # A file at the URL itself hides those below it, because it cannot also be a folder.
        self._is_file = "" in known
        # The entries of each folder, and whether each is a folder.
        self._folders: dict[str, dict[str, bool]] = {}
        if not self._is_file:
            self._add_folder("")
            for name in known:
                folder, _, last = name.rpartition("/")
                self._add_folder(folder)[last] = False

    def _add_folder(self, folder: str) -> dict[str, bool]:
        entries = self._folders.get(folder)
        if entries is None:
            entries = self._folders[folder] = {}
            if folder:
                above, _, last = folder.rpartition("/")
                self._add_folder(above)[last] = True
        return entries

    def contains(self, path: str) -> bool:
        """Return whether a path is the root or below it, whether or not it exists."""
        return path == self.root or path.startswith(self.root + os.sep)

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder."""
        return self._relative(path) in self._folders

    def is_file(self, path: str) -> bool:
        """Return whether a path is a file."""
        if path == self.root:
            return self._is_file
        folder, name = os.path.split(path)
        return self._entries(folder).get(name) is False

    def exists(self, path: str) -> bool:
        """Return whether a path is a file or a folder."""
        return self.is_folder(path) or self.is_file(path)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files and folders in a folder."""
        return list(self._entries(folder))

    def folders(self, folder: str) -> Iterator[str]:
        """Yield the paths of the folders in a folder."""
        entries = self._entries(folder)
        return (f"{folder}{os.sep}{name}" for name, is_folder in entries.items() if is_folder)

    def list_folder(self, folder: str) -> Listing:
        """Return the entries of a folder that matter to a search for runs."""
        entries = self._entries(folder)
        directories: list[str] = []
        unfinished: list[str] = []
        regular: list[str] = []
        for name, is_folder in entries.items():
            if is_folder:
                (unfinished if is_temporary(name) else directories).append(
                    f"{folder}{os.sep}{name}"
                )
            elif is_run_file(name) or name == PROJECTOR_CONFIG:
                regular.append(f"{folder}{os.sep}{name}")
        configs = [name for name in entries if name in CONFIG_NAMES]
        return directories, unfinished, regular, [], [], configs, []

    def _entries(self, folder: str) -> dict[str, bool]:
        return self._folders.get(self._relative(folder), {})

    def _relative(self, path: str) -> str:
        if not self.contains(path):
            return "\0"  # the name of no folder
        return path[len(self.root) + 1 :].replace(os.sep, "/")
