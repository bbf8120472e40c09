"""Finds the runs below a path and their event files.

As in TensorBoard, a run is a folder with event files: regular files with `tfevents` in
their name. A run's name is its path below the logdir, or `.` for the logdir itself.
With several paths, names are relative to the paths' common folder. For this purpose, a
file is represented by its folder, and a glob by the folder before its first `*`, `?` or `[`:

    discover("runs")                   seed-1, seed-2
    discover("runs/seed-1")            .
    discover("runs/seed-1", "runs/x")  seed-1, x
    discover("a/runs", "b/runs")       a/runs/seed-1, b/runs/seed-1
    discover("runs/*/seed-?")          lr-1/seed-1, lr-1/seed-2, lr-2/seed-1

Four rules differ from TensorBoard's. Each real folder is listed once, under its own path
rather than a link's, because a run that is counted twice distorts every mean; links that
point outside the logdir are followed within the limits of `link_rules`. A folder with only
a projector configuration is also a run, so that its embeddings are found. Pipes, sockets
and devices are never opened. A folder `.runfold-*.tmp`, left half-written by an edit that
was killed, is not a run.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runfold._conventions import (
    CONFIG_NAMES,
    EVENT_FILE_MARK,
    HYDRA_FOLDER,
    PROJECTOR_CONFIG,
    is_event_file,
    is_run_file,
    is_temporary,
)
from runfold._events.problems import Code, Problem
from runfold._humanize import file_order, free_name, natural_key
from runfold._logdir.link_rules import (
    LIMITS,
    MOST_LEVELS,
    MOST_PER_LINK,
    MOST_THROUGH_LINKS,
    RESERVED_NAMES,
    LinkRule,
)
from runfold._logdir.log_paths import MAX_DEPTH, MISSING, locate, reason

if TYPE_CHECKING:
    from runfold._events.opened_file import Opener
    from runfold._logdir.tree_state import TreeState
    from runfold._storage.listed_tree import ListedTree, Listing
    from runfold._storage.local_paths import Places

_TRANSIENT = (errno.ESTALE, errno.EINTR, errno.EIO)
_TRIES = 3


@dataclass(slots=True)
class FoundRun:
    """A run on disk: its event files in reading order, and its projector configuration."""

    name: str
    path: str
    files: list[str] = field(default_factory=list)
    config: str | None = None
    # Opens the event files if they are not on disk.
    opener: Opener | None = None


@dataclass(slots=True)
class Discovery:
    """The runs by name, in TensorBoard's order, and the problems found.

    Names are relative to `base`. `config_files` are the names of possible configuration files
    by folder, and `tops` are the folders that the paths refer to.
    """

    runs: dict[str, FoundRun]
    problems: list[Problem]
    base: str = ""
    config_files: dict[str, list[str]] = field(default_factory=dict)
    tops: list[str] = field(default_factory=list)


def discover(
    *paths: str | os.PathLike[str],
    state: TreeState | None = None,
    places: Places | None = None,
) -> Discovery:
    """Return the runs at these paths: logdirs, run folders, event files or globs.

    Raises LogdirNotFound for a path that does not exist; a folder without event
    files has no runs. Entries that cannot be listed, or must not be opened, become
    problems, and the search continues. If `state` is given, the search records in it what a
    later search depends on. If `places` are given, the paths are theirs, and the folders of URLs
    that are read in place are not searched on disk.
    """
    if not paths:
        raise ValueError("discover() needs at least one path.")
    problems: list[Problem] = []
    trees = [] if places is None else places.trees()
    locations = [locate(os.fsdecode(path), problems, trees) for path in paths]
    base = os.path.commonpath([location.base for location in locations])
    if state is not None:
        state.begin(paths, locations)
    rule = LinkRule(location.base for location in locations)
    walk = _Walk(base, rule, problems, state, trees)
    for location in locations:
        for directory in location.directories:
            walk.add_tree(directory)
        walk.links += [(link, 0) for link in location.links]
    walk.follow_links()
    walk.add_files([file for location in locations for file in location.files])
    tops = [location.base for location in locations]
    if any(location.directories != [location.base] for location in locations):
        walk.list_config_files(tops)
    problems.sort(key=lambda problem: (problem.file, problem.code))
    if state is not None:
        state.end(problems)
    runs = walk.named_runs()
    opener = None if places is None else places.opener
    if opener is not None:
        for run in runs.values():
            if run.files and opener.covers(run.files[0]):
                run.opener = opener
    return Discovery(runs, problems, base, walk.config_files, tops)


def list_folder(path: str, rule: LinkRule) -> Listing:
    """Return the entries of a folder that matter to a search.

    These are the paths of real folders, of unfinished ones, of regular and special event files,
    and of links; the names of configuration files; and the paths of folders that are skipped if
    they are reserved.
    """
    directories: list[str] = []
    unfinished: list[str] = []
    regular: list[str] = []
    special: list[str] = []
    links: list[str] = []
    configs: list[str] = []
    reserved: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name in RESERVED_NAMES:
                    reserved.append(entry.path)
                    if rule.is_left_out(entry.path):
                        continue
                (unfinished if is_temporary(name) else directories).append(entry.path)
                if name in CONFIG_NAMES:
                    configs.append(name)
            elif entry.is_symlink():
                links.append(entry.path)
                if name in CONFIG_NAMES:
                    configs.append(name)
            elif EVENT_FILE_MARK in name or name == PROJECTOR_CONFIG:
                is_regular = entry.is_file(follow_symlinks=False)
                (regular if is_regular else special).append(entry.path)
            elif name in CONFIG_NAMES:
                configs.append(name)
    return directories, unfinished, regular, special, links, configs, reserved


_Identity = tuple[int, int] | str  # device and inode


class _Walk:
    """Collects runs: first from real folders, then from the targets of links."""

    def __init__(
        self,
        base: str,
        rule: LinkRule,
        problems: list[Problem],
        state: TreeState | None,
        trees: Sequence[ListedTree],
    ) -> None:
        self.state = state
        self.trees = trees
        self.prefix = os.path.join(base, "")
        self.rule = rule
        self.problems = problems
        self.runs: dict[str, FoundRun] = {}  # by path
        # Links to folders, each with its level: its depth below the first link in the logdir.
        self.links: list[tuple[str, int]] = []
        self.link_level = 0
        self.visited: list[str] = []
        self.config_files: dict[str, list[str]] = {}
        # The path under which each real folder was visited. A single tree without links
        # cannot contain itself, so the stat calls are delayed until they are needed.
        self.seen: dict[_Identity, str] | None = None

    def add_tree(self, root: str) -> None:
        """Visit a folder and all real folders below it."""
        for path in self._search(root, MAX_DEPTH):
            self._note(Code.TOO_DEEP, path)

    def follow_links(self) -> None:
        """Visit the targets of links, unless they have been visited already."""
        most = len(self.visited) + MOST_THROUGH_LINKS
        while self.links:
            # Sorted, so that the same link always wins if two point to one folder.
            links, self.links = sorted(self.links, key=lambda link: natural_key(link[0])), []
            for link, level in links:
                if _identity(link) in self._index():
                    if _points_up(link):
                        self._note(Code.SYMLINK_LOOP, link)
                elif refusal := self.rule.refusal(link):
                    self._note(Code.LINK_NOT_FOLLOWED, link, refusal)
                elif len(self.visited) >= most:
                    # One problem for all further links, because there can be any number of them.
                    self._note(Code.LINK_CUT_SHORT, link, LIMITS)
                    return
                elif self._search(
                    link, MOST_LEVELS, level, min(most, len(self.visited) + MOST_PER_LINK)
                ):
                    self._note(Code.LINK_CUT_SHORT, link, LIMITS)

    def _search(self, top: str, deepest: int, level: int = 0, most: int | None = None) -> list[str]:
        """Visit a folder and all real folders below it; return those beyond the limits.

        `level` is the level of `top`, and `most` limits the total number of visited
        folders. `most` is None if `top` was not reached through a link.
        """
        if self.visited:
            self._index()
        skipped: list[str] = []
        pending = [(top, level)]
        while pending:
            path, level = pending.pop()
            identity = "" if self.seen is None else _identity(path)
            if self.seen is not None and identity in self.seen:
                continue
            if level > deepest or (most is not None and len(self.visited) >= most):
                skipped.append(path)
                continue
            if self.seen is not None:
                self.seen[identity] = path
            self.visited.append(path)
            if self.state is not None:
                self.state.add_folder(path)
            self.link_level = 0 if most is None else level + 1
            if folders := self._visit(path):
                pending += [(below, level + 1) for below in folders]
        return skipped

    def add_files(self, paths: list[str]) -> None:
        """Add event files that were given by their own paths."""
        by_directory: dict[str, set[str]] = {}
        for path in paths:
            directory, name = os.path.split(path)
            by_directory.setdefault(directory, set()).add(name)
        for directory, names in by_directory.items():
            # The folder may have been visited under another path.
            known = self._index().get(_identity(directory), directory)
            run = self._run(known)
            run.files = sorted(
                {*run.files, *(os.path.join(known, name) for name in names)}, key=file_order
            )

    def list_config_files(self, tops: Iterable[str]) -> None:
        """List configuration files in folders that were not visited.

        These are the folders of event files that were given by their own paths, and the folders
        between a glob's first wildcard and the runs.
        """
        visited, ends = set(self.visited), set(tops)
        passed: set[str] = set()
        for path in self.runs:
            folder = path
            while folder not in passed:
                passed.add(folder)
                for inner in (folder, os.path.join(folder, HYDRA_FOLDER)):
                    if inner in visited:
                        continue
                    with contextlib.suppress(OSError):
                        names = [name for name in self._names(inner) if name in CONFIG_NAMES]
                        if names:
                            self.config_files[inner] = names
                if folder in ends:
                    break
                folder = os.path.dirname(folder)

    def _names(self, folder: str) -> list[str]:
        for tree in self.trees:
            if tree.is_folder(folder):
                return tree.names(folder)
        return os.listdir(folder)

    def named_runs(self) -> dict[str, FoundRun]:
        """Return the runs by name."""
        return name_runs(self.runs.values())

    def _visit(self, path: str) -> list[str]:
        """Collect the files in a folder and return the real folders in it."""
        for attempt in range(1, _TRIES + 1):
            try:
                return self._scan(path)
            except (FileNotFoundError, NotADirectoryError):
                self._note(Code.DIRECTORY_VANISHED, path)
                break
            except OSError as error:
                if attempt == _TRIES or error.errno not in _TRANSIENT:
                    self._note(Code.UNREADABLE_DIRECTORY, path, reason(error))
                    break
        return []

    def _scan(self, path: str) -> list[str]:
        listing = self._list(path)
        directories, unfinished, regular, special, links, configs, reserved = listing
        if configs:
            self.config_files[path] = configs
        if self.state is not None:
            self.state.add_listing(path, listing)
            for place in links + reserved:
                self.state.add_place(place)
        # Record these only after the whole folder is listed, because a failed listing is retried.
        for link in links:
            self._take_link(link, regular, special)
        for odd in special:
            self._note(Code.SPECIAL_FILE, odd)
        for folder in unfinished:
            self._note(Code.UNFINISHED_FOLDER, folder)
        if regular:
            files = list(filter(is_event_file, regular))
            if len(files) > 1:
                files.sort(key=file_order)
            run = self._run(path, files)
            if len(files) < len(regular):
                config = os.path.join(path, PROJECTOR_CONFIG)
                run.config = config if config in regular else None
        return directories

    def _list(self, path: str) -> Listing:
        for tree in self.trees:
            if tree.is_folder(path):
                return tree.list_folder(path)
        return list_folder(path, self.rule)

    def _take_link(self, path: str, regular: list[str], special: list[str]) -> None:
        name = os.path.basename(path)
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            if error.errno == errno.ELOOP:
                self._note(Code.SYMLINK_LOOP, path)
            elif isinstance(error, PermissionError):
                self._note(Code.PERMISSION_DENIED, path)
            elif error.errno not in MISSING:
                self._note(Code.READ_ERROR, path, reason(error))
            elif _is_ours(name):
                self._note(Code.DANGLING_LINK, path)
            return
        if stat.S_ISDIR(mode):
            self.links.append((path, self.link_level))
        elif _is_ours(name):
            (regular if stat.S_ISREG(mode) else special).append(path)

    def _run(self, path: str, files: list[str] | None = None) -> FoundRun:
        """Return the run in a folder; `files` replaces its event files."""
        run = self.runs.get(path)
        if run is None:
            name = path[len(self.prefix) :] or os.curdir
            if os.sep != "/":
                name = name.replace(os.sep, "/")
            name = name if name.isascii() else _as_text(name)
            run = self.runs[path] = FoundRun(name, path, [] if files is None else files)
        elif files is not None:
            run.files = files
        return run

    def _index(self) -> dict[_Identity, str]:
        if self.seen is None:
            self.seen = {_identity(path): path for path in self.visited}
        return self.seen

    def _note(self, code: Code, path: str, detail: str = "") -> None:
        self.problems.append(Problem.of(code, path, detail=detail))


def name_runs(runs: Iterable[FoundRun]) -> dict[str, FoundRun]:
    """Return the runs by name, in order; names that look alike once escaped are numbered."""
    named: dict[str, FoundRun] = {}
    for run in sorted(runs, key=lambda run: natural_key(run.name)):
        if run.name in named:
            run.name = free_name(run.name, named.__contains__, "{} ({})")
        named[run.name] = run
    return named


def _is_ours(name: str) -> bool:
    return is_run_file(name) or name == PROJECTOR_CONFIG


def _as_text(name: str) -> str:
    """Return the name as valid text, with bytes that are not UTF-8 escaped as `\\xe9`."""
    if not any("\udc80" <= char <= "\udcff" for char in name):
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _points_up(link: str) -> bool:
    """Return whether a link points to a folder that contains it."""
    target = os.path.join(os.path.realpath(link), "")
    parent = os.path.join(os.path.realpath(os.path.dirname(link)), "")
    return parent.startswith(target)


def _identity(path: str) -> _Identity:
    try:
        status = os.stat(path)
    except OSError:
        return path  # listing it also fails, which is reported
    return status.st_dev, status.st_ino
