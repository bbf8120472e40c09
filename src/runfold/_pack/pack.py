"""Logdirs packed into Parquet and unpacked again: output that is whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from runfold._atomic import replace_file, replace_folders
from runfold._conventions import PACK_MARKER, PACK_PART
from runfold._humanize import escape, human_bytes, utf8
from runfold._logdir.discover import discover
from runfold._logdir.run_parts import find_parts
from runfold._pack.memory_budget import most_rows_size, rows_size
from runfold._pack.pack_layout import SUFFIX, VERSION
from runfold._pack.pack_paths import find_packs
from runfold._progress import progress_bar
from runfold._storage.local_paths import fetch
from runfold.errors import BadPack, OutputExists, RunfoldError, UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from runfold._atomic import StrPath
    from runfold._logdir.discover import Discovery, FoundRun
    from runfold._pack.pack_index import Index

# The longest name that every file system takes, with room for the rest of it.
_LONGEST_NAME = 180


@dataclass(slots=True)
class Packed:
    """What was packed: how many runs and problems, and how many bytes became how many.

    `left_out` counts files in the runs' folders other than event files.
    """

    runs: int
    files: int
    source_bytes: int
    pack_bytes: int
    problems: int
    left_out: int


def pack_logdir(
    paths: Sequence[StrPath],
    output: StrPath,
    *,
    partition: bool = False,
    overwrite: bool = False,
    only: Collection[str] | None = None,
    progress: bool | None = None,
) -> Packed:
    """Pack the runs below some paths (or `only` some of them) into a file.

    With `partition`, or an output that ends in a slash, into a folder with one
    pack for each run. Raises UnknownFormat for a file that no reader would know for
    a pack, and OutputExists for one that may not be replaced; after any error
    nothing is left of a new one and the old one is as it was.
    """
    from runfold._pack.pack_writer import write_pack

    target = os.fspath(output)
    is_folder = partition or target.endswith((os.sep, "/"))
    if not is_folder and not target.endswith(SUFFIX):
        raise UnknownFormat(
            f"{escape(target)}: a pack is a file whose name ends in {SUFFIX}, or, with a slash "
            "at its end, a folder of such."
        )
    for path in paths:
        if find_packs(path):
            raise BadPack(os.fsdecode(path), "a pack already", "`runfold unpack` unpacks it.")
    found = discover(*paths)
    found.runs = {name: run for name, run in found.runs.items() if only is None or name in only}
    if not found.runs:
        places = ", ".join(f"'{escape(os.fsdecode(path))}'" for path in paths)
        raise RunfoldError(f"No runs in {places}.")
    files = [file for run in found.runs.values() for file in run.files]
    with progress_bar(lambda: _size(files), "Packing", progress) as advance:
        if not is_folder:
            with replace_file(output, overwrite) as out:
                indexes = [write_pack(found, out, advance=advance)]
                size = out.tell()
                _check_size(indexes, size)
        else:
            with replace_folders([output], overwrite, (PACK_PART, PACK_MARKER)) as (folder,):
                indexes = []
                for part in _parts(found):
                    (name,) = part.runs
                    path = os.path.join(folder, _partition_name(name), PACK_PART)
                    os.mkdir(os.path.dirname(path))
                    with open(path, "xb") as out:
                        indexes.append(write_pack(part, out, advance=advance))
                with open(os.path.join(folder, PACK_MARKER), "x") as marker:
                    json.dump({"format": "runfold pack", "version": VERSION}, marker)
                size = _size(_files_below(folder))
                _check_size(indexes, size)
    return _describe(indexes, found, size)


def unpack_logdir(path: StrPath, folder: StrPath, *, progress: bool | None = None) -> int:
    """Write the event files of a pack into a new folder; how many there were.

    Raises OutputExists if the folder is there; after any error it is not.
    """
    given = os.fsdecode(path)
    (path,) = fetch(path)
    places = find_packs(path)
    if not places:
        os.stat(path)
        raise BadPack(
            given, f"not a pack: those are files that end in {SUFFIX}, or folders of such"
        )
    if len({place.base for place in places}) > 1:
        raise BadPack(given, "several packs", "Unpack them one by one.")
    if os.path.lexists(folder):
        raise OutputExists(
            f"{escape(os.fsdecode(folder))} exists already. Choose a folder that is not there yet."
        )
    from runfold._pack.pack_file import Pack, check_rows
    from runfold._pack.unpacking import unpack

    packs = [Pack(place.path) for place in places]
    check_rows(packs)
    runs = [run for pack in packs for run in pack.index.runs]
    total = sum(file.size for run in runs for file in run.files)
    with (
        replace_folders([folder]) as (target,),
        progress_bar(lambda: total, "Unpacking", progress) as advance,
    ):
        return unpack(packs, target, advance)


def _check_size(indexes: Collection[Index], size: int) -> None:
    """Raise RunfoldError for packs that Runfold would refuse to open."""
    rows, most = rows_size(indexes), most_rows_size(size)
    if rows > most:
        raise RunfoldError(
            f"These logs pack into {human_bytes(size)}, but their rows take {human_bytes(rows)} "
            f"of memory, and Runfold opens a pack of this size only up to {human_bytes(most)}: "
            "their values are nearly all the same. Nothing was written. "
            "Pack fewer runs into each file."
        )


def _parts(found: Discovery) -> Iterator[Discovery]:
    """A logdir for each run; what is wrong with the tree goes with the first."""
    problems = found.problems
    for name, run in found.runs.items():
        yield type(found)({name: run}, problems, found.base)
        problems = []


def _partition_name(run: str) -> str:
    """The folder of a run's pack: any name, `../x` and `a/b` too, becomes one safe part."""
    name = "run=" + quote(utf8(run), safe=" ")
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 17]}-{hashlib.sha256(utf8(run).encode()).hexdigest()[:16]}"
    return name


def _describe(indexes: Sequence[Index], found: Discovery, size: int) -> Packed:
    files = [file for index in indexes for run in index.runs for file in run.files]
    return Packed(
        len(found.runs) - len(find_parts(found.runs)),
        len(files),
        sum(file.size for file in files),
        size,
        sum(len(file.problems) for file in files) + sum(len(index.problems) for index in indexes),
        _count_left_out(found.runs.values()),
    )


def _count_left_out(runs: Collection[FoundRun]) -> int:
    """Count the files in the folders of all runs that are not packed."""
    folders = {run.path for run in runs}
    kept = {file for run in runs for file in (*run.files, run.config)}
    return sum(path not in kept for folder in folders for path in _files_below(folder, folders))


def _files_below(top: str, others: Collection[str] = ()) -> Iterator[str]:
    """Yield the files in a folder and below it, but not those in the folders of other runs."""
    for folder, below, names in os.walk(top):
        below[:] = [name for name in below if os.path.join(folder, name) not in others]
        yield from (os.path.join(folder, name) for name in names)


def _size(paths: Collection[str] | Iterator[str]) -> int:
    return sum(os.stat(path).st_size for path in paths if os.path.exists(path))
