"""Paths as people give them to `discover`: a directory, an event file or a glob."""

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
from runfold.errors import LogdirNotFound

MAX_DEPTH = 64
MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


@dataclass(slots=True)
class Place:
    """What one argument stands for; names start at `base`.

    `links` are the directories that a glob reaches through a link.
    """

    base: str
    directories: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def locate(given: str, problems: list[Problem]) -> Place:
    """Find what one argument of `discover` stands for; what may not be opened is noted.

    Raises LogdirNotFound where it leads nowhere.
    """
    if not given:
        raise LogdirNotFound("The path of the logdir is empty.")
    expanded = os.path.expanduser(given)
    path = _absolute(expanded)
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, OSError) and error.errno not in MISSING:
            problems.append(Problem.of(Code.UNREADABLE_DIRECTORY, path, detail=reason(error)))
            return Place(path)
        if is_glob(expanded) and "\0" not in expanded:
            return _locate_glob(given, expanded, problems)
        raise LogdirNotFound(_not_found(given, expanded)) from None
    if stat.S_ISDIR(mode):
        return Place(path, directories=[path])
    if stat.S_ISREG(mode):
        return Place(os.path.dirname(path), files=[path])
    problems.append(Problem.of(Code.SPECIAL_FILE, path))
    return Place(os.path.dirname(path))


def _absolute(path: str) -> str:
    # abspath() drops `link/..` as if the link were a plain directory.
    return os.path.realpath(path) if ".." in path.split(os.sep) else os.path.abspath(path)


def _locate_glob(given: str, pattern: str, problems: list[Problem]) -> Place:
    known = len(problems)
    base, found = match_glob(pattern, problems)
    place = Place(base)
    for path, is_linked in found.items():
        if os.path.isdir(path):
            (place.links if is_linked else place.directories).append(path)
        elif is_event_file(path) and os.path.isfile(path):
            place.files.append(path)
    if not found and len(problems) == known:
        raise LogdirNotFound(f"Nothing matches '{escape(given)}'.")
    return place


def match_glob(pattern: str, problems: list[Problem]) -> tuple[str, dict[str, bool]]:
    """Return the part before the first wildcard as a path, and the paths that a glob matches.

    Each match comes with whether a link leads to it. A link that is not followed
    matches nothing and is noted.
    """
    parts = pattern.split(os.sep)
    first = next(index for index, part in enumerate(parts) if is_glob(part))
    base = _absolute(os.sep.join(parts[:first]) or (os.sep if first else os.curdir))
    rule = LinkRule([base])
    found = {base: False}
    for part in parts[first:]:
        matches: dict[str, bool] = {}
        for directory, is_linked in found.items():
            for number, path in enumerate(_expand(directory, part, rule)):
                if is_linked and number >= MOST_PER_LINK:
                    problems.append(Problem.of(Code.LINK_CUT_SHORT, directory, detail=LIMITS))
                    break
                is_link = os.path.islink(path)
                refusal = rule.refusal(path) if is_link and os.path.isdir(path) else ""
                if refusal:
                    problems.append(Problem.of(Code.LINK_NOT_FOLLOWED, path, detail=refusal))
                else:
                    matches.setdefault(path, is_linked or is_link)
        found = matches
    return base, found


def _expand(directory: str, part: str, rule: LinkRule) -> Iterable[str]:
    """Return what one part of a glob matches in a directory, as a shell would."""
    if part in ("", os.curdir):
        return [directory] if os.path.isdir(directory) else []
    if part == "**":
        return _real_directories(directory, rule)
    if not is_glob(part):
        path = os.path.join(directory, part)
        return [path] if os.path.lexists(path) else []
    matches = re.compile(fnmatch.translate(part)).match
    return [
        os.path.join(directory, name)
        for name in sorted(_names(directory))
        if matches(name) and (name[0] != "." or part[0] == ".")
    ]


def _real_directories(top: str, rule: LinkRule) -> Iterator[str]:
    """Yield `top` and what is below it without links: two links in a loop would not end."""
    pending = [(top, 0)]
    while pending:
        directory, depth = pending.pop()
        yield directory
        if depth < MAX_DEPTH:
            try:
                with os.scandir(directory) as entries:
                    pending += [
                        (entry.path, depth + 1)
                        for entry in entries
                        if entry.name[0] != "."
                        and entry.is_dir(follow_symlinks=False)
                        and not (entry.name in RESERVED_NAMES and rule.is_left_out(entry.path))
                    ]
            except OSError:  # noted when the walk comes here
                continue


def _names(directory: str, limit: int | None = None) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in islice(entries, limit)]
    except OSError:
        return []


def _not_found(given: str, path: str) -> str:
    """Return the message for a path that leads nowhere, with what is near where it broke off."""
    fact = f"No logdir '{escape(given)}'"
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
    """Say in the system's own words why a call failed."""
    return error.strerror or type(error).__name__
