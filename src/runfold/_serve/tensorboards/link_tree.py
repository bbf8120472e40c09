"""A folder of links that shows TensorBoard exactly the chosen runs.

Each run is a real folder, with links to that run's own event files. A link to
the run's folder would do for its files, but would show runs below it that were
not chosen. TensorBoard's fast loader takes such a tree, while it does not take
`--logdir_spec`.

Files of plugins and the projector's configuration are linked only if they are in
the run's folder after all links are resolved. Event files may be links to
anywhere: TensorBoard shows nothing of a file but its events.
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

# The longest name of a file that common file systems take, in bytes.
_LONGEST = 255
# Profiles are folders of some dozen files; a folder that leads on and on is none.
_MOST_ASSETS = 10_000


def update_tree(folder: str, runs: Mapping[str, FoundRun]) -> bool:
    """Make the tree show these runs and no others; whether anything was changed.

    Links come and go one by one, a run's event files in the order in which they
    were begun: a loader that looks in between sees the older files first, never
    a later one alone, which would hide what an earlier one holds. Nothing but
    links and empty folders is ever removed. Raises OSError where the tree cannot
    be written.
    """
    wanted: dict[str, str] = {}
    for name, run in runs.items():
        for below, target in _links_of(run):
            wanted.setdefault(os.path.join(place_of(name), below), target)
    there = dict(_read_links(folder))
    gone = there.keys() - wanted.keys()
    for link in gone:
        os.unlink(os.path.join(folder, link))
    if gone:
        _remove_empty(folder)
    new = [link for link, target in wanted.items() if there.get(link) != target]
    for link in new:
        _make_link(os.path.join(folder, link), wanted[link])
    return bool(gone or new)


def place_of(name: str) -> str:
    """The path in the tree at which a run is shown: its own name, wherever a disk can hold it."""
    return os.path.normpath(os.path.join(*map(_fit, name.split("/"))))


def _fit(part: str) -> str:
    # `\xe9` for a byte that is no letter takes four in place of one.
    data = os.fsencode(part)
    if len(data) <= _LONGEST:
        return part
    mark = hashlib.sha256(data).hexdigest()[:8]
    return f"{data[: _LONGEST - 12].decode('utf-8', 'ignore')}…{mark}"


# What a run shows


def _links_of(run: FoundRun) -> Iterator[tuple[str, str]]:
    """Yield what belongs to a run itself: the path below its folder, and where it is."""
    for file in run.files:
        yield os.path.basename(file), file
    # The profiler's mark, by which its plugin knows the run, is no event file for us.
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
    except OSError:  # gone meanwhile
        return


def _plugin_files(path: str) -> Iterator[tuple[str, str]]:
    """Yield the files of `plugins/` one by one: a link to the folder would show runs in it."""
    folder = os.path.join(path, PLUGINS)
    if not is_inside(folder, path):
        return
    left = _MOST_ASSETS
    for top, _, names in os.walk(folder):
        for name in names:
            if is_run_file(name):
                continue
            left -= 1
            if left < 0:
                return
            below = os.path.relpath(os.path.join(top, name), path)
            if own_file(path, below):
                yield below, os.path.join(top, name)


def own_file(folder: str, path: str) -> str | None:
    """Return the real path of a regular file in a run's folder, or None for any other path.

    A log may come from anyone. Neither `..` nor a symbolic link in it may be a way
    to read other files of this machine, and a pipe would block its reader for ever.
    """
    file = os.path.realpath(os.path.join(folder, path))
    return file if is_inside(file, folder) and os.path.isfile(file) else None


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of a run as it was found: its path, its real path, its device and inode."""

    path: str
    real: str
    identity: tuple[int, int]

    @classmethod
    def of(cls, path: str) -> Home:
        """Return what is there now. Raises OSError."""
        real = os.path.realpath(path)
        status = os.stat(real)
        return cls(path, real, (status.st_dev, status.st_ino))

    def find(self, path: str) -> str | None:
        """Return the real path of a regular file in the folder, or None for any other path.

        Also None where another folder, or a link to one, has replaced it since.
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
            with contextlib.suppress(OSError):  # gone meanwhile
                link = os.path.normpath(os.path.join(folder, place_of(name), PROJECTOR_CONFIG))
                homes.setdefault(link, Home.of(run.path))
    return homes


# What the tree holds


def _read_links(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the links of the tree with their targets."""
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
    except FileNotFoundError:  # the first link of a run
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)
    except FileExistsError:
        # Whole at any moment: made beside it, then put in its place. The name must not look
        # like an event file.
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
