"""Where the result of an edit goes: built beside its place, and put there in one step."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from runfold._conventions import name_temporary
from runfold._humanize import escape, free_name
from runfold._logdir.discover import discover
from runfold._storage.url import is_url, show_url
from runfold._undo import Undo
from runfold.errors import CannotEdit, OutputExists

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


@dataclass(frozen=True, slots=True)
class Place:
    """The source, the folder where the result appears, and what becomes of the source.

    `backup` is None where the result is a folder of its own.
    """

    source: str
    target: str
    backup: str | None = None

    @property
    def is_in_place(self) -> bool:
        """Whether the result takes the place of the source."""
        return self.backup is not None


def find_root(source: str | os.PathLike[str]) -> str:
    """Return the folder that is to be edited. Raises LogdirNotFound or CannotEdit."""
    if is_url(source):
        raise CannotEdit(
            f"{show_url(os.fspath(source))} is in a store, where nothing is edited. `runfold pack` "
            "brings it here, and `runfold unpack` makes a folder of that."
        )
    root = os.path.realpath(source)
    if not os.path.lexists(root):
        discover(source)  # says so, and what is near
    if not os.path.isdir(root):
        raise CannotEdit(
            f"{escape(os.fspath(source))} is not a folder. Give the logdir or run that it is in;"
            " `runfold unpack` makes one of a pack."
        )
    return root


def choose_place(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    in_place: bool,
    backup: str | os.PathLike[str] | None = None,
) -> Place:
    """Check where the result is to go, before any work. Raises CannotEdit or OutputExists."""
    shown, root = os.fspath(source), find_root(source)
    if output is not None and in_place:
        raise CannotEdit("The result goes to a new folder (-o) or --in-place, not both.")
    if output is None and not in_place:
        raise CannotEdit("Say where the result goes: to a new folder (-o) or --in-place.")
    if not in_place:
        if backup is not None:
            raise CannotEdit("A backup is made only with --in-place.")
        assert output is not None
        target = os.path.realpath(output)
        _refuse_nested(root, target, os.fspath(output))
        _refuse_existing(target, os.fspath(output))
        return Place(root, target)
    if os.path.ismount(root):
        raise CannotEdit(
            f"{escape(shown)} is the top of a file system, which cannot be put aside as a whole."
            " Edit to a new folder with -o."
        )
    aside = os.path.realpath(backup) if backup is not None else _name_backup(root)
    _refuse_nested(root, aside, aside)
    _refuse_existing(aside, aside)
    return Place(root, root, aside)


@dataclass(slots=True)
class Result:
    """An empty folder to fill, and whether it is wanted at all."""

    folder: str
    is_wanted: bool = True

    def cancel(self) -> None:
        """Leave everything as it is."""
        self.is_wanted = False


@contextmanager
def build(place: Place) -> Iterator[Result]:
    """Give an empty folder to fill; it appears at its place when the block ends.

    It is made beside its place, and all of it is on the disk before it appears. On
    any error nothing is left of it. A process that is killed leaves the source as
    it was, and perhaps a folder `.runfold-*.tmp` beside it.
    """
    parent = os.path.dirname(place.target)
    os.makedirs(parent, exist_ok=True)
    temporary = os.path.join(parent, name_temporary())
    with Undo() as undo:
        undo.callback(shutil.rmtree, temporary, ignore_errors=True)
        os.mkdir(temporary)
        result = Result(temporary)
        yield result
        if not result.is_wanted:
            return
        sync_tree(temporary)
        shutil.copystat(place.source, temporary)
        if place.backup is None:
            _refuse_existing(place.target, place.target)
            os.rename(temporary, place.target)
        else:
            os.makedirs(os.path.dirname(place.backup), exist_ok=True)
            _swap(temporary, place.target, place.backup)
        _sync_folder(parent)


def _swap(new: str, target: str, backup: str) -> None:
    """Put `new` in the place of `target`, which becomes `backup`."""
    if not os.path.samestat(os.stat(os.path.dirname(target)), os.stat(os.path.dirname(backup))):
        _check_same_disk(target, backup)
    # Under its last name before the exchange: the source is then at all times whole
    # at `target` or at `backup`, whenever the process is killed.
    os.rename(new, backup)
    if _exchange(backup, target):
        return
    os.rename(backup, new)
    # Where two folders cannot change places in one step there is a moment without
    # any at `target`: who is killed then finds the whole source at `backup`.
    os.rename(target, backup)
    try:
        os.rename(new, target)
    except OSError:
        os.rename(backup, target)
        raise


def _exchange(one: str, other: str) -> bool:
    """Let two folders change places in one step, if the system can."""
    import ctypes

    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    paths = os.fsencode(one), os.fsencode(other)
    return bool(call(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0)


def sync_tree(folder: str) -> None:
    """Have all files and folders below written to the disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                _sync_folder(path)
        _sync_folder(parent)


def _sync_folder(path: str) -> None:
    # A file system may not sync folders, and a file may be readable to others only.
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check_same_disk(target: str, backup: str) -> None:
    parent = os.path.dirname(backup)
    if os.stat(parent).st_dev != os.stat(os.path.dirname(target)).st_dev:
        raise OSError(errno.EXDEV, "The backup must be on the same disk as the logdir", backup)


def _name_backup(root: str) -> str:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return free_name(f"{root}.backup-{stamp}", os.path.lexists)


def _refuse_existing(path: str, shown: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path) and not os.listdir(path):
        return
    if os.path.lexists(path):
        raise OutputExists(f"{escape(shown)} exists already. Choose another folder.")


def _refuse_nested(root: str, target: str, shown: str) -> None:
    inner, outer = os.path.join(target, ""), os.path.join(root, "")
    if inner.startswith(outer) or outer.startswith(inner):
        raise CannotEdit(
            f"The output '{escape(shown)}' and the logdir overlap. Choose a folder outside the"
            " logdir that does not contain it."
        )
