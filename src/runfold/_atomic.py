"""Files and sets of folders that appear under their names only when they are complete."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from typing import BinaryIO

from runfold._conventions import REDUCED_SUFFIX, name_temporary
from runfold._files import create_file, place_new
from runfold._humanize import escape
from runfold._undo import Undo
from runfold.errors import OutputExists, RunfoldError

StrPath = str | os.PathLike[str]

_REPLACE = "Use --overwrite, or overwrite=True in Python, to replace it."


def check_file(path: StrPath, overwrite: bool = False) -> os.stat_result | None:
    """Check that a file can be written to `path`; return the status of an existing file.

    This lets a command fail before it starts its work. Raises OutputExists for a file
    that must not be replaced, and OSError for an invalid path.
    """
    try:
        existing = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(existing.st_mode):
        raise IsADirectoryError(errno.EISDIR, "This is a folder; use a file name", _str(path))
    if stat.S_ISREG(existing.st_mode) and not overwrite:
        raise _exists(path)
    return existing


@contextmanager
def replace_file(path: StrPath, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write that appears under its name only when it is complete.

    The file is written under a temporary name in the same folder and renamed when the
    block ends. The folder is created if necessary. On any error, including Ctrl-C, the
    new file is deleted and an existing file is unchanged. Without `overwrite`, raises
    OutputExists if the path exists at the start or at the end. System errors (no
    permission, disk full) name `path`.

    A symbolic link is kept, and its target is replaced. A pipe or a device is written
    directly.
    """
    existing = check_file(path, overwrite)
    if existing and not stat.S_ISREG(existing.st_mode):
        with _named([path], [_str(path)]), open(path, "wb") as file:
            yield file
        return
    target = os.path.realpath(path)
    temporary = _temporary(target)
    with _named([path], [temporary]), Undo() as undo:
        _make_folder(os.path.dirname(target), undo)
        undo.callback(_remove_file, temporary)
        # tempfile would ignore the umask and make the file private.
        with create_file(temporary) as file:
            if existing:
                os.fchmod(file.fileno(), stat.S_IMODE(existing.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        _publish(temporary, target, path, overwrite)


def _publish(temporary: str, target: str, path: StrPath, overwrite: bool) -> None:
    if overwrite:
        os.replace(temporary, target)
    elif not place_new(temporary, target):
        raise _exists(path)


def check_folders(
    paths: Sequence[StrPath], overwrite: bool = False, ours: str | tuple[str, ...] = REDUCED_SUFFIX
) -> None:
    """Raise OutputExists if a folder must not be written to. Call this before any work.

    An existing folder is replaced only with `overwrite`, and only if it contains nothing
    but our own output: files with the suffix `ours` (by default, the suffix of reduced
    event files) and folders of such files.
    """
    _refuse_nested(paths)
    for path in paths:
        target = _resolve(path)
        if os.path.lexists(target):
            if not overwrite:
                raise _exists(path)
            _list_ours(target, _str(path), ours)


@contextmanager
def replace_folders(
    paths: Sequence[StrPath], overwrite: bool = False, ours: str | tuple[str, ...] = REDUCED_SUFFIX
) -> Iterator[list[str]]:
    """Yield an empty folder to fill for each path; all appear under their names together.

    All paths are checked with `check_folders` before anything is written. The folders
    are created next to their final paths and renamed when the block ends. Old folders
    are moved aside first, checked again, and deleted last. On any error, including
    Ctrl-C, the old folders are restored and the new ones are deleted.
    """
    check_folders(paths, overwrite, ours)
    targets = [_resolve(path) for path in paths]
    temporaries = [_temporary(target) for target in targets]
    with _named(paths, temporaries), Undo() as undo:
        for target, temporary in zip(targets, temporaries, strict=True):
            _make_folder(os.path.dirname(target), undo)
            undo.callback(shutil.rmtree, temporary, ignore_errors=True)
            os.mkdir(temporary)
        yield temporaries
        for temporary in temporaries:
            _sync(temporary)
        old = _swap(list(zip(paths, targets, temporaries, strict=True)), overwrite, ours)
    for entry in old:
        if os.path.isdir(entry):
            os.rmdir(entry)
        else:
            os.unlink(entry)


def _swap(
    moves: Sequence[tuple[StrPath, str, str]], overwrite: bool, ours: str | tuple[str, ...]
) -> list[str]:
    """Rename all new folders or none; return the contents of the old ones, innermost first."""
    old: list[str] = []
    with Undo() as undo:
        for path, target, temporary in moves:
            aside = temporary + "-old"
            if overwrite:
                undo.callback(_move_back, aside, target)
                with suppress(FileNotFoundError):
                    os.rename(target, aside)
                if os.path.lexists(aside):
                    # Check after the move, because until then other programs can add files.
                    old += _list_ours(aside, _str(path), ours)
            elif os.path.lexists(target):
                raise _exists(path)
            undo.callback(_move_back, target, temporary)
            try:
                os.rename(temporary, target)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
                raise _exists(path) from None
        undo.pop_all()
    return old


def _move_back(source: str, target: str) -> None:
    if os.path.lexists(source) and not os.path.lexists(target):
        os.rename(source, target)


def _list_ours(folder: str, shown: str, ours: str | tuple[str, ...]) -> list[str]:
    """Return a folder and its contents, innermost first; raise OutputExists for foreign files."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        kind = "a symbolic link" if os.path.islink(folder) else "a file"
        raise OutputExists(
            f"{escape(shown)} is {kind}; remove it, or choose another output. "
            "Only folders written by Runfold are replaced."
        )
    contents: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = os.path.join(shown, entry.name)
            if entry.is_dir(follow_symlinks=False):
                contents += _list_ours(entry.path, name, ours)
            elif entry.is_file(follow_symlinks=False) and entry.name.endswith(ours):
                contents.append(entry.path)
            else:
                raise OutputExists(
                    f"{escape(name)} was not written by Runfold, so its folder was not "
                    "changed. Move the file away, or choose another output."
                )
    return [*contents, folder]


def _refuse_nested(paths: Sequence[StrPath]) -> None:
    # With the slash, `out/` sorts directly before everything in it.
    targets = sorted((_resolve(path) + os.sep, _str(path)) for path in paths)
    for (outer, first), (inner, second) in pairwise(targets):
        if inner.startswith(outer):
            raise RunfoldError(f"{escape(first)} and {escape(second)} would overwrite each other.")


def _resolve(path: StrPath) -> str:
    """Return a folder's path with links resolved in all parts except the last."""
    bare = _str(path).rstrip(os.sep)
    if os.path.basename(bare) in ("", ".", ".."):
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(bare)), os.path.basename(bare))


def _temporary(target: str) -> str:
    return os.path.join(os.path.dirname(target), name_temporary())


@contextmanager
def _named(paths: Sequence[StrPath], temporaries: Sequence[str]) -> Iterator[None]:
    """Make system errors name the requested path instead of the temporary one.

    The error for a full disk names no file, so the first path is added.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:  # our own error, with its own message
            raise
        blamed = _str(error.filename or paths[0])
        for path, temporary in zip(paths, temporaries, strict=True):
            if blamed.startswith(temporary):
                blamed = _str(path) + blamed.removeprefix(temporary)
        raise OSError(error.errno, os.strerror(error.errno), blamed) from error


def _make_folder(folder: str, undo: ExitStack) -> None:
    """Create a folder and its missing parents; undoing removes the empty new folders."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        undo.callback(_remove_empty, folder)
        with suppress(FileExistsError):  # another process has just created it
            os.mkdir(folder)


def _remove_empty(folder: str) -> None:
    with suppress(OSError):
        os.rmdir(folder)


def _remove_file(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _sync(folder: str) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                os.fsync(file.fileno())


def _exists(path: StrPath) -> OutputExists:
    return OutputExists(f"{escape(_str(path))} already exists. {_REPLACE}")


def _str(path: StrPath) -> str:
    return os.fspath(path)
