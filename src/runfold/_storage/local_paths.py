"""Paths as people give them, on this machine: a URL stands for its copy in the cache."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from runfold._humanize import escape
from runfold._storage.url import is_url, join_url, local_path, show_url
from runfold.errors import CannotStore

if TYPE_CHECKING:
    from runfold._storage.mirror import Mirror, Show

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


# The copies that this process keeps: what is open twice is fetched once.
_mirrors: dict[str, Mirror] = {}
_guard = threading.Lock()


def open_mirror(url: str) -> Mirror:
    """The copy of a URL that this process keeps; not fetched yet. Raises CannotStore."""
    from runfold._storage.mirror import Mirror

    with _guard:
        mirror = Mirror(url)
        return _mirrors.setdefault(f"{url}\0{mirror.path}", mirror)


def find_origin(path: str) -> str:
    """The URL of what a path is the copy of, in this process; a URL or other path as it is."""
    if is_url(path):
        return path
    whole = os.path.abspath(path)
    mirror = _mirror_of(whole)
    if mirror is None:
        return path
    return join_url(mirror.store.url, whole[len(mirror.root) :].strip(os.sep))


def refresh_copy(path: str, seconds: float = 1.0) -> bool:
    """Bring the copy that a path lies in up to date, unless it was so short a time ago.

    Whether that was tried; never for another path.
    """
    mirror = _mirror_of(os.path.abspath(path))
    if mirror is None or time.time() - mirror.listed < seconds:
        return False
    mirror.sync()
    return True


def fetch_file(path: StrPath) -> str:
    """The path of a file of a run that was opened by its URL, such as an artifact, fetched now.

    A path of another kind is given back as it is. Raises CannotStore.

    Example:
        >>> [model] = rf.open("s3://bucket/runs")["seed-1"].artifacts
        >>> torch.load(fetch_file(model.path))
    """
    whole = os.path.abspath(os.fsdecode(path))
    mirror = _mirror_of(whole)
    if mirror is None:
        return os.fsdecode(path)
    try:
        mirror.fetch_file(whole)
    except Exception as error:
        from runfold._storage.store import explain

        raise CannotStore(
            f"{show_url(find_origin(whole))}: {escape(explain(error))}. Nothing was fetched."
        ) from None
    return whole


def _mirror_of(path: str) -> Mirror | None:
    for mirror in list(_mirrors.values()):
        if path == mirror.root or path.startswith(mirror.root + os.sep):
            return mirror
    return None
