"""Finds runs, reads them on all cores and keeps them up to date."""

from __future__ import annotations

import operator
import os
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runfold._events.problems import Code, Problem
from runfold._humanize import escape, human_count
from runfold._logdir.bulk_read import Reader, read_ahead
from runfold._logdir.config_files import ConfigFiles
from runfold._logdir.discover import Discovery, discover
from runfold._logdir.gc_pause import pause_collector
from runfold._logdir.hparams_folders import Joins, find_families
from runfold._logdir.point_cache import PointCache
from runfold._logdir.run_log import RunLog
from runfold._logdir.small_runs import SmallRuns
from runfold._logdir.tree_state import TreeState
from runfold._progress import progress_bar
from runfold._storage.local_paths import Places
from runfold._storage.url import mask_url, show_url
from runfold.errors import BadLog, CannotStore, LogdirNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runfold._events.event_file import EventFile
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.run_engine import Engine

_MAX_THREADS = 8

# Small runs take more time in Python than in the decoder, and only the decoder releases
# the GIL. With less data than this per run or per thread, another thread costs more than
# it gains.
_BYTES_PER_RUN = 256 << 10
_BYTES_PER_THREAD = 64 << 20

# The bytes of a batch of points that an engine decodes: enough to make the time for sending it
# negligible, and few enough to have several of them on their way.
_ENGINE_ROOM = 256 << 20

# The problem codes for a folder that could not be listed.
_UNLISTED = {Code.DIRECTORY_VANISHED, Code.UNREADABLE_DIRECTORY}

# The number of runs sampled to estimate the average size.
_SAMPLE = 16


@dataclass(slots=True)
class Changes:
    """The result of a refresh; all fields are empty if nothing changed.

    Attributes:
        runs: the names of new runs.
        gone: the names of runs that are no longer listed.
        points: the number of new values, including hidden ones.
        reread: files that were replaced and read again.
        missing: files that have disappeared since the last refresh.
    """

    runs: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    points: int = 0
    reread: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.runs or self.gone or self.points or self.reread or self.missing)


@dataclass(slots=True)
class Recalled:
    """A run about which only facts were known until a refresh read it.

    Attributes:
        points: the number of new values.
        reread: the files that have been replaced.
        missing: the files that have disappeared.
        has_changed: whether there is new data or a new problem.
    """

    log: RunLog
    points: int
    reread: list[str]
    missing: list[str]

    @property
    def has_changed(self) -> bool:
        return bool(self.points or self.reread or any(file.trouble for file in self.log.all_files))


class Logdir:
    """The runs below the given paths. They are found at once and read on demand.

    A folder that `add_hparams` created inside a run's folder is part of that run.
    If `join` is off, each of these folders is a separate run. If `find_config` is off, the
    settings of a run are only its hparams. With a limit, in bytes, or an engine, points are decoded
    when they are needed. If `copy` is set, URLs are copied before they are read.
    """

    # Whether what was read is kept for the next program; see `IndexedLogdir`.
    is_indexed = False

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        restarts: str = "session",
        strict: bool = False,
        progress: bool | None = None,
        join: bool = True,
        find_config: bool = True,
        limit_memory: int | None = None,
        copy: bool = False,
        engine: Engine | None = None,
    ) -> None:
        self.cache = _make_cache(limit_memory, engine)
        self.paths = paths
        # Event files at URLs are read in place, or from a local copy.
        self.places = Places(paths, is_copied=copy)
        self.restarts = restarts
        self.strict = strict
        self.progress = progress
        self.config_files = ConfigFiles() if find_config else None
        # Two threads can call methods at once, but only one may read a file.
        self._lock = threading.RLock()
        self.sync()
        # What the last search depended on, if all paths are URLs.
        self._listings = self.places.listings()
        # What the last search of a refresh depended on. The first search does not record it,
        # because most logdirs are never refreshed.
        self._tree: TreeState | None = None
        with pause_collector():
            # The log of every folder with event files, including folders that are parts of runs.
            self._folders, self._found_problems = self._find()
        self._joins = Joins() if join else None
        # The folders that may be parts, by run. The list of runs is final only after reading them.
        self._families = self._find_families()
        self._logs = None if self._families else self._folders
        # Runs with parts.
        self._parted: set[str] = set()
        # The names of listed runs whose files had new data or a new problem at the last refresh.
        self.altered: list[str] = []
        self._note(self._found_problems)

    def _find(self) -> tuple[Mapping[str, RunLog], list[Problem]]:
        """Return the logs of all folders with event files, and the problems of the search."""
        discovery = self._discover()
        self._list_config_files(discovery)
        logs = {name: self._make_log(run) for name, run in discovery.runs.items()}
        return logs, discovery.problems

    def _find_families(self) -> dict[str, list[str]]:
        return {} if self._joins is None else find_families(self._folders)

    @property
    def logs(self) -> Mapping[str, RunLog]:
        """The runs by name.

        The first access reads the folders that may be parts of a run, and their
        runs, to decide which folders are parts. If there are no such folders, nothing is read.
        """
        if self._logs is None:
            with self._lock:
                if self._logs is None:
                    self._logs = self._join()
        return self._logs

    def _join(self, is_refresh: bool = False) -> Mapping[str, RunLog]:
        """Return the runs by name, with their parts joined."""
        if self._joins is None:
            return self._folders
        folders = self._folders
        owners = self._find_owners(self._joins, is_refresh)
        parts: dict[str, list[RunLog]] = {}
        for run, family in self._families.items():
            for name in family:
                folders[name].rename(owners.get(name, name))
            parts[run] = [folders[name] for name in family if owners.get(name) == run]
        # Include runs that have lost their last part: they are no longer in any family.
        for run in self._parted | parts.keys():
            if run in folders:
                folders[run].join(parts.get(run, []))
        self._parted = {run for run, own in parts.items() if own}
        return {name: log for name, log in folders.items() if name not in owners}

    def _find_owners(self, joins: Joins, is_refresh: bool) -> dict[str, str]:
        """Read the folders that may be parts, and return the run of each that is one."""
        folders = self._folders
        names = {*self._families, *(name for parts in self._families.values() for name in parts)}
        self._read([folders[name] for name in names if not folders[name].is_loaded], is_refresh)
        return joins.find(self._families, folders)

    def explain_part(self, name: str) -> str:
        """Return an explanation if a name belongs to a folder that is part of a run, else ""."""
        if name not in self._folders or name in self.logs:
            return ""
        owner = escape(self._folders[name].name)
        return (
            f"'{escape(name)}' is part of the run '{owner}': add_hparams created this folder"
            f" inside the run's folder. Use '{owner}' instead."
        )

    def folders_of(self, runs: Iterable[str]) -> set[str]:
        """Return the names of the folders that make up the given runs."""
        chosen = {id(log) for run in runs for log in (self.logs[run], *self.logs[run].parts)}
        return {name for name, log in self._folders.items() if id(log) in chosen}

    def _note(self, problems: list[Problem]) -> None:
        """Store the problems of the folder tree. Raises BadLog in strict mode if there are any."""
        self.problems = problems + [
            Problem.of(Code.READ_ERROR, mask_url(url), detail=reason)
            for url, reason in self.places.troubles()
        ]
        if self.strict and self.problems:
            raise BadLog(self.problems[0])

    def _discover(self, state: TreeState | None = None) -> Discovery:
        return discover(*self.places.paths, state=state, places=self.places)

    def sync(self) -> bool:
        """List the files of paths that are URLs; return whether there was anything new.

        Raises CannotStore or LogdirNotFound if there is nothing to read.
        """
        return self.places.sync(
            lambda total: progress_bar(lambda: total, "Fetching", self.progress)
        )

    def _make_log(self, run: FoundRun) -> RunLog:
        return RunLog(run, self.restarts, self.strict, self.config_files, self.cache)

    def _list_config_files(self, discovery: Discovery) -> None:
        if self.config_files is not None and discovery.tops:
            self.config_files.update(discovery.config_files, discovery.tops)

    def load(self, logs: Iterable[RunLog] | None = None) -> None:
        """Read the given runs (default: all) that have not been read yet.

        In strict mode, raises BadLog with the first problem in any of them, on
        every call.
        """
        with self._lock:
            requested = list(self.logs.values() if logs is None else logs)
            self._read([log for log in requested if not log.is_loaded])
        self._refuse_problems(requested)

    def refresh(self) -> Changes:
        """Look for new runs and files, and read new data from runs that were read before.

        A run whose folder was deleted is dropped, and its data is freed. If the
        folder reappears, it is read from scratch. If only a file is
        missing, a folder above cannot be listed, or the logdir or a link's target is missing,
        the data is kept and a problem is reported: a network disk may be unavailable for a moment.
        """
        with suppress(LogdirNotFound):  # everything is missing, which is handled below
            self.sync()
        return self.look_again()

    def look_again(self) -> Changes:
        """Refresh without fetching new data for paths that are URLs; `sync` does that."""
        with self._lock:
            return self._refresh()

    def _refresh(self) -> Changes:
        before = self.logs
        tree, discovery = self._tree, None
        listings = self.places.listings()
        has_same_files = _are_same(listings, self._listings)
        if not has_same_files and (tree is None or not tree.is_current()):
            self._listings = None
            # If the refresh fails, the next one must search again.
            self._tree, tree = None, _new_state(tree)
            discovery = self._discover_again(tree)
            self._list_config_files(discovery)
            self._found_problems = discovery.problems
            self._listings = listings
        elif self.config_files is not None:
            self.config_files.expire()
        self._note(self._found_problems)
        recalled = self._recall(discovery)
        loaded = self._list_loaded()
        if discovery is None:
            loaded = _may_have_changed(loaded, tree)
        seen = [
            (log.name, file, file.points, file.rereads) for log in loaded for file in log.all_files
        ]
        gone = {id(file) for _, file, _, _ in seen if is_gone(file)}
        watched = loaded if discovery is None else before.values()
        states = {log.name: log.file_states for log in watched}
        if discovery is None:
            self._read(loaded, is_refresh=True)
        else:
            self._update_folders(discovery)
            self._read(_may_have_changed(loaded, tree), is_refresh=True)
            self._families = self._find_families()
        if discovery is not None or self._families or self._parted:
            self._logs = self._join(is_refresh=True)
        logs = self.logs
        loaded = [log for log in loaded if logs.get(log.name) is log]
        if self.strict:
            read = (log for log in before.values() if log.is_loaded)
            self._refuse_problems(log for log in read if logs.get(log.name) is log)
        self._tree = tree
        recalled = [run for run in recalled if logs.get(run.log.name) is run.log]
        self.altered = [
            name
            for name, state in states.items()
            if name in logs and logs[name].file_states != state
        ]
        known = set(self.altered)
        self.altered += [
            run.log.name for run in recalled if run.has_changed and run.log.name not in known
        ]
        files = [file for log in loaded for file in log.all_files]
        seen = [entry for entry in seen if entry[0] in logs]
        return Changes(
            runs=[name for name in logs if name not in before],
            gone=[name for name in before if name not in logs],
            points=sum(file.points for file in files)
            - sum(points for _, _, points, _ in seen)
            + sum(run.points for run in recalled),
            reread=[file.path for _, file, _, rereads in seen if file.rereads > rereads]
            + [path for run in recalled for path in run.reread],
            missing=[file.path for file in files if is_gone(file) and id(file) not in gone]
            + [path for run in recalled for path in run.missing],
        )

    def _recall(self, discovery: Discovery | None) -> list[Recalled]:
        """Read the runs about which only facts were known so far, and which have changed.

        `discovery` is the result of a new search, if there was one.
        """
        return []

    def _list_loaded(self) -> list[RunLog]:
        """Return the logs that have been read."""
        return [log for log in self.logs.values() if log.is_loaded]

    def _update_folders(self, discovery: Discovery) -> None:
        unlisted = [problem.file for problem in discovery.problems if problem.code in _UNLISTED]
        folders = {
            name: log
            for name, log in self._folders.items()
            if name in discovery.runs or not _is_deleted(log.path, unlisted)
        }
        for name, run in discovery.runs.items():
            if name in folders:
                folders[name].update(run)
            else:
                folders[name] = self._make_log(run)
        # Restore TensorBoard's order, with missing runs last.
        order = {name: number for number, name in enumerate(discovery.runs)}
        self._folders = dict(
            sorted(folders.items(), key=lambda entry: order.get(entry[0], len(order)))
        )

    def _discover_again(self, state: TreeState | None) -> Discovery:
        try:
            return self._discover(state)
        except LogdirNotFound:
            # The logdir existed before and, like a missing run, may come back.
            paths = self.places.paths
            lost = next((path for path in paths if not os.path.exists(path)), paths[0])
            return Discovery({}, [Problem.of(Code.DIRECTORY_VANISHED, os.path.abspath(lost))])

    def list_problems(self) -> list[Problem]:
        """Return all problems: first those of the folder tree, then those of each run."""
        self.load()
        return self.problems + [
            problem for log in self.logs.values() for problem in log.list_problems()
        ]

    def _refuse_problems(self, logs: Iterable[RunLog]) -> None:
        if self.strict:
            for log in logs:
                for problem in log.list_problems():
                    raise BadLog(problem)

    def _read(self, logs: list[RunLog], is_refresh: bool = False) -> None:
        """Read runs. Raises CannotStore if a store fails, except in a refresh."""
        if not logs:
            return
        fresh = [log for log in logs if not log.is_loaded]
        if not is_refresh:
            self.places.try_again()
        engine = None if self.cache is None else self.cache.engine
        # A refresh reads only what is new, which is little, and not worth sending anywhere.
        if not all(log.is_untouched for log in logs):
            engine = None
        threads = 1 if engine is not None else _count_threads(logs)
        with (
            pause_collector(),
            progress_bar(lambda: count_unread(logs), "Reading", self.progress) as advance,
        ):
            if engine is not None:
                engine.read(logs, advance)
            elif threads <= 1:
                read_runs(iter(SmallRuns(advance).read(logs)), advance)
            else:
                _read_in_threads(logs, threads, advance)
        for url, reason in self.places.outages():
            self._handle_outage(url, reason, fresh, is_refresh)

    def _handle_outage(self, url: str, reason: str, fresh: list[RunLog], is_refresh: bool) -> None:
        """Raise CannotStore, or warn in a refresh: some files of a store could not be read.

        What has been read is kept. The other runs are read again when they are next used.
        """
        lost = [
            log
            for log in fresh
            if any(file.trouble and file.trouble.code == Code.READ_ERROR for file in log.all_files)
        ]
        for log in lost:
            log.is_loaded = False
        message = f"{show_url(url)}: {escape(reason, 500)}."
        if lost and not is_refresh:
            raise CannotStore(
                f"{message} {human_count(len(lost), 'run')} could not be read. Check the network"
                " and try again: what has been read is kept."
            )
        with suppress(Warning):  # a filter can turn them into errors
            warnings.warn(f"{message} Using what was read earlier.", stacklevel=4)


def _are_same(some: list[frozenset[str]] | None, others: list[frozenset[str]] | None) -> bool:
    """Return whether two searches depended on the same lists of files."""
    if some is None or others is None:
        return False
    return all(map(operator.is_, some, others))


def _new_state(previous: TreeState | None) -> TreeState | None:
    """Return an empty record for the next search; None if this system has no reliable times."""
    return TreeState(previous) if sys.platform == "linux" else None


def _may_have_changed(logs: list[RunLog], tree: TreeState | None) -> list[RunLog]:
    """Return the logs whose files must be opened to see whether they have changed."""
    if tree is None or not tree.is_local:
        return logs
    return [log for log in logs if not log.needs_no_read()]


def _is_deleted(folder: str, unlisted: Iterable[str]) -> bool:
    """Return whether a folder was deleted, rather than unavailable for a moment.

    `unlisted` are the folders that could not be listed, so their content is
    unknown.
    """
    if any(f"{folder}/".startswith(os.path.join(above, "")) for above in unlisted):
        return False
    try:
        os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        above = os.path.dirname(folder)
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        # If a link's target does not exist, its disk may be unmounted for now.
        return os.path.exists(above)
    except OSError:
        return False
    return False


def is_gone(file: EventFile) -> bool:
    return file.trouble is not None and file.trouble.code == Code.FILE_VANISHED


def _make_cache(limit: int | None, engine: Engine | None) -> PointCache | None:
    if engine is None:
        return None if limit is None else PointCache(limit)
    return PointCache(sys.maxsize if limit is None else limit, _ENGINE_ROOM, engine)


def read_runs(logs: Iterator[RunLog], advance: Callable[[int], object]) -> None:
    """Read runs one after the other; `advance` is called with the number of bytes read."""
    reader = Reader(advance)
    read = []
    for log in read_ahead(logs, RunLog.expect, RunLog.cancel):
        log.read(reader)
        read.append(log)
    reader.finish()
    for log in read:
        log.settle()


def _count_threads(logs: list[RunLog]) -> int:
    """Return the number of threads worth using to read these runs."""
    sample = logs[:: max(1, len(logs) // _SAMPLE)]
    average = count_unread(sample) // len(sample)
    if average < _BYTES_PER_RUN:
        return 1
    total = average * len(logs)
    return min(_MAX_THREADS, os.cpu_count() or 1, len(logs), total // _BYTES_PER_THREAD)


def count_unread(logs: Iterable[RunLog]) -> int:
    """Return the approximate number of bytes to read."""
    total = 0
    for log in logs:
        for path, offset in log.positions:
            with suppress(OSError):
                size = os.stat(path).st_size if log.opener is None else log.opener.size(path)
                total += max(0, size - offset)
    return total


def _read_in_threads(logs: list[RunLog], threads: int, advance: Callable[[int], object]) -> None:
    """Distribute the runs among threads; the decoder releases the GIL."""
    lock = threading.Lock()
    rest = iter(logs)
    errors: list[BaseException] = []

    def take() -> Iterator[RunLog]:
        while not errors:
            with lock:
                log = next(rest, None)
            if log is None:
                return
            yield log

    def advance_alone(count: int) -> None:
        with lock:
            advance(count)

    def work() -> None:
        try:
            read_runs(take(), advance_alone)
        except BaseException as error:  # raised again below, for the caller
            errors.append(error)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
