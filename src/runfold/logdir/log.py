"""One run's log: its event files put together, read when first asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from runfold.core.event import Form
from runfold.core.tags import Tags
from runfold.errors import AmbiguousTag, BadLog, FileChanged, UnknownTag
from runfold.events.file import EventFile, join_points
from runfold.events.kinds import PLUGIN_KINDS
from runfold.events.kinds.value import plugin_of
from runfold.events.problems import Code, Problem
from runfold.logdir.read import Reader
from runfold.logdir.restarts import visible
from runfold.logdir.series import Series
from runfold.text import did_you_mean, escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from runfold.core.decoder import Points
    from runfold.logdir.discover import FoundRun

_FORM_KINDS = {
    Form.HISTOGRAM: "histogram",
    Form.IMAGE: "image",
    Form.AUDIO: "audio",
    Form.GRAPH: "graph",
    Form.META_GRAPH: "graph",
    Form.RUN_METADATA: "run_metadata",
}

# These tell of the run, not of a step of it: a restart does not make them wrong.
_TIMELESS = {"graph", "hparams", "run_metadata"}


@dataclass(slots=True)
class Payloads:
    """The stored values of one tag that are not scalars: where they lie in the run's files.

    `files` says for each value which of `sources` holds it: the run's files
    when they were indexed, and how often each had been read anew by then.
    """

    kind: str
    tag: str
    items: NDArray[np.void]
    files: NDArray[np.int32]
    sources: list[tuple[EventFile, int]]
    hidden: int = 0

    @property
    def steps(self) -> NDArray[np.int64]:
        """The step of each value."""
        return self.items["step"]

    @property
    def wall_times(self) -> NDArray[np.float64]:
        """The wall time of each value."""
        return self.items["wall_time"]

    def source(self, number: int) -> EventFile:
        """One of the files. Raises FileChanged if it is another than was indexed."""
        file, rereads = self.sources[number]
        if file.rereads != rereads:
            raise FileChanged(file.path)
        return file

    def readable(self) -> Payloads:
        """The values without those in files that could not be read lately.

        That they cannot be read is noted with the file already, and one lost
        file must not keep the values of all others from a table.
        """
        lost = [number for number, (file, _) in enumerate(self.sources) if file.trouble]
        if not lost:
            return self
        kept = ~np.isin(self.files, lost)
        return replace(self, items=self.items[kept], files=self.files[kept])

    def __len__(self) -> int:
        return len(self.items)


class RunLog:
    """The event files of one run.

    Reading happens at the first question and at `refresh`; what was asked for
    in between stays as it was.
    """

    def __init__(self, found: FoundRun, restarts: str = "session", is_strict: bool = False) -> None:
        self.name = found.name
        self.path = found.path
        self.restarts = restarts
        self.is_strict = is_strict
        self.config = found.config
        self.files: list[EventFile] = []
        self.tags = Tags()
        self.is_loaded = False
        # What decoding a value found wrong, each once: known once asked for.
        self.late_problems: dict[Problem, None] = {}
        self._scalars: dict[str, Series] | None = None
        self._payloads: dict[tuple[str, str], Payloads] | None = None
        self._names: list[str] = []
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
        moment, and what was read of it is not wrong.
        """
        self.config = found.config
        known = {file.path for file in self.files}
        new = [path for path in found.files if path not in known]
        if new:
            self.files += [EventFile(path, self.tags) for path in new]
            self.files.sort(key=lambda file: file.path)

    def read(self, reader: Reader) -> None:
        """Queue what is new in the run's files for reading; `settle` follows."""
        for file in self.files:
            reader.read(file)

    def settle(self) -> None:
        """Let the next question see what was read, if anything was new."""
        versions = [file.version for file in self.files]
        if not self.is_loaded or versions != self._versions:
            self._scalars = self._payloads = None
        self._versions = versions
        self.is_loaded = True
        # What was wrong in a file that is another one now is no longer wrong.
        rereads = {file.path: file.rereads for file in self.files}
        anew = {path for path, count in rereads.items() if count > self._rereads.get(path, 0)}
        self._rereads = rereads
        if anew:
            self.late_problems = {
                late: None for late in self.late_problems if late.file not in anew
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
            self._names += self.tags.names(len(self._names))
            if len(set(self._names)) < len(self._names):
                _make_distinct(self._names)
        return self._names

    @property
    def scalars(self) -> dict[str, Series]:
        """The scalar series by tag, in the order in which the tags first appear."""
        self.load()
        if self._scalars is None:
            self._scalars = self._assemble_scalars()
        return self._scalars

    @property
    def payloads(self) -> dict[tuple[str, str], Payloads]:
        """All other values by kind and tag."""
        self.load()
        if self._payloads is None:
            self._payloads = self._assemble_payloads()
        return self._payloads

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
        kinds: dict[str, list[str]] = {tag: ["scalar"] for tag in self.scalars}
        for kind, tag in self.payloads:
            kinds.setdefault(tag, []).append(kind)
        return kinds

    def find(self, tag: str) -> tuple[str, str]:
        """The (kind, tag) of a tag. Raises AmbiguousTag if it has two kinds."""
        kinds = self.tag_kinds()
        if tag not in kinds:
            hint = did_you_mean(tag, list(kinds))
            raise UnknownTag(
                f"No tag '{escape(tag)}' in run '{escape(self.name)}'. {hint}".rstrip()
            )
        if len(kinds[tag]) > 1:
            raise AmbiguousTag(
                f"Tag '{escape(tag)}' in run '{escape(self.name)}' holds {' and '.join(kinds[tag])}"
                " data. Say which kind is meant."
            )
        return kinds[tag][0], tag

    def metadata(self, tag: str) -> bytes | None:
        """The tag's serialised SummaryMetadata, if any event carried it."""
        return self.tags.metadata(self.names.index(tag)) if tag in self.names else None

    def fetch(self, payloads: Payloads) -> Iterator[bytes]:
        """Yield the stored bytes of values, in their order."""
        for file, items in self._by_file(payloads):
            yield from file.fetch(items)

    def _by_file(self, payloads: Payloads) -> Iterator[tuple[EventFile, NDArray[np.void]]]:
        for number in np.unique(payloads.files):
            yield payloads.source(int(number)), payloads.items[payloads.files == number]

    def file_of(self, payloads: Payloads, row: int) -> EventFile:
        """The file in which one value lies."""
        return payloads.source(int(payloads.files[row]))

    @property
    def size(self) -> int:
        """The size of the run's event files when last read, in bytes."""
        self.load()
        return sum(file.size for file in self.files)

    @property
    def points(self) -> int:
        """How many values of any kind the run shows."""
        return sum(map(len, self.scalars.values())) + sum(map(len, self.payloads.values()))

    @property
    def hidden(self) -> int:
        """How many values the restart policy left out."""
        series = sum(series.hidden for series in self.scalars.values())
        return series + sum(payloads.hidden for payloads in self.payloads.values())

    @property
    def wall_time_range(self) -> tuple[float, float]:
        """The wall times of the first and the last event; NaN where there is none."""
        self.load()
        times = [
            time
            for file in self.files
            for time in (file.decoder.first_wall_time, file.decoder.last_wall_time)
            if not math.isnan(time)
        ]
        return (min(times), max(times)) if times else (math.nan, math.nan)

    def list_problems(self) -> list[Problem]:
        """Everything wrong in the run's files, in the order of the files."""
        self.load()
        found = [problem for file in self.files for problem in file.problems(self.names)]
        found += self.late_problems
        kinds_of = self.tag_kinds()
        for number, name in enumerate(self.names):
            if "\\x" in name and name in kinds_of and _is_invalid(self.tags.raw_name(number)):
                found.append(
                    Problem.of(Code.INVALID_UTF8_TAG, self.path, detail=f"tag '{escape(name)}'")
                )
        for tag, kinds in kinds_of.items():
            # The graph of a run has no tag, which is not to have the empty one.
            if len(kinds) > 1 and (tag or "graph" not in kinds):
                detail = f"tag '{escape(tag)}': {' and '.join(kinds)}"
                found.append(Problem.of(Code.TWO_KINDS, self.path, detail=detail))
        return [problem.in_run(self.name) for problem in found]

    def _assemble_scalars(self) -> dict[str, Series]:
        gathered: dict[int, list[Points]] = {}
        for file in self.files:
            for tag, points in file.columns.scalars.items():
                gathered.setdefault(tag, []).append(points)
        names = self.names
        markers = self._markers() if self.restarts == "session" else {}
        needs_policy = self.restarts == "step" or bool(markers)
        assembled = {}
        for tag, pieces in gathered.items():
            columns = pieces[0] if len(pieces) == 1 else join_points(pieces)
            hidden = 0
            if needs_policy:
                mask = visible(columns[0], markers.get(tag, ()), self.restarts)
                if mask is not None:
                    hidden = len(mask) - int(mask.sum())
                    columns = (columns[0][mask], columns[1][mask], columns[2][mask])
            assembled[names[tag]] = Series(self.name, names[tag], *columns, hidden)
        return assembled

    def _lowest_steps(self) -> list[int]:
        """For each restart marker of the run the lowest step of it and all after it."""
        steps = [step for file in self.files for step, _, _ in file.columns.restarts]
        return list(accumulate(reversed(steps), min))[::-1]

    def _markers(self) -> dict[int, list[tuple[int, int]]]:
        """For each tag (points before it, step) of the restart markers that follow points of it.

        A step is the lowest of that marker and all after it, so a marker that
        follows no new point need not be repeated for each tag.
        """
        lowest = self._lowest_steps()
        markers: dict[int, list[tuple[int, int]]] = {}
        ends: dict[int, int] = {}
        passed = 0
        for columns in (file.columns for file in self.files if lowest):
            for _, _, counts in columns.restarts:
                for tag, count in counts.items():
                    markers.setdefault(tag, []).append((ends.get(tag, 0) + count, lowest[passed]))
                passed += 1
            for tag, points in columns.scalars.items():
                ends[tag] = ends.get(tag, 0) + len(points[0])
                if passed < len(lowest):
                    markers.setdefault(tag, []).append((ends[tag], lowest[passed]))
        return markers

    def _assemble_payloads(self) -> dict[tuple[str, str], Payloads]:
        pieces = [
            (number, file.columns.items)
            for number, file in enumerate(self.files)
            if len(file.columns.items)
        ]
        if not pieces:
            return {}
        items = pieces[0][1] if len(pieces) == 1 else np.concatenate([p[1] for p in pieces])
        files = np.repeat(
            np.array([number for number, _ in pieces], np.int32), [len(p[1]) for p in pieces]
        )
        sources = [(file, file.rereads) for file in self.files]
        markers = self._item_markers()
        assembled: dict[tuple[str, str], Payloads] = {}
        for rows, kind, tag in self._group(items):
            mask = (
                None
                if kind in _TIMELESS
                else self._visible_rows(items["step"][rows], rows, markers)
            )
            shown = rows if mask is None else rows[mask]
            assembled[kind, tag] = Payloads(
                kind, tag, items[shown], files[shown], sources, len(rows) - len(shown)
            )
        return assembled

    def _group(self, items: NDArray[np.void]) -> Iterator[tuple[NDArray[np.intp], str, str]]:
        """Yield (rows, kind, tag name) for each kind under each tag, by first appearance."""
        keys = items["tag"].astype(np.int64) << 8 | items["form"]
        rows_of: dict[tuple[str, str], list[NDArray[np.intp]]] = {}
        order = np.argsort(keys, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
        for rows in sorted(groups, key=lambda rows: rows[0]):
            tag, form = int(items["tag"][rows[0]]), int(items["form"][rows[0]])
            name = self.names[tag] if tag >= 0 else ""
            kind = self._kind(tag, form)
            # Metadata alone is a value of hparams; elsewhere it only says what the tag is.
            if form != Form.NOTHING or kind == "hparams":
                rows_of.setdefault((kind, name), []).append(rows)
        for (kind, name), parts in rows_of.items():
            yield (parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))), kind, name

    def _kind(self, tag: int, form: int) -> str:
        if form in _FORM_KINDS:
            return _FORM_KINDS[Form(form)]
        kind = PLUGIN_KINDS.get(plugin_of(self.tags.metadata(tag) or b""), "tensor")
        # A tensor of many numbers under the scalars plugin is no scalar.
        return "tensor" if kind == "scalar" else kind

    def _item_markers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many items came before each restart marker of the run, and its lowest step."""
        counts = []
        before = 0
        for file in self.files:
            counts += [before + items for _, items, _ in file.columns.restarts]
            before += len(file.columns.items)
        return np.array(counts, np.int64), np.array(self._lowest_steps(), np.int64)

    def _visible_rows(
        self,
        steps: NDArray[np.int64],
        rows: NDArray[np.intp],
        markers: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> NDArray[np.bool_] | None:
        counts, lowest = markers
        # The marker that follows each row; only where it changes does one matter.
        following = np.searchsorted(counts, rows, side="right")
        ends = np.flatnonzero(np.diff(following, append=len(counts)))
        befores, limits = (ends + 1).tolist(), lowest[following[ends]].tolist()
        return visible(steps, list(zip(befores, limits, strict=True)), self.restarts)


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
