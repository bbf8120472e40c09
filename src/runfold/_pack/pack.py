"""`pack` and `unpack`: logdirs to Parquet and back; the output is complete or absent."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from runfold._atomic import replace_file, replace_folders
from runfold._conventions import PACK_MARKER, PACK_PART
from runfold._humanize import escape, human_bytes, utf8
from runfold._logdir.discover import discover
from runfold._logdir.run_parts import find_parts
from runfold._pack.memory_budget import check_series, most_rows_size, rows_size
from runfold._pack.pack_layout import SUFFIX, VERSION
from runfold._pack.pack_paths import find_packs
from runfold._progress import progress_bar
from runfold._storage.local_paths import copy_files
from runfold.errors import BadPack, OutputExists, RunfoldError, UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from runfold._atomic import StrPath
    from runfold._logdir.discover import Discovery, FoundRun
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.run_engine import Engine
    from runfold._logdir.run_log import RunLog
    from runfold._pack.pack_index import Index

# The longest name that every file system accepts, with room for a suffix.
_LONGEST_NAME = 180


@dataclass(slots=True)
class Packed:
    """The result of packing: the number of runs and problems, and the bytes before and after.

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
    engine: Engine | None = None,
    cache: PointCache | None = None,
) -> Packed:
    """Pack the runs below the given paths into a file; `only` limits them to these names.

    An engine reads the runs, and also writes their packs if there is one per run. Without an
    engine, but with a `cache`, only some tags of a run are in memory at a time.

    If `partition` is set or the output ends in a slash, writes a folder with one
    pack per run. Raises UnknownFormat for a name that readers would not recognize
    as a pack, and OutputExists for existing output that must not be overwritten.
    After an error, no new output is left, and existing output is unchanged.
    """
    target = os.fspath(output)
    is_folder = partition or target.endswith((os.sep, "/"))
    if not is_folder and not target.endswith(SUFFIX):
        raise UnknownFormat(
            f"{escape(target)}: the name of a pack must end in {SUFFIX}, or in a slash "
            "for a folder of packs."
        )
    for path in paths:
        if find_packs(path):
            raise BadPack(os.fsdecode(path), "already a pack", "Use `runfold unpack` to unpack it.")
    discovery = discover(*paths)
    discovery.runs = {
        name: run for name, run in discovery.runs.items() if only is None or name in only
    }
    if not discovery.runs:
        names = ", ".join(f"'{escape(os.fsdecode(path))}'" for path in paths)
        raise RunfoldError(f"No runs in {names}.")
    files = [file for run in discovery.runs.values() for file in run.files]
    with progress_bar(lambda: _size(files), "Packing", progress) as advance:
        if not is_folder:
            from runfold._pack.pack_writer import write_pack

            with replace_file(output, overwrite) as out:
                indexes = [write_pack(discovery, out, advance=advance, engine=engine, cache=cache)]
                size = out.tell()
                _check_size(indexes, size)
        else:
            with replace_folders([output], overwrite, (PACK_PART, PACK_MARKER)) as (folder,):
                indexes = []
                for name, write in _parts(discovery, advance, engine, cache):
                    path = os.path.join(folder, _partition_name(name), PACK_PART)
                    os.mkdir(os.path.dirname(path))
                    with open(path, "xb") as out:
                        indexes.append(write(out))
                with open(os.path.join(folder, PACK_MARKER), "x") as marker:
                    json.dump({"format": "runfold pack", "version": VERSION}, marker)
                size = _size(_files_below(folder))
                _check_size(indexes, size)
    return _describe(indexes, discovery, size)


def check_memory(cache: PointCache, logs: Iterable[RunLog]) -> None:
    """Raise NotEnoughMemory if the longest series in a file does not fit into a memory limit."""
    for whole in logs:
        for log in (whole, *whole.parts):
            for file in log.files:
                check_series(cache, log, file)


def unpack_logdir(path: StrPath, folder: StrPath, *, progress: bool | None = None) -> int:
    """Write the event files of a pack to a new folder, and return how many.

    Raises OutputExists if the folder exists. After an error, the folder is removed.
    """
    shown = os.fsdecode(path)
    (path,) = copy_files(path)
    locations = find_packs(path)
    if not locations:
        os.stat(path)
        raise BadPack(
            shown, f"not a pack: a pack is a file that ends in {SUFFIX}, or a folder of such files"
        )
    if len({location.base for location in locations}) > 1:
        raise BadPack(shown, "several packs", "Unpack each pack separately.")
    if os.path.lexists(folder):
        raise OutputExists(f"{escape(os.fsdecode(folder))} already exists. Choose a new folder.")
    from runfold._pack.pack_file import Pack, check_rows
    from runfold._pack.unpacking import unpack

    packs = [Pack(location.path) for location in locations]
    check_rows(packs)
    runs = [run for pack in packs for run in pack.index.runs]
    total = sum(file.size for run in runs for file in run.files)
    with (
        replace_folders([folder]) as (target,),
        progress_bar(lambda: total, "Unpacking", progress) as advance,
    ):
        return unpack(packs, target, advance)


def _check_size(indexes: Collection[Index], size: int) -> None:
    """Raise RunfoldError for packs that Runfold would not open."""
    rows, most = rows_size(indexes), most_rows_size(size)
    if rows > most:
        raise RunfoldError(
            f"The pack would take {human_bytes(size)} on disk but {human_bytes(rows)} in memory, "
            "because nearly all values are identical. The limit for a pack of this size is "
            f"{human_bytes(most)} in memory. Nothing was written. Pack fewer runs into each file."
        )


def _parts(
    discovery: Discovery,
    advance: Callable[[int], object],
    engine: Engine | None,
    cache: PointCache | None,
) -> Iterator[tuple[str, Callable[[BinaryIO], Index]]]:
    """Yield a function for each run that writes its pack to an open file.

    The first pack contains the problems of the whole logdir.
    """
    from runfold._pack.pack_writer import pack_apart, write_pack

    problems = discovery.problems
    if engine is None:
        for name, run in discovery.runs.items():
            part = type(discovery)({name: run}, problems, discovery.base)
            yield name, partial(write_pack, part, advance=advance, cache=cache)
            problems = []
        return

    def write(data: bytes, index: Index, file: BinaryIO) -> Index:
        file.write(data)
        advance(sum(stored.size for run in index.runs for stored in run.files))
        return index

    runs = list(discovery.runs.values())
    work = partial(pack_apart, discovery.base, problems, runs[0].name)
    packs = (pack for unit in engine.call(runs, work) for pack in unit)
    for name, (data, index) in zip(discovery.runs, packs, strict=True):
        yield name, partial(write, data, index)


def _partition_name(run: str) -> str:
    """Return the folder name for a run's pack: any name, even `../x`, becomes one safe name."""
    name = "run=" + quote(utf8(run), safe=" ")
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 17]}-{hashlib.sha256(utf8(run).encode()).hexdigest()[:16]}"
    return name


def _describe(indexes: Sequence[Index], discovery: Discovery, size: int) -> Packed:
    files = [file for index in indexes for run in index.runs for file in run.files]
    return Packed(
        len(discovery.runs) - len(find_parts(discovery.runs)),
        len(files),
        sum(file.size for file in files),
        size,
        sum(len(file.problems) for file in files) + sum(len(index.problems) for index in indexes),
        _count_left_out(discovery.runs.values()),
    )


def _count_left_out(runs: Collection[FoundRun]) -> int:
    """Count the files that are not packed in the folders of all runs."""
    folders = {run.path for run in runs}
    kept = {file for run in runs for file in (*run.files, run.config)}
    return sum(path not in kept for folder in folders for path in _files_below(folder, folders))


def _files_below(top: str, others: Collection[str] = ()) -> Iterator[str]:
    """Yield the files in a folder and below it, except those in the folders of other runs."""
    for folder, below, names in os.walk(top):
        below[:] = [name for name in below if os.path.join(folder, name) not in others]
        yield from (os.path.join(folder, name) for name in names)


def _size(paths: Collection[str] | Iterator[str]) -> int:
    return sum(os.stat(path).st_size for path in paths if os.path.exists(path))
