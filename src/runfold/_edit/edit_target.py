"""The folder of an edit's result: built next to its final path and moved there in one step."""

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
class Destination:
    """The source, the folder of the result, and the backup.

    `backup` is None if the result is a new folder.
    """

    source: str
    target: str
    backup: str | None = None

    @property
    def is_in_place(self) -> bool:
        """Whether the result replaces the source."""
        return self.backup is not None


def find_root(source: str | os.PathLike[str]) -> str:
    """Return the folder to edit. Raises LogdirNotFound or CannotEdit."""
    if is_url(source):
        raise CannotEdit(
            f"{show_url(os.fspath(source))} is in a store and cannot be edited there. Download"
            " the logs with `runfold pack`, then unpack them with `runfold unpack`."
        )
    root = os.path.realpath(source)
    if not os.path.lexists(root):
        discover(source)  # raises an error that suggests close matches
    if not os.path.isdir(root):
        raise CannotEdit(
            f"{escape(os.fspath(source))} is not a folder. Pass a logdir or a run's folder. If the"
            " file is a pack, unpack it first with `runfold unpack`."
        )
    return root


def choose_destination(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    in_place: bool,
    backup: str | os.PathLike[str] | None = None,
) -> Destination:
    """Check the path of the result before the edit. Raises CannotEdit or OutputExists."""
    shown, root = os.fspath(source), find_root(source)
    if output is not None and in_place:
        raise CannotEdit("Choose either a new folder (-o) or --in-place, not both.")
    if output is None and not in_place:
        raise CannotEdit("Choose where the result goes: a new folder (-o) or --in-place.")
    if not in_place:
        if backup is not None:
            raise CannotEdit("--backup requires --in-place.")
        assert output is not None
        target = os.path.realpath(output)
        _refuse_nested(root, target, os.fspath(output))
        _refuse_existing(target, os.fspath(output))
        return Destination(root, target)
    if os.path.ismount(root):
        raise CannotEdit(
            f"{escape(shown)} is the root of a file system and cannot be moved aside."
            " Write to a new folder with -o."
        )
    aside = os.path.realpath(backup) if backup is not None else _name_backup(root)
    _refuse_nested(root, aside, aside)
    _refuse_existing(aside, aside)
    return Destination(root, root, aside)


@dataclass(slots=True)
class Result:
    """An empty folder to fill, and whether to keep it."""

    folder: str
    is_kept: bool = True

    def cancel(self) -> None:
        """Discard the result and leave everything unchanged."""
        self.is_kept = False


@contextmanager
def build(destination: Destination) -> Iterator[Result]:
    """Yield an empty folder to fill; it is moved to its final path when the block ends.

    The folder is created next to its final path, and all of it is on disk before it
    appears there. On any error it is removed. If the process is killed, the source is
    unchanged, but a folder `.runfold-*.tmp` may be left next to it.
    """
    parent = os.path.dirname(destination.target)
    os.makedirs(parent, exist_ok=True)
    temporary = os.path.join(parent, name_temporary())
    with Undo() as undo:
        undo.callback(shutil.rmtree, temporary, ignore_errors=True)
        os.mkdir(temporary)
        result = Result(temporary)
        yield result
        if not result.is_kept:
            return
        sync_tree(temporary)
        shutil.copystat(destination.source, temporary)
        if destination.backup is None:
            _refuse_existing(destination.target, destination.target)
            os.rename(temporary, destination.target)
        else:
            os.makedirs(os.path.dirname(destination.backup), exist_ok=True)
            _swap(temporary, destination.target, destination.backup)
        _sync_folder(parent)


def _swap(new: str, target: str, backup: str) -> None:
    """Replace `target` with `new`; the old folder becomes `backup`."""
    if not os.path.samestat(os.stat(os.path.dirname(target)), os.stat(os.path.dirname(backup))):
        _check_same_disk(target, backup)
    # The new folder takes the backup's name before the exchange, so that the complete
    # source is always at `target` or `backup`, even if the process is killed.
    os.rename(new, backup)
    if _exchange(backup, target):
        return
    os.rename(backup, new)
    # If the system cannot exchange two folders in one step, nothing is at `target` for
    # a moment. If the process is killed then, the complete source is at `backup`.
    os.rename(target, backup)
    try:
        os.rename(new, target)
    except OSError:
        os.rename(backup, target)
        raise


def _exchange(first: str, second: str) -> bool:
    """Exchange two folders in one step. Returns False if the system does not support it."""
    import ctypes

    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    paths = os.fsencode(first), os.fsencode(second)
    return bool(call(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0)


def sync_tree(folder: str) -> None:
    """Flush all files and folders below a folder to disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                _sync_folder(path)
        _sync_folder(parent)


def _sync_folder(path: str) -> None:
    # Some file systems cannot sync folders, and some files are not readable.
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
        raise OutputExists(f"{escape(shown)} already exists. Choose another folder.")


def _refuse_nested(root: str, target: str, shown: str) -> None:
    inner, outer = os.path.join(target, ""), os.path.join(root, "")
    if inner.startswith(outer) or outer.startswith(inner):
        raise CannotEdit(
            f"The output '{escape(shown)}' and the logdir overlap. Choose a folder that is"
            " not in the logdir and does not contain the logdir."
        )
