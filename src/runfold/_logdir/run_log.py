"""One run's log: its event files put together, read when first asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from runfold._core.tag_table import Tags
from runfold._events.event_file import EventFile
from runfold._events.kinds import PLUGIN_KINDS, SCALAR
from runfold._events.kinds.stored_value import plugin_of
from runfold._events.problems import Code, Problem
from runfold._humanize import did_you_mean, escape, file_order
from runfold._logdir.assemble import (
    assemble_payloads,
    assemble_series,
    count_unknown,
    join_payloads,
    join_series,
)
from runfold._logdir.bulk_read import Reader
from runfold.errors import BadLog, UnknownTag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from runfold._events.kinds.embedding import StoredEmbedding
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.series import Series


class RunLog:
    """The event files of one run.

    Reading happens at the first question and at `refresh`; what was asked for
    in between stays as it was.

    `parts` are the folders that `add_hparams` made for the run (see `hparams_folders`).
    What they hold belongs to the run; `files` and `tags` are those of its own folder.
    """

    __slots__ = (
        "_names",
        "_numbers",
        "_own_payloads",
        "_payloads",
        "_rereads",
        "_scalars",
        "_versions",
        "config",
        "files",
        "is_loaded",
        "is_strict",
        "late_problems",
        "late_unknown",
        "name",
        "parts",
        "path",
        "restarts",
        "tags",
    )

    def __init__(self, found: FoundRun, restarts: str = "session", is_strict: bool = False) -> None:
        self.name = found.name
        self.path = found.path
        self.restarts = restarts
        self.is_strict = is_strict
        self.config = found.config
        self.files: list[EventFile] = []
        self.parts: list[RunLog] = []
        self.tags = Tags()
        self.is_loaded = False
        # What decoding a value found wrong, each once: known once asked for.
        self.late_problems: dict[Problem, None] = {}
        # Tensors that decoding found to be readable by their plugin only, by file and place:
        # their plugin, tag and length.
        self.late_unknown: dict[tuple[str, int], tuple[str, str, int]] = {}
        self._scalars: Mapping[str, Series] | None = None
        self._payloads: dict[tuple[str, str], Payloads] | None = None
        self._own_payloads: dict[tuple[str, str], Payloads] | None = None
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._versions: list[int] = []
        self._rereads: dict[str, int] = {}
        self.update(found)

    def note(self, problem: Problem) -> None:
        """Note what decoding a value found wrong. Raises BadLog in strict mode."""
        if self.is_strict:
            raise BadLog(problem.in_run(self.name))
        self.late_problems[problem] = None

    def update(self, found: FoundRun) -> None:
        """Take note of the files that the run has now.

        A file that is gone stays: a network disk may lose sight of it for a
        moment, and what was read of it is not wrong. Where none of the files is
        there any more but others are, the folder was made again, and what was
        read of the earlier ones is forgotten.
        """
        self.config = found.config
        here = set(found.files)
        known = {file.path for file in self.files}
        if (
            here
            and not known <= here
            and not any(file.path in here and not file.is_another() for file in self.files)
        ):
            self._forget()
            known = set()
        new = [path for path in found.files if path not in known]
        if new:
            self.files += [EventFile(path, self.tags) for path in new]
            if len(self.files) > 1:
                self.files.sort(key=lambda file: file_order(file.path))

    def _forget(self) -> None:
        """Drop all that was read, with the tags: the folder holds another run now."""
        self.files = []
        self.tags = Tags()
        self.late_problems = {}
        self.late_unknown = {}
        self._scalars = self._payloads = self._own_payloads = None
        self._names, self._numbers = [], {}
        self._versions, self._rereads = [], {}

    def rename(self, name: str) -> None:
        """Give the log the name of the run that it is part of, or its own again."""
        if name != self.name:
            self.name = name
            self._scalars = None

    def join(self, parts: list[RunLog]) -> None:
        """Make these folders the parts of this run, and no others. All must have been read."""
        if parts != self.parts:
            self.parts = parts
            self._scalars = self._payloads = None
            self._versions = [file.version for file in self.all_files]

    @property
    def all_files(self) -> list[EventFile]:
        """The event files of the run and of its parts."""
        if not self.parts:
            return self.files
        return [file for log in (self, *self.parts) for file in log.files]

    def read(self, reader: Reader) -> None:
        """Queue what is new in the run's files for reading; `settle` follows."""
        for file in self.files:
            reader.read(file)
        for part in self.parts:
            part.read(reader)

    def settle(self) -> None:
        """Let the next question see what was read, if anything was new."""
        for part in self.parts:
            part.settle()
        files = self.all_files
        versions = [file.version for file in files]
        if not self.is_loaded or versions != self._versions:
            self._scalars = self._payloads = self._own_payloads = None
        self._versions = versions
        self.is_loaded = True
        # What was wrong in a file that is another one now is no longer wrong.
        anew = {
            file.path: file.rereads
            for file in files
            if file.rereads > self._rereads.get(file.path, 0)
        }
        if anew:
            self._rereads |= anew
            self.late_problems = {
                late: None for late in self.late_problems if late.file not in anew
            }
            self.late_unknown = {
                place: late for place, late in self.late_unknown.items() if place[0] not in anew
            }

    def load(self) -> None:
        """Read the run if it was not read yet."""
        if not self.is_loaded:
            reader = Reader()
            self.read(reader)
            reader.finish()
            self.settle()

    @property
    def names(self) -> list[str]:
        """The text of each tag, by number; different tags have different texts."""
        if len(self._names) < len(self.tags):
            names = self.tags.names()
            # Only escaped bytes make two tags look alike.
            if "\\x" in "".join(names):
                _make_distinct(names)
            self._names = names
        return self._names

    @property
    def scalars(self) -> Mapping[str, Series]:
        """The scalar series by tag, in the order in which the tags first appear."""
        if self._scalars is None:
            self.load()
            own = self._assemble_scalars()
            parts = [part.scalars for part in self.parts]
            self._scalars = join_series(own, parts) if parts else own
        return self._scalars

    def _assemble_scalars(self) -> Mapping[str, Series]:
        return assemble_series(self.name, self.files, self.names, self.restarts)

    @property
    def payloads(self) -> dict[tuple[str, str], Payloads]:
        """All other values by kind and tag."""
        if self._payloads is None:
            own = self.own_payloads
            self._payloads = join_payloads([self, *self.parts]) if self.parts else own
        return self._payloads

    @property
    def own_payloads(self) -> dict[tuple[str, str], Payloads]:
        """The values in the run's own folder that are no scalars, by kind and tag."""
        if self._own_payloads is None:
            self.load()
            self._own_payloads = assemble_payloads(self.files, self.names, self.tags, self.restarts)
        return self._own_payloads

    @property
    def unknown(self) -> dict[tuple[str, str], tuple[int, int]]:
        """How many values only their plugin can read, and their bytes, by plugin and tag."""
        self.load()
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for log in (self, *self.parts):
            found = {**count_unknown(log.files, log.names, log.tags), **found}
        for plugin, tag, length in self.late_unknown.values():
            count, size = found.get((plugin, tag), (0, 0))
            found[plugin, tag] = count + 1, size + length
        return found

    def foreign_plugin(self, tag: str) -> str:
        """Return the plugin of a tag if Runfold does not know it; otherwise an empty text."""
        plugin = plugin_of(self.metadata(tag) or b"")
        return "" if plugin in PLUGIN_KINDS else plugin

    def series(self, tag: str) -> Series:
        """The scalar series of a tag. Raises UnknownTag with the near ones."""
        series = self.scalars.get(tag)
        if series is not None:
            return series
        kinds = [kind for kind, name in self.payloads if name == tag]
        run = f"run '{escape(self.name)}'"
        if kinds:
            raise UnknownTag(f"Tag '{escape(tag)}' in {run} holds no scalars but {kinds[0]} data.")
        hint = did_you_mean(tag, list(self.scalars))
        raise UnknownTag(f"No tag '{escape(tag)}' in {run}. {hint}".rstrip())

    def tag_kinds(self) -> dict[str, list[str]]:
        """The kinds under each tag: one, unless a writer mixed them up."""
        kinds: dict[str, list[str]] = {tag: [SCALAR] for tag in self.scalars}
        for kind, tag in self.payloads:
            kinds.setdefault(tag, []).append(kind)
        return kinds

    def metadata(self, tag: str) -> bytes | None:
        """The tag's serialised SummaryMetadata, if any event carried it."""
        if len(self._numbers) < len(self.names):
            self._numbers = {name: number for number, name in enumerate(self.names)}
        number = self._numbers.get(tag)
        found = None if number is None else self.tags.metadata(number)
        if found is None:
            told = (part.metadata(tag) for part in self.parts)
            found = next((one for one in told if one is not None), None)
        return found

    def fetch(self, payloads: Payloads) -> Iterator[bytes]:
        """Yield the stored bytes of values, in their order."""
        for file, items in self._by_file(payloads):
            yield from file.fetch(items)

    def _by_file(self, payloads: Payloads) -> Iterator[tuple[EventFile, NDArray[np.void]]]:
        # Values lie in the order of the files.
        numbers, starts = np.unique(payloads.files, return_index=True)
        ends = [*starts[1:], len(payloads)]
        for number, start, end in zip(numbers, starts, ends, strict=len(payloads) > 0):
            yield payloads.source(int(number)), payloads.items[start:end]

    def file_of(self, payloads: Payloads, row: int) -> EventFile:
        """The file in which one value lies."""
        return payloads.source(int(payloads.files[row]))

    def read_config(self) -> list[StoredEmbedding]:
        """The embeddings that the projector configuration names, or ValueError for a bad one."""
        from runfold._events.kinds.embedding import read_config

        return [] if self.config is None else read_config(self.config)

    @property
    def last_sign(self) -> float | None:
        """When the run was last heard of; None where its folder tells."""
        return None

    @property
    def size(self) -> int:
        """The size of the run's event files when last read, in bytes."""
        self.load()
        return sum(file.size for file in self.all_files)

    @property
    def points(self) -> int:
        """How many values of any kind the run shows."""
        if self._shows_all_points:
            scalars = sum(file.columns.scalars.total for file in self.files)
        else:
            scalars = sum(map(len, self.scalars.values()))
        return scalars + sum(map(len, self.payloads.values()))

    @property
    def hidden(self) -> int:
        """How many values the restart policy left out."""
        hidden = sum(payloads.hidden for payloads in self.payloads.values())
        if not self._shows_all_points:
            hidden += sum(series.hidden for series in self.scalars.values())
        return hidden

    @property
    def _shows_all_points(self) -> bool:
        """Whether all points that were read are shown, so that they can be counted at once."""
        self.load()
        has_restarts = any(file.columns.restarts for file in self.files)
        return not self.parts and (
            self.restarts == "keep" or (self.restarts == "session" and not has_restarts)
        )

    @property
    def wall_time_range(self) -> tuple[float, float]:
        """The wall times of the first and the last event; NaN where there is none.

        The run's own folder decides: `add_hparams` may have been called much later.
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
        """Everything wrong in the run's files, in the order of the files."""
        self.load()
        found = [problem for file in self.files for problem in file.problems(self.names)]
        found += self.late_problems
        # Only tags of other values can hold two kinds; scalar tags may be a million.
        kinds_of: dict[str, list[str]] = {}
        for kind, tag in self.payloads:
            known = [SCALAR] if tag in self.scalars else []
            kinds_of.setdefault(tag, known).append(kind)
        for number, name in enumerate(self.names):
            is_shown = "\\x" in name and (name in self.scalars or name in kinds_of)
            if is_shown and _is_invalid(self.tags.raw_name(number)):
                found.append(
                    Problem.of(Code.INVALID_UTF8_TAG, self.path, detail=f"tag '{escape(name)}'")
                )
        for tag, kinds in kinds_of.items():
            # The graph of a run has no tag, which is not to have the empty one.
            if len(kinds) > 1 and (tag or "graph" not in kinds):
                detail = f"tag '{escape(tag)}': {' and '.join(kinds)}"
                found.append(Problem.of(Code.TWO_KINDS, self.path, detail=detail))
        found += [problem for part in self.parts for problem in part.list_problems()]
        return [problem.in_run(self.name) for problem in found]


def _make_distinct(names: list[str]) -> None:
    """Mark names that came out equal because their bytes were escaped."""
    seen: set[str] = set()
    for number, name in enumerate(names):
        while name in seen:
            name += "'"
        names[number] = name
        seen.add(name)


def _is_invalid(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def read_event_files(folder: str, paths: list[str]) -> RunLog:
    """Return the log in these event files of one folder, including what a restart hides."""
    from runfold._logdir.discover import FoundRun

    return RunLog(FoundRun("", folder, paths), restarts="keep")
