"""Output of a fold or a comparison as tables, or of a fold as event files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from runfold._atomic import check_file, check_folders
from runfold._export.fold_events import list_folders, write_event_files
from runfold._humanize import escape
from runfold.errors import OutputExists, UnknownFormat

if TYPE_CHECKING:
    from runfold._compare.comparison import Comparison
    from runfold._reduce.folded import Folded

# `fold.v2` and `lr-0.1` are folder names; `fold.xls` looks like a file.
_LIKE_A_SUFFIX = re.compile(r"\.[a-z]{2,7}", re.IGNORECASE)
_PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")


def is_table(path: str) -> bool:
    """Return whether a path is a table rather than folders of event files.

    Raises UnknownFormat for a path that looks like a file of an unknown format, so that `fold.jsn`
    does not create a folder `fold.jsn-mean`. The same applies to `-`, and to the empty path that
    `-o "$OUT"` passes if OUT is not set.
    """
    if path in ("", "-"):
        raise UnknownFormat(
            f"'{path}' is not a valid output. Specify a file such as fold.csv, or a folder "
            "prefix such as fold/."
        )
    suffix = os.path.splitext(path)[1]
    if path.endswith(os.sep) or not suffix:
        if os.path.exists(path) and not os.path.isdir(path):
            raise UnknownFormat(
                f"{escape(path)} is a file without a suffix, so its format is unknown. Specify "
                "a file such as fold.csv, or another folder prefix."
            )
        return False
    from runfold._export.table_file import check_path

    try:
        check_path(path)
    except UnknownFormat as error:
        if not _LIKE_A_SUFFIX.fullmatch(suffix):
            return False
        picture = "`runfold plot` draws pictures. " if suffix.lower() in _PICTURES else ""
        raise UnknownFormat(
            f"{error} {picture}To write event files to a folder with this name, add a slash: "
            f"{escape(path)}/"
        ) from None
    return True


def check_outputs(folded: Folded, paths: Iterable[str], overwrite: bool = False) -> None:
    """Check all outputs before any is written. Raises the same errors as the writers.

    Also raises OutputExists for a repeated path.
    """
    taken: set[str] = set()
    for path in paths:
        if is_table(path):
            check_file(path, overwrite)
            outputs = [path]
        else:
            outputs = list_folders(folded, path)
            check_folders(outputs, overwrite)
        for output in map(os.path.realpath, outputs):
            if output in taken:
                raise OutputExists(
                    f"{escape(path)} would be written twice; nothing was written. Specify each "
                    "output once."
                )
            taken.add(output)


def write_output(
    folded: Folded,
    path: str,
    *,
    overwrite: bool = False,
    float64: bool = False,
    digits: int | None = None,
    escape_formulas: bool = False,
) -> list[str]:
    """Write a fold in the format of its path, and return the new files or folders.

    A format ignores the options that do not apply to it.
    """
    if not is_table(path):
        return write_event_files(folded, path, overwrite=overwrite, float64=float64)
    from runfold._export.fold_rows import join_rows
    from runfold._export.table_file import check_path, write_table

    rounded = digits if check_path(path).table_format.is_rounded else None
    columns = join_rows(folded)
    return [write_table(columns, path, overwrite, escape_formulas=escape_formulas, digits=rounded)]


def list_tables(comparison: Comparison, path: str) -> dict[str, str]:
    """Return the file for each table of a comparison that has rows, such as `a-groups.csv`.

    Raises UnknownFormat for a path without a table format.
    """
    from runfold._compare.comparison import ROWS
    from runfold._export.table_file import check_path

    form = check_path(path)
    size = len(path) - len(form.suffix + form.compression)
    stem, suffix = path[:size], path[size:]
    names = [name for name in ROWS if getattr(comparison, name)]
    return {name: f"{stem}-{name.replace('_', '-')}{suffix}" for name in names}


def write_comparison(
    comparison: Comparison,
    paths: Iterable[str],
    *,
    overwrite: bool = False,
    digits: int | None = None,
    escape_formulas: bool = False,
) -> list[str]:
    """Write the tables of a comparison to the files of `list_tables`, and return the files.

    All paths are checked before anything is written. `digits` applies to human-readable
    formats; others ignore it.
    """
    from runfold._export.table_file import check_path, write_table

    files = [(file, name) for path in paths for name, file in list_tables(comparison, path).items()]
    for file, _ in files:
        check_file(file, overwrite)
    return [
        write_table(
            comparison.columns(name),
            file,
            overwrite,
            escape_formulas=escape_formulas,
            digits=digits if check_path(file).table_format.is_rounded else None,
        )
        for file, name in files
    ]
