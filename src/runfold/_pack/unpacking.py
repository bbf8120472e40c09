"""Rebuilds the event files of a pack, byte for byte."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from runfold._conventions import PROJECTOR_CONFIG
from runfold._pack.pack_index import raw_bytes
from runfold._pack.rebuild import Rows, SizedFile, write_file
from runfold.errors import BadPack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runfold._pack.pack_file import Pack
    from runfold._pack.pack_index import StoredFile, StoredRun

_APART = {"/", "\0", os.sep, os.altsep or os.sep}


def unpack(
    packs: Iterable[Pack], folder: str, advance: Callable[[int], object] = lambda _: None
) -> int:
    """Write the event files of all runs below an empty folder, and return how many.

    Raises BadPack for names that point outside the folder, and for rows that do not
    reproduce what the index claims.
    """
    count = 0
    for pack in packs:
        rows = Rows(pack)
        for number, run in enumerate(pack.index.runs):
            run_folder = _make_folder(pack, folder, run)
            for file_number, file in enumerate(run.files):
                if file.size == 0 and file.problems:
                    continue  # it could not be read, so nothing is known about it
                path = os.path.join(run_folder, _check_name(pack, file.name))
                with _create(pack, path) as out:
                    sized = SizedFile(pack, file, out)
                    write_file(rows, (number, file_number), sized)
                    sized.finish()
                _set_time(path, file)
                advance(file.size)
                count += 1
            if run.config is not None:
                with _create(pack, os.path.join(run_folder, PROJECTOR_CONFIG)) as out:
                    out.write(raw_bytes(run.config))
    return count


def _make_folder(pack: Pack, folder: str, run: StoredRun) -> str:
    """Create and return the folder of a run. Raises BadPack if it is outside `folder`."""
    parts = [] if run.folder == os.curdir else run.folder.split("/")
    run_folder = os.path.join(folder, *(_check_name(pack, part) for part in parts))
    os.makedirs(run_folder, exist_ok=True)
    return run_folder


def _check_name(pack: Pack, name: str) -> str:
    if name in ("", os.curdir, os.pardir) or any(char in name for char in _APART):
        raise BadPack(pack.path, f"the name {name!r} is not a plain file or folder name")
    return os.fsdecode(raw_bytes(name))


def _create(pack: Pack, path: str) -> BinaryIO:
    try:
        return open(path, "xb")
    except FileExistsError:
        raise BadPack(pack.path, f"two of its files are named {path!r}") from None


def _set_time(path: str, file: StoredFile) -> None:
    if file.mtime is not None:
        # A time that the system rejects is not fatal.
        with suppress(OSError, OverflowError, ValueError, TypeError):
            os.utime(path, (file.mtime, file.mtime))
