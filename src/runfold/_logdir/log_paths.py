"""Paths given to `discover` by users: a folder, an event file or a glob."""

import errno
import fnmatch
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from runfold._conventions import is_event_file
from runfold._events.problems import Code, Problem
from runfold._humanize import did_you_mean, escape
from runfold._logdir.link_rules import LIMITS, MOST_PER_LINK, RESERVED_NAMES, LinkRule
from runfold._select import is_glob
from runfold._storage.listed_tree import ListedTree
from runfold.errors import LogdirNotFound

MAX_DEPTH = 64
MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


@dataclass(slots=True)
class Place:
    """The folders and files that one argument refers to; run names are relative to `base`.

    `links` are the folders that a glob reaches through a link.
    """

    base: str
    directories: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def locate(argument: str, problems: list[Problem], trees: Iterable[ListedTree] = ()) -> Place:
    """Return the folders and files that one argument of `discover` refers to.

    Entries that must not be opened are added to `problems`. The folders in `trees` are not on
    disk. Raises LogdirNotFound if the path does not exist.
    """
    if not argument:
        raise LogdirNotFound("The path of the logdir is empty.")
    expanded = os.path.expanduser(argument)
    path = _absolute(expanded)
    for tree in trees:
        if tree.contains(path):
            return _locate_listed(argument, path, problems, tree)
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, OSError) and error.errno not in MISSING:
            problems.append(Problem.of(Code.UNREADABLE_DIRECTORY, path, detail=reason(error)))
            return Place(path)
        if is_glob(expanded) and "\0" not in expanded:
            return _locate_glob(argument, expanded, problems)
        raise LogdirNotFound(_not_found(argument, expanded)) from None
    if stat.S_ISDIR(mode):
        return Place(path, directories=[path])
    if stat.S_ISREG(mode):
        return Place(os.path.dirname(path), files=[path])
    problems.append(Problem.of(Code.SPECIAL_FILE, path))
    return Place(os.path.dirname(path))


def _locate_listed(argument: str, path: str, problems: list[Problem], tree: ListedTree) -> Place:
    if tree.is_folder(path):
        return Place(path, directories=[path])
    if tree.is_file(path):
        return Place(os.path.dirname(path), files=[path])
    if is_glob(path):
        return _locate_glob(argument, path, problems, tree)
    raise LogdirNotFound(_not_found(argument, path))


def _absolute(path: str) -> str:
    # abspath() would drop `link/..` as if the link were a plain folder.
    return os.path.realpath(path) if ".." in path.split(os.sep) else os.path.abspath(path)


def _locate_glob(
    argument: str, pattern: str, problems: list[Problem], tree: ListedTree | None = None
) -> Place:
    known = len(problems)
    base, matches = match_glob(pattern, problems, tree)
    is_folder = os.path.isdir if tree is None else tree.is_folder
    is_file = os.path.isfile if tree is None else tree.is_file
    location = Place(base)
    for path, is_linked in matches.items():
        if is_folder(path):
            (location.links if is_linked else location.directories).append(path)
        elif is_event_file(path) and is_file(path):
            location.files.append(path)
    if not matches and len(problems) == known:
        raise LogdirNotFound(f"Nothing matches '{escape(argument)}'.")
    return location


def match_glob(
    pattern: str, problems: list[Problem], tree: ListedTree | None = None
) -> tuple[str, dict[str, bool]]:
    """Return the part of a glob before its first wildcard, and the paths that match the glob.

    Each match is mapped to whether it was reached through a link. A link that is not
    followed matches nothing and is reported. The folders of a `tree` are not on disk.
    """
    parts = pattern.split(os.sep)
    first = next(index for index, part in enumerate(parts) if is_glob(part))
    base = _absolute(os.sep.join(parts[:first]) or (os.sep if first else os.curdir))
    rule = LinkRule([base])
    matched = {base: False}
    for part in parts[first:]:
        matches: dict[str, bool] = {}
        for directory, is_linked in matched.items():
            for number, path in enumerate(_expand(directory, part, rule, tree)):
                if is_linked and number >= MOST_PER_LINK:
                    problems.append(Problem.of(Code.LINK_CUT_SHORT, directory, detail=LIMITS))
                    break
                is_link = tree is None and os.path.islink(path)
                refusal = rule.refusal(path) if is_link and os.path.isdir(path) else ""
                if refusal:
                    problems.append(Problem.of(Code.LINK_NOT_FOLLOWED, path, detail=refusal))
                else:
                    matches.setdefault(path, is_linked or is_link)
        matched = matches
    return base, matched


def _expand(
    directory: str, part: str, rule: LinkRule, tree: ListedTree | None = None
) -> Iterable[str]:
    """Return the matches of one part of a glob in a folder, as in a shell."""
    if part in ("", os.curdir):
        is_folder = os.path.isdir if tree is None else tree.is_folder
        return [directory] if is_folder(directory) else []
    if part == "**":
        return _real_directories(directory, rule, tree)
    if not is_glob(part):
        path = os.path.join(directory, part)
        return [path] if (os.path.lexists if tree is None else tree.exists)(path) else []
    matches = re.compile(fnmatch.translate(part)).match
    return [
        os.path.join(directory, name)
        for name in sorted(_names(directory) if tree is None else tree.names(directory))
        if matches(name) and (name[0] != "." or part[0] == ".")
    ]


def _real_directories(top: str, rule: LinkRule, tree: ListedTree | None = None) -> Iterator[str]:
    """Yield `top` and the folders below it; links are not followed, because two can form a loop."""
    pending = [(top, 0)]
    while pending:
        directory, depth = pending.pop()
        yield directory
        if depth < MAX_DEPTH:
            if tree is not None:
                pending += [
                    (path, depth + 1)
                    for path in tree.folders(directory)
                    if os.path.basename(path)[0] != "."
                ]
                continue
            try:
                with os.scandir(directory) as entries:
                    pending += [
                        (entry.path, depth + 1)
                        for entry in entries
                        if entry.name[0] != "."
                        and entry.is_dir(follow_symlinks=False)
                        and not (entry.name in RESERVED_NAMES and rule.is_left_out(entry.path))
                    ]
            except OSError:  # reported when the walk gets here
                continue


def _names(directory: str, limit: int | None = None) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in islice(entries, limit)]
    except OSError:
        return []


def _not_found(argument: str, path: str) -> str:
    """Return the message for a missing path, with names similar to its first missing part."""
    fact = f"No logdir '{escape(argument)}'"
    if "\0" in path:
        return f"{fact}."
    missing = path.rstrip(os.sep) or path
    parent = os.path.dirname(missing)
    while parent and not os.path.lexists(parent):
        missing, parent = parent, os.path.dirname(parent)
    if missing != path.rstrip(os.sep):
        fact += f": there is no '{escape(missing)}'"
    nearby = _names(parent or os.curdir, limit=100_000)
    return f"{fact}. {did_you_mean(os.path.basename(missing), nearby)}".rstrip()


def reason(error: OSError) -> str:
    """Return the system's reason for a failed call."""
    return error.strerror or type(error).__name__
