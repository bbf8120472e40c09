"""A logdir that keeps what it has read for the next program."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold import __version__
from runfold._events.problems import Code, Problem
from runfold._index.array_file import DamagedIndex, read_index, write_index
from runfold._index.facts import Facts
from runfold._index.index_folder import index_path, note_use, remove_old
from runfold._index.index_writer import Rows
from runfold._index.kept_logs import KeptLogs, PlainLog
from runfold._index.kept_runs import KeptRuns, Kind
from runfold._logdir.discover import Discovery
from runfold._logdir.hparams_folders import Joins
from runfold._logdir.loader import Logdir, Recalled, is_gone
from runfold._logdir.point_cache import PointCache
from runfold._logdir.run_log import RunLog
from runfold._logdir.run_state import restore_state
from runfold._logdir.tree_state import TreeState
from runfold._state import make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._index.index_writer import Statistics

_log = logging.getLogger(__name__)

# Reading fewer runs, and fewer bytes, again is as quick as reading an index.
MOST_UNINDEXED_RUNS = 200
MOST_UNINDEXED_BYTES = 16 << 20
# An index is written again when more than this part of the runs has changed.
_CHANGED_PART = 0.01
# A program writes an index at most this often, in seconds.
_PAUSE = 60.0
# Points of restored runs that are in memory.
_POINT_BYTES = 256 << 20

# The index of the folders, next to that of the runs.
_TREE_SUFFIX = ".tree"


class IndexedLogdir(Logdir):
    """The runs below the given paths, with an index in the user's cache.

    `facts` returns what is known about runs without reading their points. A run is compared
    with the index when it is first needed, and is then as it was at that moment until a refresh.
    """

    is_indexed = True

    def __init__(self, *paths: str | os.PathLike[str], **options: Any) -> None:
        self._kept: KeptRuns | None = None
        # The runs that a search found, by name, if the index does not list exactly these.
        self._is_listed_as_kept = False
        # The result of the last search; without runs if it is from the index.
        self._listing: Discovery | None = None
        # The restored logs of stored runs that are not plain, without their points.
        self._restored: dict[str, RunLog] = {}
        self._restored_cache = PointCache(_POINT_BYTES)
        self._written_at: float | None = None
        self._index_path = index_path(
            [os.fsdecode(path) for path in paths],
            options.get("restarts", "session"),
            options.get("join", True),
        )
        super().__init__(*paths, **options)

    # Opening

    def _find(self) -> tuple[Mapping[str, RunLog], list[Problem]]:
        kept = self._read_kept()
        if kept is None:
            return super()._find()
        self._kept = kept
        tree, listing = self._read_tree(kept) or (None, None)
        if tree is not None and listing is not None and tree.is_current():
            self._tree = tree
            self._is_listed_as_kept = True
            self._listing = listing
            self._list_config_files(listing)
            return KeptLogs(kept.names, self._make_kept), listing.problems
        self._tree = state = TreeState(tree)
        discovery = self._discover(state)
        self._list_config_files(discovery)
        found = list(discovery.runs.values())
        if _is_equal(kept, discovery):
            self._is_listed_as_kept = True
            self._write_tree(kept, state)
            return KeptLogs(kept.names, self._make_kept), discovery.problems
        numbers = {name: number for number, name in enumerate(kept.names)}
        rows = [numbers.get(run.name, -1) for run in found]
        for run, row in zip(found, rows, strict=True):
            if row >= 0 and kept.found(row) != run:
                kept.release(row)

        def make(number: int) -> RunLog:
            row = rows[number]
            is_kept = row >= 0 and not kept.is_released(row)
            return self._make_kept(row) if is_kept else self._make_log(found[number])

        return KeptLogs([run.name for run in found], make), discovery.problems

    def _read_kept(self) -> KeptRuns | None:
        try:
            kept = KeptRuns(read_index(self._index_path))
        except FileNotFoundError:
            return None
        except (OSError, DamagedIndex, ValueError, KeyError, TypeError, IndexError) as error:
            _log.debug("The index %s is not used: %r", self._index_path, error)
            return None
        if kept.facts.get("version") != __version__:
            return None
        note_use(self._index_path)
        return kept

    def _read_tree(self, kept: KeptRuns) -> tuple[TreeState, Discovery] | None:
        """Return the state of the folders, and what was found in them except the runs."""
        try:
            source = read_index(self._index_path + _TREE_SUFFIX)
            if source.facts["of"] != kept.facts["id"]:
                return None
            saved = source.facts["tree"], source.texts("folders"), source.content("states")
            problems = [
                Problem(Code(code), message, file, offset)
                for code, message, file, offset in source.facts["problems"]
            ]
            listing = Discovery({}, problems, **source.facts["listing"])
            return TreeState.restore(self.places.paths, saved), listing
        except (OSError, DamagedIndex, ValueError, KeyError, TypeError):
            return None

    def _make_kept(self, row: int) -> RunLog:
        kept = self._kept
        if kept is None:
            raise AssertionError("there is no index")
        run = kept.found(row)
        if kept.kinds[row] != Kind.PLAIN:
            return self._make_log(run)
        return PlainLog(kept, row, run, self.restarts, self.strict, self.config_files, self.cache)

    def _discover(self, state: TreeState | None = None) -> Discovery:
        self._listing = super()._discover(state)
        return self._listing

    # Facts

    @property
    def has_config_files(self) -> bool:
        """Whether settings are read from configuration files, and there are any."""
        return self.config_files is not None and not self.config_files.is_empty

    def find_made(self, name: str) -> RunLog | None:
        """Return the log of a run if it has been created."""
        logs = self.logs
        return logs.find_made(name) if isinstance(logs, KeptLogs) else logs.get(name)

    def load_points(self, names: Sequence[str]) -> list[RunLog]:
        """Read the points of runs, and return their logs."""
        logs = [self.logs[name] for name in names]
        self.load(logs)
        return logs

    def facts(self, names: Sequence[str]) -> Facts | None:
        """Return what is known about these runs without their points; None without an index."""
        with self._lock:
            return None if self._kept is None else self._find_facts(self._kept, names)

    def _find_facts(self, kept: KeptRuns, names: Sequence[str]) -> Facts | None:
        logs = self.logs
        rows = self._rows_of(kept, names)
        if not isinstance(logs, KeptLogs) or logs.made():
            for number, name in enumerate(names):
                log = self.find_made(name)
                if log is not None and (log.is_loaded or not self._has_kept_parts(kept, log)):
                    rows[number] = -1
        stored = np.flatnonzero(rows >= 0)
        rows[stored[~kept.use(rows[stored])]] = -1
        for name, members in kept.members.items():
            if not kept.use(np.array(members)).all():
                rows[rows == kept.numbers_by_name[name]] = -1
        own: dict[int, RunLog] = {}
        for number in np.flatnonzero(kept.kinds[rows] == Kind.RICH).tolist():
            if rows[number] >= 0:
                log = self._restore(kept, int(rows[number]))
                if log is None:
                    kept.release(int(rows[number]))
                    rows[number] = -1
                else:
                    own[number] = log
        others = np.flatnonzero(rows < 0).tolist()
        own |= {number: logs[names[number]] for number in others}
        self.load([own[number] for number in others])
        if len(others) == len(names):
            return None
        return Facts(names, kept, rows, dict(sorted(own.items())), self)

    def _has_kept_parts(self, kept: KeptRuns, log: RunLog) -> bool:
        """Return whether the parts of a run are the stored ones."""
        rows = kept.members.get(log.name, [])[1:]
        return [part.path for part in log.parts] == [kept.folders[row] for row in rows]

    def _find_owners(self, joins: Joins, is_refresh: bool) -> dict[str, str]:
        kept = self._kept
        if kept is not None and self._families == kept.families:
            names = {*self._families, *(name for own in self._families.values() for name in own)}
            logs = [self._folders[name] for name in names]
            rows = self._rows_of(kept, sorted(names))
            if not any(log.is_loaded for log in logs) and kept.use(rows).all():
                return kept.owners
        for name in self._parted & self._folders.keys():
            # A run reads its parts, and no file may be read twice at a time.
            if not self._folders[name].is_loaded:
                self._folders[name].join([])
        return super()._find_owners(joins, is_refresh)

    def _rows_of(self, kept: KeptRuns, names: Sequence[str]) -> NDArray[np.intp]:
        if names == kept.names:
            return np.arange(len(names))
        numbers = kept.numbers_by_name
        return np.array([numbers.get(name, -1) for name in names], np.intp)

    def _restore(self, kept: KeptRuns, row: int) -> RunLog | None:
        """Return the log of a run that is not plain, or None if its state is damaged."""
        name = kept.names[row]
        log = self._restored.get(name)
        if log is None:
            logs = [self._restore_folder(kept, each) for each in kept.members.get(name, [row])]
            restored = [each for each in logs if each is not None]
            if len(restored) < len(logs):
                return None
            log, *parts = restored
            for part in parts:
                part.rename(name)
            if parts:
                log.join(parts)
            self._restored[name] = log
        return log

    def _restore_folder(self, kept: KeptRuns, row: int) -> RunLog | None:
        state = kept.run_state(row)
        if state is None:
            return None
        log = RunLog(
            kept.found(row), self.restarts, self.strict, self.config_files, self._restored_cache
        )
        try:
            restore_state(log, state)
        except ValueError:
            return None
        return log

    def _read(self, logs: list[RunLog], is_refresh: bool = False) -> None:
        super()._read(logs, is_refresh)
        for log in logs:
            restored = self._restored.pop(log.name, None) if self._restored else None
            if restored is not None:
                log.take_notes(restored)

    def list_problems(self) -> list[Problem]:
        """Return all problems: first those of the folder tree, then those of each run."""
        facts = self.facts(list(self.logs))
        if facts is None:
            return super().list_problems()
        return self.problems + [
            problem for _, log in facts.noted() for problem in log.list_problems()
        ]

    # Refreshing

    def _list_loaded(self) -> list[RunLog]:
        logs = self.logs
        made = logs.made() if isinstance(logs, KeptLogs) else logs.values()
        return [log for log in made if log.is_loaded]

    def _recall(self, discovery: Discovery | None) -> list[Recalled]:
        kept = self._kept
        if kept is None:
            return []
        rows = kept.used()
        has_changed = ~kept.are_same(rows)
        if discovery is not None:
            other = self._list_differing(kept, discovery)
            has_changed |= np.isin(rows, other)
            for row in np.setdiff1d(other, rows).tolist():
                kept.release(row)
        names = dict.fromkeys(kept.names[row] for row in rows[has_changed].tolist())
        names = dict.fromkeys(kept.owners.get(name, name) for name in names)
        found = [self._recall_run(kept, kept.numbers_by_name[name]) for name in names]
        self._read([recalled.log for recalled, _ in found if not recalled.log.is_loaded])
        for recalled, before in found:
            files = recalled.log.all_files
            recalled.points = sum(file.points for file in files) - before
            recalled.missing = [file.path for file in files if is_gone(file)]
        return [recalled for recalled, _ in found]

    def _list_differing(self, kept: KeptRuns, discovery: Discovery) -> NDArray[np.intp]:
        """Return the rows of stored runs that a search has not found, or with other files."""
        if _is_equal(kept, discovery):
            return np.empty(0, np.intp)
        found = discovery.runs
        self._is_listed_as_kept = False
        return np.flatnonzero(
            [kept.found(row) != found.get(name) for row, name in enumerate(kept.names)]
        )

    def _recall_run(self, kept: KeptRuns, row: int) -> tuple[Recalled, int]:
        log = self._folders[kept.names[row]]
        replaced = kept.replaced_files(row, self._restored.get(log.name))
        for each in kept.members.get(log.name, [row]):
            kept.release(each)
        return Recalled(log, 0, replaced, []), int(kept.stored[row])

    # Writing

    def keep(self, facts: Facts | None, statistics: Callable[[], Statistics]) -> None:
        """Write the index if that pays. All runs must have been read, or be in `facts`."""
        with self._lock:
            if not self._should_write(facts):
                return
            began = time.perf_counter()
            self._written_at = time.monotonic()
            try:
                size = self._write(facts, statistics)
            except (OSError, DamagedIndex) as error:
                # A full disk or a read-only home must not keep anybody from looking at runs.
                _log.debug("The index %s was not written: %s", self._index_path, error)
                return
            seconds = time.perf_counter() - began
            _log.debug("Wrote the index %s: %d bytes, %.2f s", self._index_path, size, seconds)

    def _should_write(self, facts: Facts | None) -> bool:
        now = time.monotonic()
        if self._written_at is not None and now - self._written_at < _PAUSE:
            return False
        if facts is not None:
            changed = sum(self._could_be_stored(facts, number) for number, _ in facts.others)
            return not self._is_listed_as_kept or changed > _CHANGED_PART * len(facts)
        logs = self.logs
        if len(logs) > MOST_UNINDEXED_RUNS:
            return all(log.is_loaded for log in logs.values())
        return (
            all(log.is_loaded for log in logs.values())
            and sum(log.size for log in logs.values()) > MOST_UNINDEXED_BYTES
        )

    def _could_be_stored(self, facts: Facts, number: int) -> bool:
        """Return whether a run is new, or has changed since it was stored."""
        kept = facts.kept
        row = kept.numbers_by_name.get(facts.names[number], -1)
        return row < 0 or kept.kinds[row] != Kind.LISTED

    def _write(self, facts: Facts | None, statistics: Callable[[], Statistics]) -> int:
        logs, folders = self.logs, list(self._folders)
        rows = Rows()
        if facts is None:
            rows.add_all(folders, list(self._folders.values()))
        else:
            number_of = {name: number for number, name in enumerate(facts.names)}
            for name in folders:
                number = number_of.get(self._folders[name].name, -1)
                if number >= 0 and facts.rows[number] >= 0:
                    rows.add_kept(facts.kept, facts.kept.numbers_by_name[name])
                else:
                    rows.add_all([name], [self._folders[name]])
        # The folders of the runs, which the statistics number without parts of other runs.
        numbers = None
        parts: list[tuple[str, RunLog]] = []
        if len(logs) < len(folders):
            parts = [(name, log) for name, log in self._folders.items() if name not in logs]
            numbers = np.flatnonzero([name in logs for name in folders])
        arrays = rows.arrays(statistics(), numbers)
        if arrays is None:
            return 0
        name = token_hex(16)
        owners = {name: log.name for name, log in parts}
        about = {"version": __version__, "id": name, "configs": rows.configs, "owners": owners}
        folder = make_private(os.path.dirname(self._index_path))
        size = write_index(self._index_path, about, arrays)
        if self._tree is not None and self._is_as_found(rows):
            self._write_tree_of(name, self._tree)
        remove_old(folder)
        return size

    def _is_as_found(self, rows: Rows) -> bool:
        """Return whether the rows are what the last search found.

        A logdir keeps runs and files that have disappeared for a moment.
        """
        listing = self._listing
        if listing is None:
            return False
        if listing.runs:
            files = [file for run in listing.runs.values() for file in run.files]
            return rows.names == list(listing.runs) and rows.files == files
        kept = self._kept
        return kept is not None and rows.names == kept.names and rows.files == kept.files

    def _write_tree(self, kept: KeptRuns, tree: TreeState) -> None:
        with suppress(OSError):
            self._write_tree_of(kept.facts["id"], tree)

    def _write_tree_of(self, index: str, tree: TreeState) -> None:
        saved = tree.save()
        listing = self._listing
        if saved is not None and listing is not None:
            facts, folders, states = saved
            about = {
                "of": index,
                "tree": facts,
                "listing": {
                    "base": listing.base,
                    "config_files": listing.config_files,
                    "tops": listing.tops,
                },
                "problems": [
                    (problem.code, problem.message, problem.file, problem.offset)
                    for problem in listing.problems
                ],
            }
            path = self._index_path + _TREE_SUFFIX
            write_index(path, about, {"folders": folders, "states": states})


def _is_equal(kept: KeptRuns, discovery: Discovery) -> bool:
    """Return whether a search found exactly the runs and files of the index."""
    runs = discovery.runs
    if list(runs) != kept.names or [run.path for run in runs.values()] != kept.folders:
        return False
    files = [file for run in runs.values() for file in run.files]
    return (
        files == kept.files
        and bool(
            (
                np.cumsum([len(run.files) for run in runs.values()], dtype=np.int64) == kept.ends
            ).all()
        )
        and {
            number: run.config for number, run in enumerate(runs.values()) if run.config is not None
        }
        == kept.configs
    )
