"""Runs that are still being written: an edit in place would lose what they log from now on."""

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
    """Refuse runs that are being written. Raises CannotEdit."""
    alive = [folder for folder in folders if is_alive(folder)]
    alive += find_open(stamps)
    if alive:
        raise being_written(alive)


def being_written(paths: Sequence[str]) -> CannotEdit:
    """What to say of runs or files that are being written."""
    return CannotEdit(
        f"Being written: {human_list(paths)}. What is logged from now on would go to the backup."
        " Nothing was changed. Wait for the run to end, write to a new folder with -o, or insist"
        " with --force (force=True)."
    )


def is_alive(folder: str) -> bool:
    """Whether the heart of a tracked run beats."""
    beat = read_aside(folder, HEARTBEAT)
    return read_status([beat], folder, time.time()).state in ALIVE


def stamp_files(paths: Iterable[str]) -> dict[str, Stamp]:
    """What tells whether a file changes from now on."""
    found = {}
    for path in paths:
        stat = os.stat(path)
        found[path] = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
    return found


def find_changed(stamps: dict[str, Stamp]) -> list[str]:
    """The files that are not as they were; one that is gone has changed, too."""
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
    """The files that a process of this machine has open for writing, as far as one may see."""
    wanted = {stamp[:2]: path for path, stamp in stamps.items()}
    found = {wanted[identity] for identity in _open_for_writing() if identity in wanted}
    return sorted(found)


def _open_for_writing() -> Iterator[tuple[int, int]]:
    for process in _list("/proc"):
        if not process.isdigit():
            continue
        for number in _list(f"/proc/{process}/fd"):
            try:
                # lstat's owner bits say how it was opened, without asking the file itself.
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
