"""Runs found, read and kept up to date: many at a time, on all cores."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runfold._events.problems import Code, Problem
from runfold._humanize import escape
from runfold._logdir.bulk_read import Reader
from runfold._logdir.discover import Discovery, discover
from runfold._logdir.gc_pause import pause_collector
from runfold._logdir.hparams_folders import Joins, find_families
from runfold._logdir.run_log import RunLog
from runfold._progress import progress_bar
from runfold._storage.local_paths import Places
from runfold._storage.url import mask_url
from runfold.errors import BadLog, LogdirNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runfold._events.event_file import EventFile
    from runfold._logdir.discover import FoundRun

_MAX_THREADS = 8

# Small runs keep Python busier than the decoder, which alone lets go of the GIL:
# with less than this a run, or a thread, another thread costs more than it brings.
_BYTES_PER_RUN = 256 << 10
_BYTES_PER_THREAD = 64 << 20

# What is said of a folder that could not be listed.
_UNLISTED = {Code.DIRECTORY_VANISHED, Code.UNREADABLE_DIRECTORY}

# So many runs tell how large they are on average.
_SAMPLE = 16


@dataclass(slots=True)
class Changes:
    """What a refresh found: all empty when nothing was new.

    Attributes:
        runs: the names of the new ones.
        gone: the names of the runs that are no longer listed.
        points: how many values more there are than before, hidden ones included.
        reread: files that turned out to be others than before.
        missing: files that are gone, though not those that were gone before.
    """

    runs: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    points: int = 0
    reread: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.runs or self.gone or self.points or self.reread or self.missing)


class Logdir:
    """The runs below some paths. Found at once; read when asked for.

    A folder that `add_hparams` made inside a run's folder is part of that run. With
    `join` off, each such folder is a separate run.
    """

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        restarts: str = "session",
        strict: bool = False,
        progress: bool | None = None,
        join: bool = True,
    ) -> None:
        self.paths = paths
        # What of them is a URL is read from its copy here.
        self.places = Places(paths)
        self.restarts = restarts
        self.strict = strict
        self.progress = progress
        # Two threads may ask at once; a file must not be read by both.
        self._lock = threading.RLock()
        self.sync()
        with pause_collector():
            found = self._discover()
            # The log of every folder with event files, also of those that are parts of runs.
            self._folders = {name: self._make_log(run) for name, run in found.runs.items()}
        self._joins = Joins() if join else None
        # The folders that may be parts, by run; until they are read, the list is open.
        self._families = self._find_families()
        self._logs = None if self._families else self._folders
        # The runs that have parts.
        self._parted: set[str] = set()
        self._note(found.problems)

    def _find_families(self) -> dict[str, list[str]]:
        return {} if self._joins is None else find_families(self._folders)

    @property
    def logs(self) -> dict[str, RunLog]:
        """The runs by name.

        To know which folders are parts of a run, those that may be and their runs are read
        now. A logdir without such folders reads nothing.
        """
        if self._logs is None:
            with self._lock:
                if self._logs is None:
                    self._logs = self._join()
        return self._logs

    def _join(self) -> dict[str, RunLog]:
        """The runs by name, with the folders that are parts of them."""
        if self._joins is None:
            return self._folders
        folders = self._folders
        names = {*self._families, *(name for parts in self._families.values() for name in parts)}
        self._read([folders[name] for name in names if not folders[name].is_loaded])
        owners = self._joins.find(self._families, folders)
        parts: dict[str, list[RunLog]] = {}
        for run, family in self._families.items():
            for name in family:
                folders[name].rename(owners.get(name, name))
            parts[run] = [folders[name] for name in family if owners.get(name) == run]
        # Runs that have lost the last such folder are in no family any more.
        for run in self._parted | parts.keys():
            if run in folders:
                folders[run].join(parts.get(run, []))
        self._parted = {run for run, own in parts.items() if own}
        return {name: log for name, log in folders.items() if name not in owners}

    def explain_part(self, name: str) -> str:
        """The sentence for somebody who names a folder that is part of a run; otherwise empty."""
        if name not in self._folders or name in self.logs:
            return ""
        owner = escape(self._folders[name].name)
        return (
            f"'{escape(name)}' is part of the run '{owner}': add_hparams made that folder"
            f" inside the run's. Ask for '{owner}'."
        )

    def folders_of(self, runs: Iterable[str]) -> set[str]:
        """The names of the folders that make up some runs."""
        chosen = {id(one) for run in runs for one in (self.logs[run], *self.logs[run].parts)}
        return {name for name, log in self._folders.items() if id(log) in chosen}

    def _note(self, problems: list[Problem]) -> None:
        """Keep what is wrong in the tree. Raises BadLog in strict mode."""
        self.problems = problems + [
            Problem.of(Code.READ_ERROR, mask_url(url), detail=reason)
            for url, reason in self.places.troubles()
        ]
        if self.strict and self.problems:
            raise BadLog(self.problems[0])

    def _discover(self) -> Discovery:
        return discover(*self.places.paths)

    def sync(self) -> bool:
        """Fetch what is new of the paths that are URLs; whether there was any.

        Raises CannotStore or LogdirNotFound where there is nothing to read.
        """
        return self.places.sync(
            lambda total: progress_bar(lambda: total, "Fetching", self.progress)
        )

    def _make_log(self, found: FoundRun) -> RunLog:
        return RunLog(found, self.restarts, self.strict)

    def load(self, logs: Iterable[RunLog] | None = None) -> None:
        """Read those of the runs (by default all) that were not read yet.

        In strict mode the first problem in any of them is raised, every time.
        """
        with self._lock:
            wanted = list(self.logs.values() if logs is None else logs)
            self._read([log for log in wanted if not log.is_loaded])
        self._refuse_problems(wanted)

    def refresh(self) -> Changes:
        """Look for new runs and files, and read what is new in those that were read before.

        A run whose folder was deleted is gone, and what was read of it is freed. If
        the folder comes back, it is read from scratch. What was read stays, with a
        note, where only a file is gone, where a folder above cannot be listed, and
        where the logdir itself or the target of a link is gone: a network disk may
        lose sight of them for a moment.
        """
        with suppress(LogdirNotFound):  # all of it is gone, as is found below
            self.sync()
        return self.look_again()

    def look_again(self) -> Changes:
        """Refresh without asking the stores of URLs, which `sync` does."""
        with self._lock:
            return self._refresh()

    def _refresh(self) -> Changes:
        before = self.logs
        found = self._discover_again()
        self._note(found.problems)
        loaded = [log for log in before.values() if log.is_loaded]
        seen = [
            (log.name, file, file.points, file.rereads) for log in loaded for file in log.all_files
        ]
        gone = {id(file) for _, file, _, _ in seen if _is_gone(file)}
        self._update_folders(found)
        self._read(loaded)
        self._families = self._find_families()
        self._logs = self._join()
        loaded = [log for log in loaded if self._logs.get(log.name) is log]
        self._refuse_problems(loaded)
        files = [file for log in loaded for file in log.all_files]
        seen = [one for one in seen if one[0] in self._logs]
        return Changes(
            runs=[name for name in self._logs if name not in before],
            gone=[name for name in before if name not in self._logs],
            points=sum(file.points for file in files) - sum(points for _, _, points, _ in seen),
            reread=[file.path for _, file, _, rereads in seen if file.rereads > rereads],
            missing=[file.path for file in files if _is_gone(file) and id(file) not in gone],
        )

    def _update_folders(self, found: Discovery) -> None:
        unlisted = [one.file for one in found.problems if one.code in _UNLISTED]
        folders = {
            name: log
            for name, log in self._folders.items()
            if name in found.runs or not _is_deleted(log.path, unlisted)
        }
        for name, run in found.runs.items():
            if name in folders:
                folders[name].update(run)
            else:
                folders[name] = self._make_log(run)
        # Back into the order in which TensorBoard lists them, those gone last.
        order = {name: number for number, name in enumerate(found.runs)}
        self._folders = dict(
            sorted(folders.items(), key=lambda entry: order.get(entry[0], len(order)))
        )

    def _discover_again(self) -> Discovery:
        try:
            return self._discover()
        except LogdirNotFound:
            # It was there before: as with a run that is gone, it may come back.
            paths = self.places.paths
            lost = next((path for path in paths if not os.path.exists(path)), paths[0])
            return Discovery({}, [Problem.of(Code.DIRECTORY_VANISHED, os.path.abspath(lost))])

    def list_problems(self) -> list[Problem]:
        """Everything wrong: in the tree first, then run by run."""
        self.load()
        return self.problems + [
            problem for log in self.logs.values() for problem in log.list_problems()
        ]

    def _refuse_problems(self, logs: Iterable[RunLog]) -> None:
        if self.strict:
            for log in logs:
                for problem in log.list_problems():
                    raise BadLog(problem)

    def _read(self, logs: list[RunLog]) -> None:
        if not logs:
            return
        threads = _count_threads(logs)
        with (
            pause_collector(),
            progress_bar(lambda: _unread(logs), "Reading", self.progress) as advance,
        ):
            if threads <= 1:
                _read_runs(iter(logs), advance)
            else:
                _read_in_threads(logs, threads, advance)


def _is_deleted(folder: str, unlisted: Iterable[str]) -> bool:
    """Whether a folder was deleted, and is not just out of sight for a moment.

    `unlisted` are the folders that could not be listed: nobody knows what is in them.
    """
    if any(f"{folder}/".startswith(os.path.join(one, "")) for one in unlisted):
        return False
    try:
        os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        above = os.path.dirname(folder)
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        # Of a link without a target the disk may not be mounted at the moment.
        return os.path.exists(above)
    except OSError:
        return False
    return False


def _is_gone(file: EventFile) -> bool:
    return file.trouble is not None and file.trouble.code == Code.FILE_VANISHED


def _read_runs(logs: Iterator[RunLog], advance: Callable[[int], object]) -> None:
    reader = Reader(advance)
    read = []
    for log in logs:
        log.read(reader)
        read.append(log)
    reader.finish()
    for log in read:
        log.settle()


def _count_threads(logs: list[RunLog]) -> int:
    """How many threads pay for reading these runs."""
    sample = logs[:: max(1, len(logs) // _SAMPLE)]
    average = _unread(sample) // len(sample)
    if average < _BYTES_PER_RUN:
        return 1
    total = average * len(logs)
    return min(_MAX_THREADS, os.cpu_count() or 1, len(logs), total // _BYTES_PER_THREAD)


def _unread(logs: Iterable[RunLog]) -> int:
    """How many bytes there are to read, about."""
    total = 0
    for log in logs:
        for file in log.files:
            with suppress(OSError):
                total += max(0, os.stat(file.path).st_size - file.decoder.offset)
    return total


def _read_in_threads(logs: list[RunLog], threads: int, advance: Callable[[int], object]) -> None:
    """Share the runs out among threads; the decoder lets go of the GIL."""
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
            _read_runs(take(), advance_alone)
        except BaseException as error:  # handed on to the caller below
            errors.append(error)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
