"""The folders of a logdir and all files in them except event files, moved to new paths."""

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
    """A logdir on disk: its top folder, and its runs by name."""

    root: str
    runs: dict[str, FoundRun]

    def list_folders(self) -> dict[str, str]:
        """Return the folder of each run, relative to the top; it can differ from the run's name."""
        return {name: os.path.relpath(run.path, self.root) for name, run in self.runs.items()}

    def list_others(self, targets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield (path, path below the new top) for everything except the event files of runs.

        `targets` maps the names of runs to their new folders. A folder moves with the
        nearest run above it; the files of deleted runs are left out. Folders end in
        a slash and precede their content.
        """
        by_path = {run.path: run for run in self.runs.values()}
        events = {path for run in self.runs.values() for path in run.files}
        pending: list[tuple[str, str | None]] = [(self.root, "")]
        while pending:
            folder, new_path = pending.pop()
            if folder in by_path:
                target = targets.get(by_path[folder].name)
                new_path = None if target is None else "" if target == os.curdir else target
            if new_path:
                yield folder, new_path + "/"
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    below = None if new_path is None else os.path.join(new_path, entry.name)
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder or _leads_to_runs(entry, by_path):
                        pending.append((entry.path, below))
                    elif below is not None and entry.path not in events:
                        yield entry.path, below

    def place_others(self, targets: Mapping[str, str], folder: str, is_linked: bool) -> None:
        """Copy everything except the event files of runs to its path below the new top."""
        for path, new_path in self.list_others(targets):
            target = os.path.join(folder, new_path)
            if new_path.endswith("/"):
                os.makedirs(target, exist_ok=True)
            else:
                place_file(path, target, is_linked)

    def copy_rights(self, targets: Mapping[str, str], folder: str) -> None:
        """Give the new folders the permissions and times of the old ones.

        Call this last, because a read-only folder cannot be filled.
        """
        for path, new_path in self.list_others(targets):
            if new_path.endswith("/"):
                shutil.copystat(path, os.path.join(folder, new_path))

    def check_folders(self, targets: Mapping[str, str], more: Iterable[str]) -> None:
        """Raise CannotEdit if the new folder of a run, or one of `more`, is occupied by a file."""
        old = self.list_folders()
        folders = {new_path for name, new_path in targets.items() if new_path != old[name]} | {
            *more
        }
        if not folders:
            return
        files = {
            new_path for _, new_path in self.list_others(targets) if not new_path.endswith("/")
        }
        for folder in sorted(folders):
            above = folder
            while above:
                if above in files:
                    raise CannotEdit(
                        f"No run can be created at '{escape(folder)}', because '{escape(above)}' is"
                        " a file. Nothing was changed. Choose another name."
                    )
                above = os.path.dirname(above)

    def check_links(self) -> None:
        """Raise CannotEdit for runs that are only reachable through a link.

        An edit in place backs up only the logdir itself, not the targets of links.
        """
        for run in self.runs.values():
            if os.path.realpath(run.path) != run.path:
                raise CannotEdit(
                    f"Run '{escape(run.name)}' is reached through a link and cannot be edited in"
                    " place. Edit the link's target, or write to a new folder with -o."
                )


def read_tree(root: str, discovery: Discovery) -> Tree:
    """Return the discovered logdir. Raises CannotEdit if it has no runs."""
    if not discovery.runs:
        raise CannotEdit(f"No runs in '{escape(root)}': no file there has 'tfevents' in its name.")
    return Tree(root, discovery.runs)


def place_event_file(path: str, folder: str, run: str, is_linked: bool) -> None:
    """Put an unchanged event file into the folder of its run."""
    goal = os.path.join(folder, run, os.path.basename(path))
    place_file(path, os.path.normpath(goal), is_linked)


def place_file(path: str, target: str, is_linked: bool) -> str:
    """Put a file at its new path, and return that path.

    If `is_linked` is set, because the result replaces its source, creates a hard link if
    the file system supports it. If merged runs have files of the same name, a number is
    appended.
    """
    os.makedirs(os.path.dirname(target), exist_ok=True)
    new_path = free_name(target, os.path.lexists, "{}.{}")
    if os.path.islink(path):
        goal = os.readlink(path)
        if not is_linked and not os.path.isabs(goal):
            goal = os.path.join(os.path.dirname(path), goal)
        os.symlink(goal, new_path)
        return new_path
    if not os.path.isfile(path):
        return new_path  # pipes and sockets are not part of a log
    if is_linked:
        with suppress(OSError):
            os.link(path, new_path, follow_symlinks=False)
            return new_path
    shutil.copy2(path, new_path)
    return new_path


def _leads_to_runs(entry: os.DirEntry[str], by_path: Mapping[str, FoundRun]) -> bool:
    if not entry.is_symlink() or not entry.is_dir():
        return False
    inside = os.path.join(entry.path, "")
    return entry.path in by_path or any(path.startswith(inside) for path in by_path)
