"""Writes reduced values to event files, or as one table to a data file."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from runfold._conventions import name_event_file
from runfold._humanize import escape
from runfold.errors import OutputExists

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    Curves = Mapping[str, pd.Series[Any]]  # by tag
    Reductions = Mapping[str, Curves]  # by operation

_EXTENSIONS = (".csv", ".json", ".xlsx")
_DATA_FILE = re.compile(
    r"(?P<kind>\.csv|\.json)(?P<suffix>\.gz|\.gzip|\.bz2|\.xz|\.zip|\.zst)?$|(?P<excel>\.xlsx)$",
    re.IGNORECASE,
)


def is_data_file(path: str) -> bool:
    """Whether a path has the extension of a data file."""
    return _DATA_FILE.search(path) is not None


def write_tb_events(
    data_to_write: Reductions, out_dir: str, *, overwrite: bool = False, verbose: bool = False
) -> list[str]:
    """Write one folder per operation, with an event file, and return the folders' paths.

    Each path consists of `out_dir`, a dash (unless `out_dir` ends with a slash) and the
    operation's name. If there are both "mean" and "std", "std" becomes two curves, above and below
    the mean, in `-mean+std` and `-mean-std`.

    Raises FileExistsError if a folder exists; with `overwrite`, ValueError if a folder
    contains anything that Runfold did not write. Either all folders are written, or none of them.
    """
    from tqdm import tqdm

    from runfold._atomic import check_folders, replace_folders

    prefix = out_dir if out_dir.endswith(("/", "\\")) else f"{out_dir}-"
    operations = dict(data_to_write)
    bands: dict[str, Curves] = {}
    if "mean" in operations and "std" in operations:
        means, stds = operations["mean"], operations.pop("std")
        bands["mean+std"] = {tag: means[tag] + stds[tag] for tag in means}
        bands["mean-std"] = {tag: means[tag] - stds[tag] for tag in means}
    out_dirs = [prefix + name for name in (*bands, *operations)]
    for path in out_dirs:
        with _refusing(path, overwrite):
            check_folders([path], overwrite)
    with replace_folders(out_dirs, overwrite) as folders:
        rest = iter(folders)
        for name, curves in bands.items():
            if verbose:
                print(f"Writing {name} reduction to disk...", file=sys.stderr)
            _write_events(curves, next(rest))
        bar = tqdm(operations.items(), disable=not verbose)
        for name, curves in bar:
            bar.set_description(f"Writing {name} reduction to disk")
            _write_events(curves, next(rest))
    if verbose:
        print("\n- ".join(["Created new TensorBoard event files in", *out_dirs]))
    return out_dirs


def _write_events(curves: Curves, folder: str) -> None:
    import numpy as np

    from runfold._conventions import REDUCED_SUFFIX
    from runfold._core.encoder import EventBuffer
    from runfold._export.fold_events import write_file

    now = time.time()
    buffer = EventBuffer()
    buffer.file_version(now)
    for tag, curve in curves.items():
        buffer.scalars(
            tag,
            np.ascontiguousarray(curve.index, np.int64),
            np.full(len(curve), now),
            np.ascontiguousarray(curve, np.float64),
        )
    write_file(folder, name_event_file(REDUCED_SUFFIX), [buffer])


def write_data_file(
    data_to_write: Reductions, out_path: str, *, overwrite: bool = False, verbose: bool = False
) -> str:
    """Write one table, a row per step and a column per tag and operation; return the file's path.

    The header has two rows: read the file back with
    `pandas.read_csv(path, header=[0, 1], index_col=0)`. `.csv` and `.json` can be
    followed by `.gz`, `.bz2`, `.xz`, `.zip` or `.zst`. Raises ValueError for other
    extensions, and FileExistsError for an existing file; with `overwrite`, only a
    regular file is replaced.
    """
    path = os.fspath(out_path)  # tensorboard-reducer also accepts a Path here
    match = _DATA_FILE.search(path)
    if match is None:
        raise ValueError(
            f"{out_path=} has unknown extension, should be one of {_EXTENSIONS} or compressed "
            "versions thereof like '.csv.gz', '.json.bz2', etc."
        )
    import pandas as pd

    from runfold._atomic import check_file, replace_file

    with _refusing(path, overwrite):
        check_file(path, overwrite)

    table = pd.concat(
        {name: pd.DataFrame(dict(part)) for name, part in data_to_write.items()}, axis=1
    )
    table = table.swaplevel(axis=1)
    table.index.name = "step"
    with replace_file(path, overwrite) as file:
        if match["excel"]:
            table.to_excel(file)
        else:
            text = table.to_csv() if match["kind"].lower() == ".csv" else _to_json(table)
            member = os.path.basename(path).removesuffix(match["suffix"] or "")
            _write_compressed(file, text.encode(), (match["suffix"] or "").lower(), member)
    if verbose:
        print(f"Created new data file at {out_path!r}")
    return out_path


def _to_json(table: pd.DataFrame) -> str:
    """Return the table in the layout of `DataFrame.to_json`, but with full precision.

    pandas rounds to 10 decimal places.
    """
    columns = {
        str(name): {str(step): _plain(value) for step, value in column.items()}
        for name, column in table.items()
    }
    return json.dumps(columns, separators=(",", ":"))


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_compressed(file: BinaryIO, content: bytes, suffix: str, member: str) -> None:
    if suffix == ".zip":
        import zipfile

        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, content)
    else:
        from runfold._export.compression import compress

        # `.gzip` files are plain text, as in pandas.
        with compress(file, suffix) as out:
            out.write(content)


@contextmanager
def _refusing(path: str, overwrite: bool) -> Iterator[None]:
    """Reject an existing path, with the messages that scripts may look for."""
    try:
        yield
    except (OutputExists, IsADirectoryError) as error:
        if overwrite:
            raise ValueError(
                f"Received the overwrite flag but the content of '{escape(path)}' does not look "
                f"like it was written by this program. {error}"
            ) from None
        raise FileExistsError(
            f"'{escape(path)}' already exists, pass overwrite=True (-f/--overwrite in CLI) to "
            "proceed anyway"
        ) from None
