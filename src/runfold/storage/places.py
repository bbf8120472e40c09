"""Paths as people give them, on this machine: a URL stands for its copy in the cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold.storage.address import is_url, local_path

if TYPE_CHECKING:
    from runfold.storage.mirror import Mirror, Show

    StrPath = str | os.PathLike[str]


class Places:
    """Some paths and URLs: `paths` has them all as paths, after `sync` up to date."""

    def __init__(self, given: tuple[StrPath, ...]) -> None:
        """Take paths as they are. Raises CannotStore for a URL that cannot be one."""
        self.mirrors: list[Mirror] = []
        self.paths = tuple(map(self._locate, given))

    def _locate(self, given: StrPath) -> StrPath:
        if not is_url(given):
            return given
        url = os.fsdecode(given)
        path = local_path(url)
        if path is not None:
            return path
        from runfold.storage.mirror import open_mirror

        self.mirrors.append(open_mirror(url))
        return self.mirrors[-1].path

    def sync(self, show: Show | None = None) -> bool:
        """Fetch what is new of the URLs; whether there was any. Raises as `Mirror.sync` does."""
        changed = [mirror.sync(show) for mirror in self.mirrors]
        return any(changed)

    def troubles(self) -> list[tuple[str, str]]:
        """The URLs that could not be reached the last time, and why."""
        return [(mirror.url, mirror.trouble) for mirror in self.mirrors if mirror.trouble]


def fetch(*given: StrPath) -> tuple[StrPath, ...]:
    """Some paths and URLs, all as paths on this machine, up to date. Raises as `Mirror.sync`."""
    places = Places(given)
    places.sync()
    return places.paths
