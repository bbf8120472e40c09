"""Locations of a run's configuration files: next to the run's files, or in a folder above.

`discover` lists them while it searches for runs, so finding them needs no further access to the
disk. This module does not read them.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from runfold._conventions import CONFIG_FILES, HYDRA_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    # The path of a file, and its path relative to the run's folder, with `/`.
    Near = tuple[str, str]

# accelerate saves `hparams.yml` in a time-stamped folder inside the run's folder.
_TIME = re.compile(r"[0-9]{9,}\.[0-9]+")
_IN_TIME = "hparams.yml"
_ORDER = {path: number for number, path in enumerate(CONFIG_FILES)}


class ConfigFiles:
    """The configuration files that a search has found, and a cache of their content.

    Attributes:
        generation: increases whenever the files are listed again, after which their content may
            have changed.
        contents: the cache, by path. The reader defines what it contains.
    """

    __slots__ = ("_above", "_names", "_tops", "contents", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self.contents: dict[str, Any] = {}
        self._names: dict[str, list[str]] = {}
        self._tops: frozenset[str] = frozenset()
        self._above: dict[str, list[Near]] = {}

    def update(self, listed: Mapping[str, Iterable[str]], tops: Iterable[str]) -> None:
        """Replace the list: names by folder, and the topmost folders to search."""
        names: dict[str, list[str]] = {}
        for folder, own in listed.items():
            above, _, last = folder.rpartition(os.sep)
            if last == HYDRA_FOLDER:
                # A link could show a configuration from outside the logdir.
                if os.path.islink(folder):
                    continue
                paths = [f"{last}/{name}" for name in own]
                names.setdefault(above, []).extend(path for path in paths if path in _ORDER)
                continue
            names.setdefault(folder, []).extend(name for name in own if name in _ORDER)
            if _TIME.fullmatch(last) and _IN_TIME in own and not os.path.islink(folder):
                names.setdefault(above, []).append(f"{last}/{_IN_TIME}")
        for own in names.values():
            if len(own) > 1:
                own.sort(key=_rank)
        self._names = names
        self._tops = frozenset(tops)
        self._above = {}
        self.contents = {
            path: content for path, content in self.contents.items() if self._is_listed(path)
        }
        self.generation += 1

    def expire(self) -> None:
        """Check the content of all files again: a file can change while the list does not."""
        self.generation += 1

    @property
    def is_empty(self) -> bool:
        """Whether there are no configuration files anywhere."""
        return not self._names

    def _is_listed(self, path: str) -> bool:
        folder, name = os.path.split(path)
        above, last = os.path.split(folder)
        return name in self._names.get(folder, ()) or f"{last}/{name}" in self._names.get(above, ())

    def near(self, folder: str) -> list[Near]:
        """Return the files for a run in this folder, in order of precedence.

        Those in the run's folder come first, then those in each folder above it, up to the
        logdir.
        """
        if not self._names:
            return []
        parent = folder.rpartition(os.sep)[0] or os.sep
        above = [] if folder in self._tops else self._find_above(parent)
        own = self._names.get(folder)
        return above if own is None else [(f"{folder}{os.sep}{name}", name) for name in own] + above

    def _find_above(self, folder: str) -> list[Near]:
        """Return the files in a folder and those above it, with paths relative to a subfolder."""
        found = self._above.get(folder)
        if found is None:
            found = []
            pending: list[Near] = []
            path, prefix = folder, "../"
            while True:
                pending += [
                    (f"{path}{os.sep}{name}", prefix + name) for name in self._names.get(path, ())
                ]
                # Skip these if the logdir is not above: a run given by its own path can be outside.
                if path in self._tops:
                    found += pending
                    pending = []
                parent = os.path.dirname(path)
                if parent == path:
                    break
                path, prefix = parent, f"../{prefix}"
            self._above[folder] = found
        return found


def _rank(path: str) -> tuple[int, str]:
    if path in _ORDER:
        return _ORDER[path], ""
    # The latest time-stamped folder comes first.
    folder = path.partition("/")[0]
    return _ORDER[_IN_TIME], "".join(chr(0x10FFFF - ord(char)) for char in folder)
