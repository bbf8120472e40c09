"""Maps URLs to paths in the cache, where their copies are or would be."""

from __future__ import annotations

import os
import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING

from runfold._conventions import PACK_PART
from runfold._humanize import escape
from runfold._storage.listed_tree import ListedTree
from runfold._storage.url import is_url, join_url, local_path, show_url
from runfold.errors import CannotStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._storage.mirror import Mirror, Show
    from runfold._storage.remote_files import JoinedFiles, RemoteFiles

    StrPath = str | os.PathLike[str]


class Places:
    """Paths and URLs. `paths` has the local path of each; `sync` brings the URLs up to date.

    Event files are read in place, through `opener`, unless `is_copied` is set.
    """

    def __init__(self, given: tuple[StrPath, ...], is_copied: bool = False) -> None:
        """Map URLs to local paths; other paths are kept. Raises CannotStore for an invalid URL."""
        self.is_copied = is_copied
        self.mirrors: list[Mirror] = []
        self.paths = tuple(map(self._locate, given))

    def _locate(self, path: StrPath) -> StrPath:
        if not is_url(path):
            return path
        url = os.fsdecode(path)
        local = local_path(url)
        if local is not None:
            return local
        self.mirrors.append(open_mirror(url))
        return self.mirrors[-1].path

    def sync(self, show: Show | None = None) -> bool:
        """Fetch the URLs; return whether there was new data. Raises what `Mirror.sync` raises."""
        changed = [mirror.sync(show, self.is_copied) for mirror in self.mirrors]
        return any(changed)

    def copy(self, show: Show | None = None) -> None:
        """Copy all files of the URLs, for readers that need them on disk."""
        for mirror in self.mirrors:
            mirror.sync(show, is_copied=True)

    def trees(self) -> list[ListedTree]:
        """Return the folders of URLs that are read in place, as they were listed last."""
        if self.is_copied:
            return []
        return [
            ListedTree(mirror.root, mirror.names)
            for mirror in self.mirrors
            if mirror.names is not None
        ]

    def listings(self) -> list[frozenset[str]] | None:
        """Return the names of all files if a search depends on nothing else, otherwise None.

        As long as the lists are the same objects, a search finds the same. None if there are
        other paths than URLs that are read in place, or packs, which are searched on disk.
        """
        found = [mirror.names for mirror in self.mirrors]
        if self.is_copied or len(found) < len(self.paths):
            return None
        lists = [names for names in found if names is not None and not has_packs(names)]
        return lists if len(lists) == len(found) else None

    @cached_property
    def opener(self) -> RemoteFiles | JoinedFiles | None:
        """The event files of URLs that are read in place; None if there are none."""
        if self.is_copied or not self.mirrors:
            return None
        from runfold._storage.remote_files import JoinedFiles

        files = [mirror.files for mirror in self.mirrors]
        return files[0] if len(files) == 1 else JoinedFiles(files)

    def outages(self) -> list[tuple[str, str]]:
        """Return the URLs whose event files could not be read, with the reasons."""
        return [
            (mirror.url, mirror.files.trouble) for mirror in self.mirrors if mirror.files.trouble
        ]

    def try_again(self) -> None:
        """Request event files again although a store could not be reached earlier."""
        for mirror in self.mirrors:
            mirror.files.try_again()

    def troubles(self) -> list[tuple[str, str]]:
        """Return the URLs that could not be reached last time, with the reasons."""
        return [(mirror.url, mirror.trouble) for mirror in self.mirrors if mirror.trouble]


def locate_run(path: StrPath) -> str:
    """Return the local path of a run, and update its side files if it is a URL.

    Raises what `Mirror.sync` raises.
    """
    places = Places((path,))
    for mirror in places.mirrors:
        mirror.sync(needs_events=False)
    return os.fsdecode(places.paths[0])


def is_folder(path: str) -> bool:
    """Whether a path is a folder, on disk or in a store that was opened by this process."""
    mirror = _mirror_of(path)
    names = None if mirror is None else mirror.names
    if mirror is None or names is None:
        return os.path.isdir(path)
    return os.path.isdir(path) or ListedTree(mirror.root, names).is_folder(path)


def copy_files(*paths: StrPath) -> tuple[StrPath, ...]:
    """Copy the URLs and return all arguments as local paths. Raises what `Mirror.sync` raises."""
    places = Places(paths, is_copied=True)
    places.sync()
    return places.paths


def has_packs(names: Iterable[str]) -> bool:
    """Whether any of the files may be a pack. The empty name is that of a single file."""
    suffix = os.path.splitext(PACK_PART)[1]
    return any(not name or name.endswith(suffix) for name in names)


# The copies of this process: a URL that is opened twice is fetched once.
_mirrors: dict[str, Mirror] = {}
_guard = threading.Lock()


def open_mirror(url: str) -> Mirror:
    """Return this process's copy of a URL, without fetching it. Raises CannotStore."""
    from runfold._storage.mirror import Mirror

    with _guard:
        mirror = Mirror(url)
        return _mirrors.setdefault(f"{url}\0{mirror.path}", mirror)


def find_origin(path: str) -> str:
    """Return the URL if a path is a copy made by this process, else the path itself."""
    if is_url(path):
        return path
    absolute = os.path.abspath(path)
    mirror = _mirror_of(absolute)
    if mirror is None:
        return path
    return join_url(mirror.store.url, absolute[len(mirror.root) :].strip(os.sep))


def refresh_copy(path: str, seconds: float = 1.0) -> bool:
    """Update the copy that contains a path, unless it was updated in the last `seconds`.

    Return whether an update was attempted; False for a path that is not in a copy.
    """
    mirror = _mirror_of(os.path.abspath(path))
    if mirror is None or time.time() - mirror.listed < seconds:
        return False
    mirror.sync(needs_events=False)
    return True


def fetch_file(path: StrPath) -> str:
    """Fetch a file of a run that was opened by URL, such as an artifact; return its path.

    Other paths are returned unchanged. Raises CannotStore if the file cannot be fetched.

    Examples:
        >>> [model] = rf.open("s3://bucket/runs")["seed-1"].artifacts
        >>> torch.load(rf.fetch_file(model.path))
    """
    absolute = os.path.abspath(os.fsdecode(path))
    mirror = _mirror_of(absolute)
    if mirror is None:
        return os.fsdecode(path)
    try:
        mirror.fetch_file(absolute)
    except Exception as error:
        from runfold._storage.store import explain

        raise CannotStore(
            f"{show_url(find_origin(absolute))}: {escape(explain(error))}. Nothing was fetched."
        ) from None
    return absolute


def _mirror_of(path: str) -> Mirror | None:
    for mirror in list(_mirrors.values()):
        if path == mirror.root or path.startswith(mirror.root + os.sep):
            return mirror
    return None
