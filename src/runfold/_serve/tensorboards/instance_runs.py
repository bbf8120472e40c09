"""The runs that an instance shows: selected by name, experiment or condition, and followed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from runfold._conventions import is_event_file
from runfold._humanize import human_list
from runfold._logdir.discover import FoundRun, discover
from runfold._logdir.hparams_folders import find_families
from runfold._logdir.log_paths import locate
from runfold._select import is_glob
from runfold._storage.local_paths import Places
from runfold._storage.url import show_url
from runfold.errors import LogdirNotFound, RunfoldError

if TYPE_CHECKING:
    from runfold._runs import Runs


@dataclass(frozen=True, slots=True)
class Sources:
    """A selection of runs; by default, everything below the logdirs.

    `logdirs` are absolute paths or URLs. `runs` are full run names, as in `rf.open`.
    `experiments` are the first parts of such names and include every run below them, even
    future ones. Runs selected by either are shown, if they match the condition `where`.
    """

    logdirs: tuple[str, ...]
    runs: tuple[str, ...] | None = None
    experiments: tuple[str, ...] = ()
    where: str = ""

    def to_json(self) -> str:
        """Return the sources as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Sources:
        """Parse sources that `to_json` returned."""
        kept: dict[str, Any] = json.loads(text)
        runs = kept["runs"]
        return cls(
            tuple(kept["logdirs"]),
            None if runs is None else tuple(runs),
            tuple(kept["experiments"]),
            kept["where"],
        )

    @property
    def key(self) -> str:
        """A string that is equal for sources that show the same runs, in any order."""
        runs = None if self.runs is None else sorted(set(self.runs))
        parts = [sorted(set(self.logdirs)), runs, sorted(set(self.experiments)), self.where.strip()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Follower:
    """The runs that the given sources select, looked up repeatedly.

    Data that was read for a condition is kept, so that the next lookup reads only new
    data.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._runs = frozenset(sources.runs or ())
        self._experiments = frozenset(sources.experiments)
        self._is_all = sources.runs is None and not sources.experiments
        # Why some runs are not shown, as a message for the user; empty if all runs are shown.
        self.problem = ""
        self._opened: Runs | None = None
        # TensorBoard needs a local copy of URLs. Raises CannotStore for an invalid URL.
        self._places = Places(sources.logdirs, is_copied=True)

    def resolve(self) -> dict[str, FoundRun]:
        """Return the runs to show, by the name to show them under.

        Problems in the logs raise no exception: a deleted logdir, or a condition on
        values that no run has yet, results in fewer runs and a message in `problem`.
        """
        self.problem = ""
        self._fetch()
        folders = [os.path.abspath(os.path.expanduser(path)) for path in self._places.paths]
        existing = [folder for folder in folders if exists(folder)]
        if len(existing) < len(folders) and not self.problem:
            pairs = zip(folders, self.sources.logdirs, strict=True)
            missing = ", ".join(show_url(path) for folder, path in pairs if folder not in existing)
            self.problem = f"No such folder: {missing}."
        if not existing:
            self._opened = None
            return {}
        try:
            runs = _discover(existing, folders)
        except RunfoldError as error:  # deleted just now
            self.problem = str(error)
            return {}
        self.problem = self.problem or self._find_missing(runs, _base_of(folders))
        chosen = {run.path for name, run in runs.items() if self._is_chosen(name)}
        may_miss_parts = not self._is_all and bool(find_families(runs))
        if chosen and (self.sources.where or may_miss_parts):
            chosen = self._narrow(chosen, existing)
        return {name: run for name, run in runs.items() if run.path in chosen}

    def _fetch(self) -> None:
        """Update the local copies of URLs. Errors are reported, and the next update tries again."""
        try:
            self._places.sync()
        except RunfoldError as error:
            self.problem = str(error)
        for url, reason in self._places.troubles():
            self.problem = f"{show_url(url)}: {reason}. Showing what was fetched earlier."

    def _is_chosen(self, name: str) -> bool:
        return self._is_all or name in self._runs or name.partition("/")[0] in self._experiments

    def _find_missing(self, runs: dict[str, FoundRun], base: str) -> str:
        """Report selected names that no longer exist. A folder without runs counts as existing."""
        existing = {*runs, *(name.partition("/")[0] for name in runs)}
        missing = [
            name
            for name in (*self.sources.experiments, *(self.sources.runs or ()))
            if name not in existing and not os.path.exists(os.path.join(base, name))
        ]
        return f"No longer found: {human_list(missing)}." if missing else ""

    def _narrow(self, chosen: set[str], folders: list[str]) -> set[str]:
        """Return the folders of selected runs that match the condition, including their parts."""
        from runfold._runs import open_runs

        where = self.sources.where
        try:
            if self._opened is None:
                self._opened = open_runs(*folders, progress=False)
            else:
                self._opened.refresh()
            matching = self._opened.where(where) if where else self._opened
            # Run objects are not used, because creating them would read the runs.
            logs = [self._opened._logdir.logs[name] for name in matching]
        except (RunfoldError, OSError) as error:
            self._opened = None
            self.problem = str(error)
            return set() if where else chosen
        if where:
            chosen = chosen & {log.path for log in logs}
        return chosen | {part.path for log in logs if log.path in chosen for part in log.parts}


def exists(path: str) -> bool:
    """Whether a path exists, or a glob matches anything."""
    try:
        locate(path, [])
    except LogdirNotFound:
        return False
    return True


def _base_of(paths: list[str]) -> str:
    """Return the folder at which run names start; for a glob, the part before its pattern."""
    return os.path.commonpath([_without_glob(path) for path in paths])


def _without_glob(path: str) -> str:
    while is_glob(path) and not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def resolve(sources: Sources) -> dict[str, FoundRun]:
    """Return the runs that these sources currently select, by the name to show them under."""
    return Follower(sources).resolve()


def _discover(existing: list[str], folders: list[str]) -> dict[str, FoundRun]:
    """Find the runs in the existing folders, with names relative to all folders.

    If one of two logdirs is deleted, the runs of the other keep their names.
    """
    discovery = discover(*existing)
    for run in discovery.runs.values():
        if len(existing) < len(folders):
            start = os.path.relpath(discovery.base, _base_of(folders))
            run.name = os.path.normpath(os.path.join(start, run.name))
        # A path given by the user need not be that of an event file.
        run.files = [file for file in run.files if is_event_file(file)]
    return {run.name: run for run in discovery.runs.values()}
