"""A folder of links that shows TensorBoard exactly the selected runs.

Each run is a real folder with links to its own event files. A link to the run's
folder would also show runs below it that were not selected. TensorBoard's fast
loader supports such a tree, but not `--logdir_spec`.

Plugin files and the projector's configuration are linked only if they are in the
run's folder after all links are resolved. Event files can be links to anywhere:
TensorBoard shows only their events.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._conventions import PLUGINS, PROJECTOR_CONFIG, is_run_file
from runfold._files import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runfold._logdir.discover import FoundRun

# The longest file name that common file systems allow, in bytes.
_LONGEST = 255
# Profiles are folders of a few dozen files. Anything far larger is not a profile.
_MOST_ASSETS = 10_000


def update_tree(folder: str, runs: Mapping[str, FoundRun]) -> bool:
    """Make the tree show these runs and no others; return whether anything changed.

    Links are added and removed one at a time, those to a run's event files in the order
    in which the files were created. A loader that reads the tree meanwhile therefore
    never sees a later file without an earlier one. Otherwise the content of the earlier
    file would stay hidden. Only links and empty folders are ever removed. Raises OSError
    if the tree cannot be written.
    """
    links: dict[str, str] = {}
    for name, run in runs.items():
        for below, target in _links_of(run):
            links.setdefault(os.path.join(tree_path(name), below), target)
    existing = dict(_read_links(folder))
    removed = existing.keys() - links.keys()
    for link in removed:
        os.unlink(os.path.join(folder, link))
    if removed:
        _remove_empty(folder)
    new = [link for link, target in links.items() if existing.get(link) != target]
    for link in new:
        _make_link(os.path.join(folder, link), links[link])
    return bool(removed or new)


def tree_path(name: str) -> str:
    """Return the path of a run in the tree: its name, shortened if a disk could not store it."""
    return os.path.normpath(os.path.join(*map(_fit, name.split("/"))))


def _fit(part: str) -> str:
    # An escape such as `\xe9` takes four bytes for one invalid byte.
    data = os.fsencode(part)
    if len(data) <= _LONGEST:
        return part
    mark = hashlib.sha256(data).hexdigest()[:8]
    return f"{data[: _LONGEST - 12].decode('utf-8', 'ignore')}…{mark}"


# The links of a run


def _links_of(run: FoundRun) -> Iterator[tuple[str, str]]:
    """Yield each link's path, relative to the run's folder in the tree, and its target."""
    for file in run.files:
        yield os.path.basename(file), file
    # The profiler's marker file identifies the run for its plugin, but has no events.
    if not run.files:
        yield from _marks(run.path)
    yield from _plugin_files(run.path)
    if run.config is not None and own_file(run.path, PROJECTOR_CONFIG):
        yield PROJECTOR_CONFIG, run.config


def _marks(path: str) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if is_run_file(entry.name) and entry.is_file():
                    yield entry.name, entry.path
    except OSError:  # deleted in the meantime
        return


def _plugin_files(path: str) -> Iterator[tuple[str, str]]:
    """Yield the files of `plugins/` one by one: a link to this folder would show the runs in it."""
    folder = os.path.join(path, PLUGINS)
    if not is_inside(folder, path):
        return
    remaining = _MOST_ASSETS
    for top, _, names in os.walk(folder):
        for name in names:
            if is_run_file(name):
                continue
            remaining -= 1
            if remaining < 0:
                return
            below = os.path.relpath(os.path.join(top, name), path)
            if own_file(path, below):
                yield below, os.path.join(top, name)


def own_file(folder: str, path: str) -> str | None:
    """Return the real path of a regular file in a run's folder, or None for any other path.

    Logs are untrusted. Neither `..` nor a symbolic link may give access to other files
    on this machine, and a pipe would block its reader forever.
    """
    file = os.path.realpath(os.path.join(folder, path))
    return file if is_inside(file, folder) and os.path.isfile(file) else None


@dataclass(frozen=True, slots=True)
class Home:
    """A run's folder as it was found: path, real path, device and inode."""

    path: str
    real: str
    identity: tuple[int, int]

    @classmethod
    def of(cls, path: str) -> Home:
        """Return the current folder at a path. Raises OSError."""
        real = os.path.realpath(path)
        status = os.stat(real)
        return cls(path, real, (status.st_dev, status.st_ino))

    def find(self, path: str) -> str | None:
        """Return the real path of a regular file in the folder, or None for any other path.

        The result is also None if another folder, or a link to one, has replaced this one.
        """
        try:
            is_same = Home.of(self.path) == self
        except OSError:
            is_same = False
        return own_file(self.real, path) if is_same else None


def note_homes(folder: str, runs: Mapping[str, FoundRun]) -> dict[str, Home]:
    """Return the folders of runs with a projector's configuration, by its path in the tree."""
    homes: dict[str, Home] = {}
    for name, run in runs.items():
        if run.config is not None:
            with contextlib.suppress(OSError):  # deleted in the meantime
                link = os.path.normpath(os.path.join(folder, tree_path(name), PROJECTOR_CONFIG))
                homes.setdefault(link, Home.of(run.path))
    return homes


# The content of the tree


def _read_links(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the tree's links with their targets."""
    pending = [""]
    while pending:
        below = pending.pop()
        try:
            with os.scandir(os.path.join(folder, below)) as entries:
                for entry in entries:
                    path = os.path.join(below, entry.name)
                    if entry.is_symlink():
                        yield path, os.readlink(entry.path)
                    elif entry.is_dir(follow_symlinks=False):
                        pending.append(path)
        except FileNotFoundError:  # a new tree
            continue


def _make_link(path: str, target: str) -> None:
    try:
        os.symlink(target, path)
    except FileNotFoundError:  # the run's first link
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)
    except FileExistsError:
        # A new link next to the old one atomically replaces it. The new link's name must
        # not look like that of an event file.
        draft = os.path.join(os.path.dirname(path), ".draft")
        os.symlink(target, draft)
        os.replace(draft, path)


def _remove_empty(folder: str) -> None:
    for top, _, _ in os.walk(folder, topdown=False):
        if top != folder:
            try:
                os.rmdir(top)
            except OSError:  # not empty
                continue
