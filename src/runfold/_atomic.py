"""Output that appears under its name only when it is whole: files, and sets of folders."""

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
    """Return what stands at `path`, None for nothing, if a file may be written there.

    For a command that wants to refuse before its work begins. Raises OutputExists
    for a file that may not be replaced, and OSError for a path that leads nowhere.
    """
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(errno.EISDIR, "This is a folder; give a file name", _str(path))
    if stat.S_ISREG(there.st_mode) and not overwrite:
        raise _exists(path)
    return there


@contextmanager
def replace_file(path: StrPath, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write that appears under its name only when it is whole.

    It is written under a temporary name in the same folder, made if need be, and
    renamed when the block ends. On any error, Ctrl-C too, nothing is left of it,
    and what stood at `path` stays as it was. Raises OutputExists without
    `overwrite` if there is a file, at once or in the end; OSErrors of the system
    (no permission, disk full) carry `path`.

    A symbolic link stays, and the file that it leads to is replaced. A pipe or a
    device is written directly.
    """
    there = check_file(path, overwrite)
    if there and not stat.S_ISREG(there.st_mode):
        with _named([path], [_str(path)]), open(path, "wb") as file:
            yield file
        return
    target = os.path.realpath(path)
    temporary = _temporary(target)
    with _named([path], [temporary]), Undo() as undo:
        _make_folder(os.path.dirname(target), undo)
        undo.callback(_remove_file, temporary)
        # Not tempfile's: those are closed to others, whatever the umask says.
        with create_file(temporary) as file:
            if there:
                os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
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
    """Refuse folders that may not be written, with OutputExists, before any work.

    One that exists is replaced only with `overwrite`, and only if everything in
    it is ours: files whose names end as `ours` says, by default event files named
    as a fold names them, and folders of such.
    """
    _refuse_nested(paths)
    for path in paths:
        target = _place(path)
        if os.path.lexists(target):
            if not overwrite:
                raise _exists(path)
            _list_ours(target, _str(path), ours)


@contextmanager
def replace_folders(
    paths: Sequence[StrPath], overwrite: bool = False, ours: str | tuple[str, ...] = REDUCED_SUFFIX
) -> Iterator[list[str]]:
    """Give an empty folder to fill for each path; they appear under their names together.

    All are checked as by `check_folders` before anything is written. They are
    made beside their final place and renamed when the block ends; old ones are
    moved aside first, checked once more, and deleted last. On any error, Ctrl-C
    too, the old ones are back in place and nothing is left of the new.
    """
    check_folders(paths, overwrite, ours)
    targets = [_place(path) for path in paths]
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
    """Put each new folder in its place, all or none; what is left of the old, innermost first."""
    old: list[str] = []
    with Undo() as undo:
        for path, target, temporary in moves:
            aside = temporary + "-old"
            if overwrite:
                undo.callback(_move_back, aside, target)
                with suppress(FileNotFoundError):
                    os.rename(target, aside)
                if os.path.lexists(aside):
                    # Checked where nobody looks for it, so that nothing is added any more.
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
    """A folder and all that is in it, innermost first, or OutputExists if some is not ours."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        kind = "a symbolic link" if os.path.islink(folder) else "a file"
        raise OutputExists(
            f"{escape(shown)} is {kind}. Only a folder that Runfold wrote is replaced by one; "
            "remove it, or choose another output."
        )
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = os.path.join(shown, entry.name)
            if entry.is_dir(follow_symlinks=False):
                found += _list_ours(entry.path, name, ours)
            elif entry.is_file(follow_symlinks=False) and entry.name.endswith(ours):
                found.append(entry.path)
            else:
                raise OutputExists(
                    f"{escape(name)} was not written by Runfold. Its folder is left as it is; "
                    "move the file away, or choose another output."
                )
    return [*found, folder]


def _refuse_nested(paths: Sequence[StrPath]) -> None:
    # With the slash, `out/` comes right before all that is in it.
    places = sorted((_place(path) + os.sep, _str(path)) for path in paths)
    for (outer, first), (inner, second) in pairwise(places):
        if inner.startswith(outer):
            raise RunfoldError(
                f"{escape(first)} and {escape(second)} would be written one over the other."
            )


def _place(path: StrPath) -> str:
    """Where a folder is to be, with all links resolved but its own."""
    bare = _str(path).rstrip(os.sep)
    if os.path.basename(bare) in ("", ".", ".."):
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(bare)), os.path.basename(bare))


def _temporary(target: str) -> str:
    return os.path.join(os.path.dirname(target), name_temporary())


@contextmanager
def _named(paths: Sequence[StrPath], temporaries: Sequence[str]) -> Iterator[None]:
    """Let an error of the system name what the user asked for, not the temporary name.

    A full disk names nothing at all; then it is the first.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:  # one of our own, with a message of its own
            raise
        blamed = _str(error.filename or paths[0])
        for path, temporary in zip(paths, temporaries, strict=True):
            if blamed.startswith(temporary):
                blamed = _str(path) + blamed.removeprefix(temporary)
        raise OSError(error.errno, os.strerror(error.errno), blamed) from error


def _make_folder(folder: str, undo: ExitStack) -> None:
    """Make a folder and its parents; those that end empty are removed again."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        undo.callback(_remove_empty, folder)
        with suppress(FileExistsError):  # made meanwhile by another process
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
    return OutputExists(f"{escape(_str(path))} exists already. {_REPLACE}")


def _str(path: StrPath) -> str:
    return os.fspath(path)
