"""Runs that are still being written to: an edit in place would lose what they write later."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence

from runfold._conventions import HEARTBEAT
from runfold._humanize import human_list
from runfold._story.side_files import read_aside
from runfold._story.status import ALIVE, read_status
from runfold.errors import CannotEdit

Stamp = tuple[int, int, int, int]


def refuse_live(folders: Iterable[str], stamps: dict[str, Stamp]) -> None:
    """Raise CannotEdit if any of the runs is being written to."""
    alive = [folder for folder in folders if is_alive(folder)]
    alive += find_open(stamps)
    if alive:
        raise being_written(alive)


def being_written(paths: Sequence[str]) -> CannotEdit:
    """Return the error for runs or files that are being written to."""
    return CannotEdit(
        f"Still being written to: {human_list(paths)}. Further data would go to the backup."
        " Nothing was changed. Wait for the run to end, write to a new folder with -o, or pass"
        " --force (force=True)."
    )


def is_alive(folder: str) -> bool:
    """Return whether a tracked run has a recent heartbeat."""
    beat = read_aside(folder, HEARTBEAT)
    return read_status([beat], folder, time.time()).state in ALIVE


def stamp_files(paths: Iterable[str]) -> dict[str, Stamp]:
    """Return a stamp for each file; comparing stamps shows whether the file has changed since."""
    stamps = {}
    for path in paths:
        stat = os.stat(path)
        stamps[path] = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
    return stamps


def find_changed(stamps: dict[str, Stamp]) -> list[str]:
    """Return the files that have changed or disappeared."""
    changed = []
    for path, stamp in stamps.items():
        try:
            is_same = stamp_files([path])[path] == stamp
        except OSError:
            is_same = False
        if not is_same:
            changed.append(path)
    return changed


def find_open(stamps: dict[str, Stamp]) -> list[str]:
    """Return the files known to be open for writing in a process on this machine."""
    paths = {stamp[:2]: path for path, stamp in stamps.items()}
    open_paths = {paths[identity] for identity in _open_for_writing() if identity in paths}
    return sorted(open_paths)


def _open_for_writing() -> Iterator[tuple[int, int]]:
    for process in _list("/proc"):
        if not process.isdigit():
            continue
        for number in _list(f"/proc/{process}/fd"):
            try:
                # The owner bits from lstat show how the file was opened, without
                # accessing the file.
                if os.lstat(f"/proc/{process}/fd/{number}").st_mode & 0o200:
                    stat = os.stat(f"/proc/{process}/fd/{number}")
                    yield stat.st_dev, stat.st_ino
            except OSError:
                continue


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
