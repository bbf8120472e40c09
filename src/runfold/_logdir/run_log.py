"""One run's log: its event files combined, read on first use."""

from __future__ import annotations

import math
import os
import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import HEARTBEAT, SIDE_FOLDER
from runfold._core.scalar_columns import ScalarPoints
from runfold._core.tag_table import Tags
from runfold._events.event_file import NEW_VERSION, EventFile
from runfold._events.kinds import PLUGIN_KINDS, SCALAR
from runfold._events.kinds.stored_value import plugin_of
from runfold._events.problems import Code, Problem
from runfold._humanize import did_you_mean, escape, file_order
from runfold._logdir.assemble import (
    MOST_SERIES,
    LazySeries,
    PlainSeries,
    assemble_payloads,
    assemble_series,
    count_unknown,
    join_payloads,
    join_series,
    series_sizes,
)
from runfold._logdir.bulk_read import Reader
from runfold._logdir.point_cache import RunPoints
from runfold.errors import BadLog, UnknownTag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._events.kinds.embedding import StoredEmbedding
    from runfold._events.read_state import ReadState
    from runfold._logdir.config_files import ConfigFiles
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.series import Series


# Any, because it stands for an empty dict of each type; modifying it raises TypeError.
_NOTHING: Any = MappingProxyType({})
_NO_NAMES: list[str] = []

# What `_versions` is after the first read of a single file.
_FIRST_VERSIONS = {version: (version,) for version in (NEW_VERSION, NEW_VERSION + 1)}

# Two threads must not create different objects for one run. It is held very briefly.
_creation = threading.Lock()


class RunLog:
    """The event files of one run.

    They are read on first use and by `refresh`; results that have been returned do
    not change.

    `config_files` finds the configuration files near the run; None if the run's settings are
    only its hparams.

    `parts` are the folders that `add_hparams` created for the run (see
    `hparams_folders`). Their content belongs to the run; `files` and `tags` cover
    only the run's main folder.

    With a `cache`, points are decoded when they are needed, into the cache's memory.
    """

    __slots__ = (
        "_files",
        "_names",
        "_numbers",
        "_own_payloads",
        "_paths",
        "_payloads",
        "_rereads",
        "_scalars",
        "_tags",
        "_versions",
        "cache",
        "config",
        "config_files",
        "is_loaded",
        "is_strict",
        "late_problems",
        "late_unknown",
        "name",
        "opener",
        "parts",
        "path",
        "restarts",
    )

    # Problems found while decoding values, without duplicates.
    late_problems: dict[Problem, None]
    # Tensors that turned out to be readable only by their plugin: plugin, tag and
    # length by file and position.
    late_unknown: dict[tuple[str, int], tuple[str, str, int]]
    _paths: Sequence[str]
    _files: list[EventFile] | None
    _tags: Tags | None
    _scalars: Mapping[str, Series] | None
    _payloads: Mapping[tuple[str, str], Payloads] | None
    _own_payloads: Mapping[tuple[str, str], Payloads] | None
    _names: list[str]
    _numbers: Mapping[str, int]
    _versions: Sequence[int]
    _rereads: Mapping[str, int]

    def __init__(
        self,
        run: FoundRun,
        restarts: str = "session",
        is_strict: bool = False,
        config_files: ConfigFiles | None = None,
        cache: PointCache | None = None,
    ) -> None:
        self.name = run.name
        self.cache = cache
        self.path = run.path
        self.restarts = restarts
        self.is_strict = is_strict
        self.config = run.config
        self.config_files = config_files
        self.opener = run.opener
        self.parts: Sequence[RunLog] = ()
        self.is_loaded = False
        self._forget()
        self.update(run)

    def note(self, problem: Problem) -> None:
        """Add a problem found while decoding a value. Raises BadLog in strict mode."""
        if self.is_strict:
            raise BadLog(problem.in_run(self.name))
        if not self.late_problems:
            self.late_problems = {}
        self.late_problems[problem] = None

    def take_notes(self, other: RunLog) -> None:
        """Add what was found while decoding values of the same run in another log."""
        if other.late_problems:
            self.late_problems = {**self.late_problems, **other.late_problems}
        if other.late_unknown:
            self.late_unknown = {**self.late_unknown, **other.late_unknown}

    def note_unknown(self, file: str, position: int, found: tuple[str, str, int]) -> None:
        """Add a tensor that only its plugin can read: plugin, tag and length."""
        if not self.late_unknown:
            self.late_unknown = {}
        self.late_unknown[file, position] = found

    @property
    def files(self) -> list[EventFile]:
        """The event files of the run's main folder, in reading order."""
        files = self._files
        if files is None:
            tags = self.tags
            with _creation:
                files = self._files
                if files is None:
                    source = None if self.cache is None else RunPoints(self.cache)
                    files = [
                        EventFile(path, tags, source=source, opener=self.opener)
                        for path in self._paths
                    ]
                    if source is not None:
                        source.files = files
                    self._files = files
        return files

    @property
    def positions(self) -> list[tuple[str, int]]:
        """The path of each file in the run's main folder, and the number of bytes read from it."""
        if self._files is None:
            return [(path, 0) for path in self._paths]
        return [(file.path, file.decoder.offset) for file in self._files]

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was read, so that `restore` is possible."""
        return not self.is_loaded and self._files is None

    @property
    def tags(self) -> Tags:
        """The tags in the run's main folder."""
        tags = self._tags
        if tags is None:
            with _creation:
                tags = self._tags
                if tags is None:
                    tags = self._tags = Tags()
        return tags

    def update(self, run: FoundRun) -> None:
        """Update the list of the run's files.

        A missing file is kept, because a network disk can be unavailable for a
        moment, and the data already read is still valid. If all known files are gone but
        others exist, the folder was created again, and the earlier data is discarded.
        """
        self.config = run.config
        self.opener = run.opener
        paths = tuple(run.files)
        files = self._files
        known = self._paths if files is None else tuple(file.path for file in files)
        if paths == known:
            return
        if known and paths and not set(known) <= set(paths):
            kept = set(known).intersection(paths)
            if not (kept if files is None else any(_is_kept(file, kept) for file in files)):
                self._forget()
                known, files = (), None
        new = set(paths).difference(known)
        if files is None:
            together = (*known, *new) if known else paths
            self._paths = tuple(sorted(together, key=file_order)) if len(together) > 1 else together
        elif new:
            source = None if self.cache is None else RunPoints(self.cache)
            files += [EventFile(path, self.tags, source=source, opener=self.opener) for path in new]
            if source is not None:
                source.files = files
            files.sort(key=lambda file: file_order(file.path))

    def _forget(self) -> None:
        """Discard all data, including the tags, because the folder now contains a different run."""
        # Most runs of a large logdir are listed but never read: their files and tags are created
        # on first use, and until then all runs share the empty collections.
        self._paths = ()
        self._files = self._tags = None
        self.late_problems = self.late_unknown = self._rereads = self._numbers = _NOTHING
        self._scalars = self._payloads = self._own_payloads = None
        self._names, self._versions = _NO_NAMES, ()

    def rename(self, name: str) -> None:
        """Set the name: the folder's own, or that of the run to which the folder belongs."""
        if name != self.name:
            self.name = name
            self._scalars = None

    def join(self, parts: list[RunLog]) -> None:
        """Make these folders the only parts of this run. All of them must have been read."""
        if parts != list(self.parts):
            self.parts = parts
            self._scalars = self._payloads = None
            self._versions = tuple(file.version for file in self.all_files)

    @property
    def all_files(self) -> list[EventFile]:
        """The event files of the run and its parts."""
        if not self.parts:
            return self.files
        return [file for log in (self, *self.parts) for file in log.files]

    @property
    def file_states(self) -> list[tuple[int, Problem | None]]:
        """The version and the problem of each file: they differ after every change."""
        if self._files is None and not self.parts:
            return [(NEW_VERSION, None)] * len(self._paths)
        return [(file.version, file.trouble) for file in self.all_files]

    def needs_no_read(self) -> bool:
        """Return whether reading again would certainly find nothing; see `EventFile`."""
        files, versions = self.all_files, self._versions
        if len(files) != len(versions):
            return False
        # The version differs if the last read was interrupted before `settle`.
        return all(
            file.version == version and file.needs_no_read()
            for file, version in zip(files, versions, strict=True)
        )

    @property
    def untouched_path(self) -> str | None:
        """The path of the run's only file, if nothing of the run has been used before.

        None for a file in a store.
        """
        if (
            len(self._paths) != 1
            or self.opener is not None
            or self._files is not None
            or self._tags is not None
            or self.cache is not None
            or self.is_loaded
            or self.parts
        ):
            return None
        return self._paths[0]

    def adopt(self, file: EventFile) -> bool:
        """Use this file, which was read from `untouched_path`, and make its data visible.

        Return False if another thread has started to use the run.
        """
        with _creation:
            if self._files is not None or self._tags is not None:
                return False
            self._tags = file.decoder.tags
            self._files = [file]
        self._versions = _FIRST_VERSIONS[file.version]
        self.is_loaded = True
        return True

    def expect(self) -> int:
        """Prepare for `read`; return the number of bytes to hold in memory until then."""
        if self.opener is None:
            return 0
        return sum(file.expect() for file in self.all_files)

    def cancel(self) -> None:
        """Forget what was prepared, because `read` will not be called."""
        if self.opener is not None:
            self.opener.cancel(file.path for file in self.all_files)

    def read(self, reader: Reader) -> None:
        """Queue new data in the run's files for reading; `settle` must follow."""
        for file in self.files:
            reader.read(file)
        for part in self.parts:
            part.read(reader)

    def settle(self) -> None:
        """Make new data visible to later calls."""
        for part in self.parts:
            part.settle()
        files = self.all_files
        versions = tuple(file.version for file in files)
        if not self.is_loaded or versions != self._versions:
            self._scalars = self._payloads = self._own_payloads = None
        self._versions = versions
        self.is_loaded = True
        # Problems of a file that has been replaced no longer apply.
        replaced = {
            file.path: file.rereads
            for file in files
            if file.rereads > self._rereads.get(file.path, 0)
        }
        if replaced:
            self._rereads = {**self._rereads, **replaced}
            self.late_problems = {
                late: None for late in self.late_problems if late.file not in replaced
            }
            self.late_unknown = {
                key: late for key, late in self.late_unknown.items() if key[0] not in replaced
            }

    def load(self) -> None:
        """Read the run unless it has already been read."""
        if not self.is_loaded:
            reader = Reader()
            self.read(reader)
            reader.finish()
            self.settle()

    def restore(self, tags: Tags, files: Sequence[ReadState]) -> None:
        """Continue from what was read from these files; see `run_state`."""
        if self.is_loaded or self._files is not None:
            raise ValueError("The run has already been read.")
        self._tags = tags
        known = {file.path: file for file in self.files}
        for saved in files:
            if saved.path in known:
                known[saved.path].restore(saved)
        self.settle()

    @property
    def names(self) -> list[str]:
        """The displayed name of each tag, by number; no two tags share a name.

        Runs with equal tags can share the list.
        """
        if len(self._names) < len(self.tags):
            names = self.tags.names()
            # Only escaped bytes can make two tags look alike.
            if "\\x" in "".join(names):
                names = _make_distinct(names)
            self._names = names
        return self._names

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each tag by its displayed name. Runs with equal tags can share it."""
        names = self.names
        if len(self._numbers) < len(names):
            if self.tags.names() is names:
                self._numbers = self.tags.numbers()
            else:
                self._numbers = {name: number for number, name in enumerate(names)}
        return self._numbers

    @property
    def scalars(self) -> Mapping[str, Series]:
        """The scalar series by tag, in order of first appearance."""
        if self._scalars is None:
            self.load()
            own = self._assemble_scalars()
            parts = [part.scalars for part in self.parts]
            self._scalars = join_series(own, parts) if parts else own
        return self._scalars

    @property
    def plain_points(self) -> ScalarPoints | None:
        """All scalar points by tag number, if they are those of one file and none is hidden.

        None if the points of the run must be taken from `scalars`.
        """
        files = self._files
        if files is None or len(files) != 1 or self.parts or self.restarts == "step":
            return None
        columns = files[0].columns
        points = columns.scalars
        return points if type(points) is ScalarPoints and not columns.restarts else None

    def _assemble_scalars(self) -> Mapping[str, Series]:
        if self.cache is not None:
            return LazySeries(self.name, self.files, self.names, self.restarts)
        points = self.plain_points
        if points is not None and len(points) <= MOST_SERIES:
            return PlainSeries(self.name, self.names, self.numbers, points)
        return assemble_series(self.name, self.files, self.names, self.restarts)

    @property
    def payloads(self) -> Mapping[tuple[str, str], Payloads]:
        """The non-scalar values of the run and its parts, by kind and tag."""
        if self._payloads is None:
            own = self.own_payloads
            self._payloads = join_payloads([self, *self.parts]) if self.parts else own
        return self._payloads

    @property
    def own_payloads(self) -> Mapping[tuple[str, str], Payloads]:
        """The non-scalar values in the run's own folder, by kind and tag."""
        if self._own_payloads is None:
            self.load()
            if any(len(file.columns.items) for file in self.files):
                self._own_payloads = assemble_payloads(
                    self.files, self.names, self.tags, self.restarts
                )
            else:
                self._own_payloads = _NOTHING
        return self._own_payloads

    @property
    def unknown(self) -> dict[tuple[str, str], tuple[int, int]]:
        """The count and size of values that only their plugin can decode, by plugin and tag."""
        self.load()
        counts: dict[tuple[str, str], tuple[int, int]] = {}
        for log in (self, *self.parts):
            counts = {**count_unknown(log.files, log.names, log.tags), **counts}
        for plugin, tag, length in self.late_unknown.values():
            count, size = counts.get((plugin, tag), (0, 0))
            counts[plugin, tag] = count + 1, size + length
        return counts

    def foreign_plugin(self, tag: str) -> str:
        """Return the plugin of a tag if Runfold does not support it, otherwise an empty string."""
        plugin = plugin_of(self.metadata(tag) or b"")
        return "" if plugin in PLUGIN_KINDS else plugin

    def series(self, tag: str) -> Series:
        """Return the scalar series of a tag.

        Raises UnknownTag, with close matches as suggestions, if there is no such series.
        """
        series = self.scalars.get(tag)
        if series is not None:
            return series
        kinds = [kind for kind, name in self.payloads if name == tag]
        run = f"run '{escape(self.name)}'"
        if kinds:
            raise UnknownTag(f"Tag '{escape(tag)}' in {run} contains {kinds[0]} data, not scalars.")
        hint = did_you_mean(tag, list(self.scalars))
        raise UnknownTag(f"No tag '{escape(tag)}' in {run}. {hint}".rstrip())

    def tag_kinds(self) -> dict[str, list[str]]:
        """Return the kinds under each tag: one, unless a writer mixed several."""
        kinds: dict[str, list[str]] = {tag: [SCALAR] for tag in self.scalars}
        for kind, tag in self.payloads:
            kinds.setdefault(tag, []).append(kind)
        return kinds

    def metadata(self, tag: str) -> bytes | None:
        """Return the tag's serialized SummaryMetadata, if any event contained it."""
        number = self.numbers.get(tag)
        metadata = None if number is None else self.tags.metadata(number)
        if metadata is None:
            of_parts = (part.metadata(tag) for part in self.parts)
            metadata = next((other for other in of_parts if other is not None), None)
        return metadata

    def fetch(self, payloads: Payloads) -> Iterator[bytes]:
        """Yield the stored bytes of values, in their order."""
        for file, items in self._by_file(payloads):
            yield from file.fetch(items)

    def _by_file(self, payloads: Payloads) -> Iterator[tuple[EventFile, NDArray[np.void]]]:
        # Values are in file order.
        numbers, starts = np.unique(payloads.files, return_index=True)
        ends = [*starts[1:], len(payloads)]
        for number, start, end in zip(numbers, starts, ends, strict=len(payloads) > 0):
            yield payloads.source(int(number)), payloads.items[start:end]

    def file_of(self, payloads: Payloads, row: int) -> EventFile:
        """Return the file that contains a value."""
        return payloads.source(int(payloads.files[row]))

    def read_config(self) -> list[StoredEmbedding]:
        """Return the embeddings of the projector configuration, or raise ValueError."""
        from runfold._events.kinds.embedding import read_config

        return [] if self.config is None else read_config(self.config)

    @property
    def last_sign(self) -> float | None:
        """The time of the run's last heartbeat or write; None: read it from the run's folder."""
        if self.opener is None:
            return None
        try:
            return os.stat(os.path.join(self.path, SIDE_FOLDER, HEARTBEAT)).st_mtime
        except OSError:
            return self.opener.last_write(file.path for file in self.files)

    @property
    def size(self) -> int:
        """The size of the run's event files at the last read, in bytes."""
        self.load()
        return sum(file.size for file in self.all_files)

    @property
    def points(self) -> int:
        """The number of visible values of any kind."""
        if self._shows_all_points:
            scalars = sum(file.columns.scalars.total for file in self.files)
        else:
            scalars = sum(size for size, _ in series_sizes(self.scalars))
        return scalars + sum(map(len, self.payloads.values()))

    @property
    def hidden(self) -> int:
        """The number of values hidden by the restart policy."""
        hidden = sum(payloads.hidden for payloads in self.payloads.values())
        if not self._shows_all_points:
            hidden += sum(number for _, number in series_sizes(self.scalars))
        return hidden

    @property
    def _shows_all_points(self) -> bool:
        """Whether all points are shown, in which case counting them is quick."""
        self.load()
        has_restarts = any(file.columns.restarts for file in self.files)
        return not self.parts and (
            self.restarts == "keep" or (self.restarts == "session" and not has_restarts)
        )

    @property
    def wall_time_range(self) -> tuple[float, float]:
        """The wall times of the first and last event, or NaN if there are none.

        The parts are used only if the run's own folder has no events, because
        `add_hparams` may have been called much later.
        """
        self.load()
        for log in (self, *self.parts):
            times = [
                time
                for file in log.files
                for time in (file.decoder.first_wall_time, file.decoder.last_wall_time)
                if not math.isnan(time)
            ]
            if times:
                return min(times), max(times)
        return math.nan, math.nan

    def list_problems(self) -> list[Problem]:
        """Return all problems of the run and its parts."""
        self.load()
        problems = [problem for file in self.files for problem in file.problems(self.names)]
        problems += self.late_problems
        # Only tags with non-scalar values can mix two kinds. The others are not checked,
        # because there can be a million of them.
        kinds_of: dict[str, list[str]] = {}
        for kind, tag in self.payloads:
            known = [SCALAR] if tag in self.scalars else []
            kinds_of.setdefault(tag, known).append(kind)
        for number, name in enumerate(self.names):
            is_shown = "\\x" in name and (name in self.scalars or name in kinds_of)
            if is_shown and _is_invalid(self.tags.raw_name(number)):
                problems.append(
                    Problem.of(Code.INVALID_UTF8_TAG, self.path, detail=f"tag '{escape(name)}'")
                )
        for tag, kinds in kinds_of.items():
            # A run's graph has no tag, so it does not conflict with an empty tag.
            if len(kinds) > 1 and (tag or "graph" not in kinds):
                detail = f"tag '{escape(tag)}': {' and '.join(kinds)}"
                problems.append(Problem.of(Code.TWO_KINDS, self.path, detail=detail))
        problems += [problem for part in self.parts for problem in part.list_problems()]
        return [problem.in_run(self.name) for problem in problems]


def _is_kept(file: EventFile, kept: set[str]) -> bool:
    return file.path in kept and not file.is_another()


def _make_distinct(names: Iterable[str]) -> list[str]:
    """Return names with marks on those that became equal because their bytes were escaped."""
    distinct: dict[str, None] = {}
    for name in names:
        while name in distinct:
            name += "'"
        distinct[name] = None
    return list(distinct)


def _is_invalid(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def read_event_files(folder: str, paths: list[str]) -> RunLog:
    """Return the log in these event files from one folder, including points hidden by a restart."""
    from runfold._logdir.discover import FoundRun

    return RunLog(FoundRun("", folder, paths), restarts="keep")
