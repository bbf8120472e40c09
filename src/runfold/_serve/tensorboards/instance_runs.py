"""Which runs an instance shows: chosen by name, by experiment or by a condition, and followed."""

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
    """What was chosen. Nothing chosen is everything below the logdirs.

    `logdirs` are absolute paths or URLs. `runs` are whole names of runs, as
    `rf.open` names them; `experiments` are the first parts of such names, and
    stand for every run below, also for those to come. Both together add up.
    Of all these only runs that fit the condition `where` are shown.
    """

    logdirs: tuple[str, ...]
    runs: tuple[str, ...] | None = None
    experiments: tuple[str, ...] = ()
    where: str = ""

    def to_json(self) -> str:
        """The sources as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Sources:
        """The sources that were turned into text."""
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
        """The same text for sources that show the same, in whatever order they were named."""
        runs = None if self.runs is None else sorted(set(self.runs))
        parts = [sorted(set(self.logdirs)), runs, sorted(set(self.experiments)), self.where.strip()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Follower:
    """The runs of some sources, looked up again and again.

    It keeps what was read for a condition, so that the next look reads only
    what is new.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._runs = frozenset(sources.runs or ())
        self._experiments = frozenset(sources.experiments)
        self._is_all = sources.runs is None and not sources.experiments
        # What keeps runs from being shown, in the user's words; empty where nothing does.
        self.problem = ""
        self._opened: Runs | None = None
        # A URL is read from its copy here. Raises CannotStore for one that cannot be one.
        self._places = Places(sources.logdirs)

    def resolve(self) -> dict[str, FoundRun]:
        """The runs to show by the name they are shown under; none where nothing is there yet.

        Never raises for what the logs are like: a logdir that is gone, or a
        condition on what no run holds yet, gives fewer runs and is told in `problem`.
        """
        self.problem = ""
        self._fetch()
        folders = [os.path.abspath(os.path.expanduser(path)) for path in self._places.paths]
        there = [folder for folder in folders if _is_there(folder)]
        if len(there) < len(folders) and not self.problem:
            given = zip(folders, self.sources.logdirs, strict=True)
            gone = ", ".join(show_url(path) for folder, path in given if folder not in there)
            self.problem = f"There is no folder {gone}."
        if not there:
            self._opened = None
            return {}
        try:
            found = _discover(there, folders)
        except RunfoldError as error:  # deleted at this moment
            self.problem = str(error)
            return {}
        self.problem = self.problem or self._tell_gone(found, _base_of(folders))
        chosen = {run.path for name, run in found.items() if self._is_chosen(name)}
        may_miss_parts = not self._is_all and bool(find_families(found))
        if chosen and (self.sources.where or may_miss_parts):
            chosen = self._narrow(chosen, there)
        return {name: run for name, run in found.items() if run.path in chosen}

    def _fetch(self) -> None:
        """Bring the copies of URLs up to date; what cannot be fetched is told, and tried again."""
        try:
            self._places.sync()
        except RunfoldError as error:
            self.problem = str(error)
        for url, reason in self._places.troubles():
            self.problem = f"{show_url(url)}: {reason}. What was fetched before is shown."

    def _is_chosen(self, name: str) -> bool:
        return self._is_all or name in self._runs or name.partition("/")[0] in self._experiments

    def _tell_gone(self, found: dict[str, FoundRun], base: str) -> str:
        """Which of the chosen are not there any more; a folder without runs is not gone."""
        there = {*found, *(name.partition("/")[0] for name in found)}
        gone = [
            name
            for name in (*self.sources.experiments, *(self.sources.runs or ()))
            if name not in there and not os.path.exists(os.path.join(base, name))
        ]
        return f"Not there any more: {human_list(gone)}." if gone else ""

    def _narrow(self, chosen: set[str], folders: list[str]) -> set[str]:
        """The folders of those chosen runs that fit the condition, with the parts of these runs."""
        from runfold._runs import open_runs

        where = self.sources.where
        try:
            if self._opened is None:
                self._opened = open_runs(*folders, progress=False)
            else:
                self._opened.refresh()
            fitting = self._opened.where(where) if where else self._opened
            # Not the runs themselves, which would be read.
            logs = [self._opened._logdir.logs[name] for name in fitting]
        except (RunfoldError, OSError) as error:
            self._opened = None
            self.problem = str(error)
            return set() if where else chosen
        if where:
            chosen = chosen & {log.path for log in logs}
        return chosen | {part.path for log in logs if log.path in chosen for part in log.parts}


def _is_there(path: str) -> bool:
    """Whether a path leads somewhere, and a glob to anything."""
    try:
        locate(path, [])
    except LogdirNotFound:
        return False
    return True


def _base_of(paths: list[str]) -> str:
    """The folder at which the names of runs begin; of a glob it is that before its first sign."""
    return os.path.commonpath([_without_glob(path) for path in paths])


def _without_glob(path: str) -> str:
    while is_glob(path) and not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def resolve(sources: Sources) -> dict[str, FoundRun]:
    """The runs that these sources stand for at this moment, by the name they are shown under."""
    return Follower(sources).resolve()


def _discover(there: list[str], folders: list[str]) -> dict[str, FoundRun]:
    """The runs below the folders that are there, under the names that all folders give them.

    Of two logdirs one may be deleted: the runs of the other keep their names.
    """
    discovery = discover(*there)
    for run in discovery.runs.values():
        if len(there) < len(folders):
            start = os.path.relpath(discovery.base, _base_of(folders))
            run.name = os.path.normpath(os.path.join(start, run.name))
        # A file that was given by its own path need not be an event file.
        run.files = [file for file in run.files if is_event_file(file)]
    return {run.name: run for run in discovery.runs.values()}
