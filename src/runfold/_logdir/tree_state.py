"""Tells whether a search would find the same runs again, without listing any folder.

A file system changes the times of a folder whenever an entry is added, removed or renamed, but
not when a file in it grows. So one `stat` call per folder replaces the search when the folders'
times are the same. This holds only on Linux for the local file systems in `_RELIABLE`, and for
paths that are folders; otherwise, a `TreeState` never counts as current.

Programs that replace files in a run's folder, such as Runfold's own heartbeat, change its times
without changing what a search finds there. The entries of a folder that has changed once
are therefore remembered, and compared with a new listing when its times have changed again.
"""

from __future__ import annotations

import os
import stat
import time
from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING, Any

from runfold._events.file_state import is_settled
from runfold._events.problems import Code
from runfold._logdir.discover import list_folder
from runfold._logdir.link_rules import LinkRule
from runfold._logdir.log_paths import Place, locate
from runfold._state import cache_folder, state_folder
from runfold._system import file_system_of
from runfold.errors import LogdirNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._events.problems import Problem
    from runfold._storage.listed_tree import Listing

# File systems that only this machine changes, and that keep exact times of folders.
_RELIABLE = frozenset(
    ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs")
)

# Problems that depend only on what is recorded here. A folder with any other problem, such as a
# disk error, may be readable next time although its times are the same.
_REPEATABLE = frozenset(
    (
        *(Code.DANGLING_LINK, Code.LINK_CUT_SHORT, Code.LINK_NOT_FOLLOWED, Code.SPECIAL_FILE),
        *(Code.SYMLINK_LOOP, Code.TOO_DEEP, Code.UNFINISHED_FOLDER),
    )
)

# Mode, inode, device, and the times of the last change to the content and to the folder itself.
# Packed, because there are as many as folders.
_STATE = Struct("=IQQqq")
_pack = _STATE.pack
# Equal to no state.
_UNKNOWN = b""
_NO_STATE = bytes(_STATE.size)

# What decides how a link or a reserved folder is treated.
_PlaceState = tuple[int, int, int, str]

# What `TreeState.save` returns: facts that JSON can store, the folders, and their states.
SavedTree = tuple[dict[str, Any], list[str], bytes]


class TreeState:
    """The state of all folders and links that a search depends on.

    It is recorded during a search: each state before the folder is listed, so that a later change
    is noticed even if it happens during the search.
    """

    def __init__(self, previous: TreeState | None = None) -> None:
        self._now = time.time_ns()
        self._folders: list[str] = []
        self._states: list[bytes] = []
        self._places: dict[str, _PlaceState] = {}
        # A digest of the entries of each folder that has changed since an earlier search.
        self._listings: dict[str, bytes] = {}
        self._devices: dict[int, str] = {}
        self._before: dict[str, bytes] = {}
        self._listed_before: dict[str, bytes] = {}
        if previous is not None:
            self._before = dict(zip(previous._folders, previous._states, strict=True))
            self._listed_before = previous._listings
        self._paths: Sequence[str | os.PathLike[str]] = ()
        self._locations: list[Place] = []
        self._homes: tuple[str, str] = "", ""
        # Whether all folders are on reliable file systems.
        self.is_local = False
        self._is_complete = False

    def begin(self, paths: Sequence[str | os.PathLike[str]], locations: list[Place]) -> None:
        """Record what the paths given by the user refer to."""
        self._paths, self._locations = paths, locations
        self._homes = state_folder(), cache_folder()
        for location in locations:
            self.add_place(location.base)

    def add_folder(self, path: str) -> None:
        """Record the state of a folder that is about to be listed."""
        try:
            status = os.stat(path)
        except OSError:
            state = _UNKNOWN
        else:
            state = _state_of(status, self._now)
            self._devices.setdefault(status.st_dev, path)
        self._folders.append(path)
        self._states.append(state)

    def add_listing(self, path: str, listing: Listing) -> None:
        """Record the entries of the folder added last, if it changes from time to time."""
        state = self._states[-1]
        if (
            state == _UNKNOWN
            or path in self._listed_before
            or self._before.get(path, state) != state
        ):
            self._listings[path] = _digest(listing)

    def add_place(self, path: str) -> None:
        """Record where a link or a reserved folder leads."""
        self._places[path] = state = _place_state(path)
        self._devices.setdefault(state[1], path)

    def end(self, problems: list[Problem]) -> None:
        """Complete the record after a search that found these problems."""
        self._before, self._listed_before = {}, {}
        # The times of a file on a remote disk can be out of date, so these are also needed
        # to skip unchanged files.
        self.is_local = all(is_reliable(path) for device, path in self._devices.items() if device)
        self._is_complete = (
            self.is_local
            and all(problem.code in _REPEATABLE for problem in problems)
            and all(location.directories == [location.base] for location in self._locations)
        )

    def save(self) -> SavedTree | None:
        """Return the record for a later process, or None if it could not be used there."""
        if not self._is_complete:
            return None
        states = b"".join([state or _NO_STATE for state in self._states])
        facts = {
            "bases": [location.base for location in self._locations],
            "places": self._places,
            "listings": {path: digest.hex() for path, digest in self._listings.items()},
            "homes": self._homes,
        }
        return facts, self._folders, states

    @classmethod
    def restore(cls, paths: Sequence[str | os.PathLike[str]], saved: SavedTree) -> TreeState:
        """Return the record of an earlier process that searched the same paths.

        Raises ValueError, KeyError or TypeError if it is invalid.
        """
        facts, folders, states = saved
        size = _STATE.size
        tree = cls()
        tree._paths = paths
        tree._locations = [Place(base, [base]) for base in facts["bases"]]
        tree._places = {
            path: (kind, device, inode, real)
            for path, (kind, device, inode, real) in facts["places"].items()
        }
        tree._listings = {path: bytes.fromhex(digest) for path, digest in facts["listings"].items()}
        state_home, cache_home = facts["homes"]
        tree._homes = state_home, cache_home
        tree._folders = folders
        tree._states = [states[start : start + size] for start in range(0, len(states), size)]
        if len(tree._states) != len(folders):
            raise ValueError("each folder needs one state")
        tree._states = [_UNKNOWN if state == _NO_STATE else state for state in tree._states]
        tree.is_local = tree._is_complete = True
        return tree

    def is_current(self) -> bool:
        """Return whether a search would find the same as the recorded one."""
        if not self._is_complete or (state_folder(), cache_folder()) != self._homes:
            return False
        problems: list[Problem] = []
        try:
            found = [locate(os.fsdecode(path), problems) for path in self._paths]
        except LogdirNotFound:
            return False
        if found != self._locations or problems:
            return False
        now = time.time_ns()
        for path, known in self._places.items():
            if _place_state(path) != known:
                return False
        changed: dict[int, bytes] = {}
        folders, get, pack = self._folders, os.stat, _pack
        try:
            for number, known_state in enumerate(self._states):
                # Inlined `_state_of`: this loop is most of an idle refresh.
                status = get(folders[number])
                state = pack(
                    status.st_mode,
                    status.st_ino,
                    status.st_dev,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                )
                if state != known_state:
                    changed[number] = _state_of(status, now)
                    if folders[number] not in self._listings:
                        return False
            rule = LinkRule(location.base for location in found)
            for number in changed:
                path = folders[number]
                if _digest(list_folder(path, rule)) != self._listings[path]:
                    return False
        except OSError:
            return False
        for number, state in changed.items():
            self._states[number] = state
        return True


def is_reliable(path: str) -> bool:
    """Return whether a path is on a file system whose times show every change."""
    return file_system_of(path) in _RELIABLE


def _state_of(status: os.stat_result, now: int) -> bytes:
    # A change in the same tick of the clock would leave the same times.
    if not is_settled(status, now):
        return _UNKNOWN
    return _pack(
        status.st_mode, status.st_ino, status.st_dev, status.st_mtime_ns, status.st_ctime_ns
    )


def _place_state(path: str) -> _PlaceState:
    """Return the type, device and inode of what a path leads to, and the real path of a folder."""
    try:
        status = os.stat(path)
    except OSError as error:
        return -(error.errno or 1), 0, 0, ""
    kind = stat.S_IFMT(status.st_mode)
    if stat.S_ISDIR(kind):
        return kind, status.st_dev, status.st_ino, os.path.realpath(path)
    return kind, status.st_dev, 0, ""


def _digest(listing: Listing) -> bytes:
    text = repr([sorted(part) for part in listing])
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()
