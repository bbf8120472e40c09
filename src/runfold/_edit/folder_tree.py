"""The folders of a logdir in their new places, with all other files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from runfold._humanize import escape, free_name
from runfold._logdir.discover import Discovery, FoundRun
from runfold.errors import CannotEdit


@dataclass(frozen=True, slots=True)
class Tree:
    """A logdir on disk: its top, and its runs by name."""

    root: str
    runs: dict[str, FoundRun]

    def list_places(self) -> dict[str, str]:
        """The folder of each run, from the top. A name has escapes where bytes are no UTF-8."""
        return {name: os.path.relpath(run.path, self.root) for name, run in self.runs.items()}

    def list_others(self, targets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield (path, place below the new top) of all that is no event file of a run.

        `targets` has the new folders of runs by name. A folder goes with the nearest
        run above it; with a run that is gone, its files are. Folders end in a slash,
        and come before what is in them.
        """
        by_path = {run.path: run for run in self.runs.values()}
        events = {path for run in self.runs.values() for path in run.files}
        pending: list[tuple[str, str | None]] = [(self.root, "")]
        while pending:
            folder, place = pending.pop()
            if folder in by_path:
                target = targets.get(by_path[folder].name)
                place = None if target is None else "" if target == os.curdir else target
            if place:
                yield folder, place + "/"
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    below = None if place is None else os.path.join(place, entry.name)
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder or _leads_to_runs(entry, by_path):
                        pending.append((entry.path, below))
                    elif below is not None and entry.path not in events:
                        yield entry.path, below

    def place_others(self, targets: Mapping[str, str], folder: str, is_linked: bool) -> None:
        """Put all that is no event file of a run below the new top."""
        for path, place in self.list_others(targets):
            target = os.path.join(folder, place)
            if place.endswith("/"):
                os.makedirs(target, exist_ok=True)
            else:
                place_file(path, target, is_linked)

    def copy_rights(self, targets: Mapping[str, str], folder: str) -> None:
        """Give the folders below the new top the rights and times of the old ones.

        Last of all: one that may not be written to could not be filled.
        """
        for path, place in self.list_others(targets):
            if place.endswith("/"):
                shutil.copystat(path, os.path.join(folder, place))

    def check_folders(self, targets: Mapping[str, str], more: Iterable[str]) -> None:
        """Refuse runs where a file is to be, in the new folders of runs or in more. CannotEdit."""
        old = self.list_places()
        folders = {place for name, place in targets.items() if place != old[name]} | {*more}
        if not folders:
            return
        files = {place for _, place in self.list_others(targets) if not place.endswith("/")}
        for folder in sorted(folders):
            above = folder
            while above:
                if above in files:
                    raise CannotEdit(
                        f"No run can be at '{escape(folder)}', because '{escape(above)}' is a file."
                        " Nothing was changed. Choose another name."
                    )
                above = os.path.dirname(above)

    def check_links(self) -> None:
        """Refuse runs that only a link leads to. Raises CannotEdit.

        What an edit in place puts aside is the logdir itself, not what lies elsewhere.
        """
        for run in self.runs.values():
            if os.path.realpath(run.path) != run.path:
                raise CannotEdit(
                    f"Run '{escape(run.name)}' is reached by a link, and is not changed in place."
                    " Edit the folder that it leads to, or to a new folder with -o."
                )


def read_tree(root: str, found: Discovery) -> Tree:
    """Return the logdir that was discovered. Raises CannotEdit where it has no runs."""
    if not found.runs:
        raise CannotEdit(f"No runs in '{escape(root)}': no file there has 'tfevents' in its name.")
    return Tree(root, found.runs)


def place_event_file(path: str, folder: str, run: str, is_linked: bool) -> None:
    """Put an event file that stays as it is into the folder of its run."""
    goal = os.path.join(folder, run, os.path.basename(path))
    place_file(path, os.path.normpath(goal), is_linked)


def place_file(path: str, target: str, is_linked: bool) -> str:
    """Put a file at its new place, and return that place.

    `is_linked` makes it another name of the same file where the disk can, for a
    result that takes the place of its source. Where merged runs have a file of the
    same name, this one gets a number behind its own.
    """
    os.makedirs(os.path.dirname(target), exist_ok=True)
    place = free_name(target, os.path.lexists, "{}.{}")
    if os.path.islink(path):
        goal = os.readlink(path)
        if not is_linked and not os.path.isabs(goal):
            goal = os.path.join(os.path.dirname(path), goal)
        os.symlink(goal, place)
        return place
    if not os.path.isfile(path):
        return place  # a pipe or a socket is part of no log
    if is_linked:
        with suppress(OSError):
            os.link(path, place, follow_symlinks=False)
            return place
    shutil.copy2(path, place)
    return place


def _leads_to_runs(entry: os.DirEntry[str], by_path: Mapping[str, FoundRun]) -> bool:
    if not entry.is_symlink() or not entry.is_dir():
        return False
    inside = os.path.join(entry.path, "")
    return entry.path in by_path or any(path.startswith(inside) for path in by_path)
