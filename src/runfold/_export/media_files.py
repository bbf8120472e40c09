"""Pictures and clips of a table as separate files, named by run, tag, step and index."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runfold._events.kinds import audio, image
from runfold._export.file_names import Claims, portable_name
from runfold._files import replace_small
from runfold._humanize import escape
from runfold._undo import Undo
from runfold.errors import OutputExists

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runfold._tables.frames.frame import Table

# The classes of media, by the parameter of `export` that sets their folder.
MEDIA = {"images": image.Image, "audio": audio.Audio}
_SUFFIXES = {"jpeg": ".jpg", **audio.SUFFIXES}


class MediaFolder:
    """A folder that gets one file per picture or clip."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self._claims = Claims()

    def save(self, table: Table, kind: type, base: str) -> tuple[Table, list[str]]:
        """Save a table's media of a kind; return the table with paths, and notes on lost values.

        Paths are relative to the folder `base`, with slashes on every system.
        """
        notes: dict[str, None] = {}
        for number, name in enumerate(table.columns):
            cells = table.iloc[:, number].tolist() if table.dtypes.iloc[number].kind == "O" else []
            if not any(isinstance(cell, kind) for cell in cells):
                continue
            paths: list[str | None] = []
            for row, cell in enumerate(cells):
                path = None
                if cell is not None:
                    try:
                        path = self._write(_stem(table, row), cell.data)
                    except ValueError as error:
                        notes[f"{name}: a value was left out: {error}"] = None
                paths.append(path and os.path.relpath(path, base).replace(os.sep, "/"))
            table = table.copy(deep=False)
            table.isetitem(number, paths)
        return table, list(notes)

    def _write(self, stem: str, data: bytes) -> str:
        kind = image.sniff(data) or audio.sniff(data) or "bin"
        name = self._claims.claim(stem, _SUFFIXES.get(kind, f".{kind}"))
        path = os.path.join(self.path, name)
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        replace_small(path, data)
        self.count += 1
        return path


def _stem(table: Table, row: int) -> str:
    """Return a path such as `seed-1/train%2Fsample/7-0`.

    The path always has three parts, so that no file conflicts with a folder.
    """
    names = [table[name].iloc[row] if name in table else "" for name in ("run", "tag")]
    numbers = [str(table[name].iloc[row]) for name in ("step", "index") if name in table]
    parts: list[Any] = [portable_name(str(name)) for name in names]
    return os.path.join(*parts, "-".join(numbers) or "0")


@contextmanager
def open_folder(path: str | os.PathLike[str], overwrite: bool) -> Iterator[MediaFolder]:
    """Yield a folder for media; a new folder is removed after an error.

    Raises OutputExists for a folder that is not empty, unless `overwrite` is set. Files
    with the same names are then overwritten, and others are kept.
    """
    folder = os.fspath(path)
    is_new = not os.path.lexists(folder)
    if not is_new:
        if not os.path.isdir(folder):
            raise OutputExists(f"{escape(folder)} is a file. Specify a folder.")
        if os.listdir(folder) and not overwrite:
            raise OutputExists(
                f"{escape(folder)} is not empty. Use --overwrite, or overwrite=True in Python, to "
                "write into it."
            )
    with Undo() as undo:
        if is_new:
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
        yield MediaFolder(folder)
        undo.pop_all()
