"""Which runs a path holds, and which event files make up each of them.

A run is a directory with event files in it, as for TensorBoard: any regular
file with `tfevents` in its name. Its name is its path below the logdir, and `.`
for the logdir itself. With several paths, names start at the directory that all
of them share; a file stands for its directory, and a glob for the part before
its first `*`, `?` or `[`:

    discover("runs")                   seed-1, seed-2
    discover("runs/seed-1")            .
    discover("runs/seed-1", "runs/x")  seed-1, x
    discover("a/runs", "b/runs")       a/runs/seed-1, b/runs/seed-1
    discover("runs/*/seed-?")          lr-1/seed-1, lr-1/seed-2, lr-2/seed-1

Four rules are ours. Each real directory is listed once, under its own path
rather than a link's, because a run that counts twice spoils every mean; a link
out of the logdir is followed within the limits of `link_rules`. A directory with
nothing but a projector configuration is a run too, so that its embeddings are
found. Pipes, sockets and devices are never opened. A folder `.runfold-*.tmp`,
which a killed edit left half written next to a run, is not a run.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from runfold._conventions import PROJECTOR_CONFIG, is_event_file, is_run_file, is_temporary
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

_TRANSIENT = (errno.ESTALE, errno.EINTR, errno.EIO)
_TRIES = 3


@dataclass(slots=True)
class FoundRun:
    """A run on disk: its event files in reading order, and its projector configuration."""

    name: str
    path: str
    files: list[str] = field(default_factory=list)
    config: str | None = None


@dataclass(slots=True)
class Discovery:
    """The runs by name, in the order in which TensorBoard shows them, and the problems.

    `base` is the folder at which the names start.
    """

    runs: dict[str, FoundRun]
    problems: list[Problem]
    base: str = ""


def discover(*paths: str | os.PathLike[str]) -> Discovery:
    """Return the runs at these paths: logdirs, run directories, event files or globs.

    A path that leads nowhere raises LogdirNotFound; a directory without event
    files gives no runs. What cannot be listed, or must not be opened, becomes a
    problem, and the rest is found all the same.
    """
    if not paths:
        raise ValueError("discover() needs at least one path.")
    problems: list[Problem] = []
    places = [locate(os.fsdecode(path), problems) for path in paths]
    base = os.path.commonpath([place.base for place in places])
    walk = _Walk(base, LinkRule(place.base for place in places), problems)
    for place in places:
        for directory in place.directories:
            walk.add_tree(directory)
        walk.links += [(link, 0) for link in place.links]
    walk.follow_links()
    walk.add_files([file for place in places for file in place.files])
    return Discovery(walk.named_runs(), sorted(problems, key=lambda p: (p.file, p.code)), base)


_Identity = tuple[int, int] | str  # device and inode


class _Walk:
    """Collects runs: first all real directories, then where links lead."""

    def __init__(self, base: str, rule: LinkRule, problems: list[Problem]) -> None:
        self.prefix = os.path.join(base, "")
        self.rule = rule
        self.problems = problems
        self.runs: dict[str, FoundRun] = {}  # by path
        # To directories, each with its level: how far below the logdir's own link it is.
        self.links: list[tuple[str, int]] = []
        self.link_level = 0
        self.visited: list[str] = []
        # The path under which each real directory was visited. One tree without
        # links cannot meet itself, so the stat calls wait until they are needed.
        self.seen: dict[_Identity, str] | None = None

    def add_tree(self, root: str) -> None:
        """Visit a directory and all real directories below it."""
        for path in self._search(root, MAX_DEPTH):
            self._note(Code.TOO_DEEP, path)

    def follow_links(self) -> None:
        """Visit the directories that links lead to, unless they were visited already."""
        most = len(self.visited) + MOST_THROUGH_LINKS
        while self.links:
            # Sorted, so that of two links to one directory always the same one names it.
            links, self.links = sorted(self.links, key=lambda link: natural_key(link[0])), []
            for link, level in links:
                if _identity(link) in self._index():
                    if _leads_up(link):
                        self._note(Code.SYMLINK_LOOP, link)
                elif refusal := self.rule.refusal(link):
                    self._note(Code.LINK_NOT_FOLLOWED, link, refusal)
                elif len(self.visited) >= most:
                    # One note for all further links: there may be any number of them.
                    self._note(Code.LINK_CUT_SHORT, link, LIMITS)
                    return
                elif self._search(
                    link, MOST_LEVELS, level, min(most, len(self.visited) + MOST_PER_LINK)
                ):
                    self._note(Code.LINK_CUT_SHORT, link, LIMITS)

    def _search(self, top: str, deepest: int, level: int = 0, most: int | None = None) -> list[str]:
        """Visit a directory and all real directories below it; return those beyond the limits.

        `level` is that of `top`, and `most` limits how many directories are visited
        in all; without it `top` is not reached through a link.
        """
        if self.visited:
            self._index()
        left_out: list[str] = []
        pending = [(top, level)]
        while pending:
            path, level = pending.pop()
            identity = "" if self.seen is None else _identity(path)
            if self.seen is not None and identity in self.seen:
                continue
            if level > deepest or (most is not None and len(self.visited) >= most):
                left_out.append(path)
                continue
            if self.seen is not None:
                self.seen[identity] = path
            self.visited.append(path)
            self.link_level = 0 if most is None else level + 1
            pending += [(below, level + 1) for below in self._visit(path)]
        return left_out

    def add_files(self, paths: list[str]) -> None:
        """Add event files that were asked for by their own paths."""
        by_directory: dict[str, set[str]] = {}
        for path in paths:
            directory, name = os.path.split(path)
            by_directory.setdefault(directory, set()).add(name)
        for directory, names in by_directory.items():
            # A walk may have come to the same directory by another path.
            known = self._index().get(_identity(directory), directory)
            run = self._run(known)
            run.files = sorted(
                {*run.files, *(os.path.join(known, name) for name in names)}, key=file_order
            )

    def named_runs(self) -> dict[str, FoundRun]:
        """Return the runs by name."""
        return name_runs(self.runs.values())

    def _visit(self, path: str) -> list[str]:
        """Take in what one directory holds and return the real directories in it."""
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
        directories: list[str] = []
        unfinished: list[str] = []
        regular: list[str] = []
        special: list[str] = []
        links: list[str] = []
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name in RESERVED_NAMES and self.rule.is_left_out(entry.path):
                        continue
                    (unfinished if is_temporary(entry.name) else directories).append(entry.path)
                elif entry.is_symlink():
                    links.append(entry.path)
                elif _is_ours(entry.name):
                    is_regular = entry.is_file(follow_symlinks=False)
                    (regular if is_regular else special).append(entry.path)
        # Only now, when the listing is whole: a failed one is tried again.
        for link in links:
            self._take_link(link, regular, special)
        for odd in special:
            self._note(Code.SPECIAL_FILE, odd)
        for left in unfinished:
            self._note(Code.UNFINISHED_FOLDER, left)
        if regular:
            run = self._run(path)
            run.files = list(filter(is_event_file, regular))
            if len(run.files) > 1:
                run.files.sort(key=file_order)
            if len(run.files) < len(regular):
                config = os.path.join(path, PROJECTOR_CONFIG)
                run.config = config if config in regular else None
        return directories

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

    def _run(self, path: str) -> FoundRun:
        run = self.runs.get(path)
        if run is None:
            name = path[len(self.prefix) :].replace(os.sep, "/") or os.curdir
            run = self.runs[path] = FoundRun(_as_text(name), path)
        return run

    def _index(self) -> dict[_Identity, str]:
        if self.seen is None:
            self.seen = {_identity(path): path for path in self.visited}
        return self.seen

    def _note(self, code: Code, path: str, detail: str = "") -> None:
        self.problems.append(Problem.of(code, path, detail=detail))


def name_runs(runs: Iterable[FoundRun]) -> dict[str, FoundRun]:
    """Return runs by name, in order; names that look alike once escaped are numbered."""
    named: dict[str, FoundRun] = {}
    for run in sorted(runs, key=lambda run: natural_key(run.name)):
        run.name = free_name(run.name, named.__contains__, "{} ({})")
        named[run.name] = run
    return named


def _is_ours(name: str) -> bool:
    return is_run_file(name) or name == PROJECTOR_CONFIG


def _as_text(name: str) -> str:
    """Return the name as valid text, with bytes that are not UTF-8 as `\\xe9`."""
    if name.isascii() or not any("\udc80" <= char <= "\udcff" for char in name):
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _leads_up(link: str) -> bool:
    """Whether a link leads to a directory that it stands in."""
    target = os.path.join(os.path.realpath(link), "")
    parent = os.path.join(os.path.realpath(os.path.dirname(link)), "")
    return parent.startswith(target)


def _identity(path: str) -> _Identity:
    try:
        status = os.stat(path)
    except OSError:
        return path  # listing it fails as well, and is noted there
    return status.st_dev, status.st_ino
