"""One run, as a user holds it. Nothing is read before it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from runfold._events.kinds import SCALAR, UNKNOWN
from runfold._humanize import escape
from runfold._logdir.series import Series
from runfold._pack.open_logdir import open_logdir
from runfold._select import Names, select
from runfold._storage.url import is_url
from runfold._tables.frames.frame_methods import Frames
from runfold.errors import UnknownTag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from runfold._logdir.loader import Logdir
    from runfold._logdir.run_log import RunLog
    from runfold._story.status import RunStatus
    from runfold._story.story_records import Artifact, Code, Mark
    from runfold._tables.by_run.difference import Difference
    from runfold._tables.frames.frame import Table

    # What opens a logdir again: paths, restarts, strict, progress.
    Opening = tuple[list[str], str, bool, bool | None]


class Run(Frames):
    """One run: `run["train/loss"]` is a Series, and every kind has its table."""

    def __init__(self, logdir: Logdir, log: RunLog) -> None:
        self._logdir = logdir
        self._unread = log

    @property
    def _log(self) -> RunLog:
        """The run's log, read. Raises BadLog in strict mode."""
        # Every access to a series comes through here: once read, it must cost nothing.
        if self._logdir.strict or not self._unread.is_loaded:
            self._logdir.load([self._unread])
        return self._unread

    @property
    def name(self) -> str:
        """The run's path below the logdir, as TensorBoard shows it."""
        return self._unread.name

    @property
    def path(self) -> str:
        """The run's folder."""
        return self._unread.path

    @property
    def tags(self) -> dict[str, list[str]]:
        """The tags of each kind."""
        return tags_of([self._log])

    @property
    def points(self) -> int:
        """How many values of any kind the run shows."""
        return self._log.points

    @property
    def hidden(self) -> int:
        """How many values the restart policy hid."""
        return self._log.hidden

    def __getitem__(self, tag: str) -> Series:
        """The scalar series of a tag. Raises UnknownTag with the near ones."""
        if not isinstance(tag, str):
            raise UnknownTag(f"A tag is named by a str, not {escape(repr(tag))}.")
        return self._log.series(tag)

    def __contains__(self, tag: object) -> bool:
        """Whether the tag holds scalars, so that `run[tag]` gives a series."""
        return tag in self._log.scalars

    def __iter__(self) -> Iterator[str]:
        """The tags that hold scalars."""
        return iter(self._log.scalars)

    def __len__(self) -> int:
        """How many tags hold scalars."""
        return len(self._log.scalars)

    @property
    def status(self) -> RunStatus:
        """Whether the run is running, finished, failed ..., and since when."""
        from runfold._tables.by_run.run_story import read_status

        return read_status(self._log)

    @property
    def config(self) -> dict[str, Any]:
        """The configuration as it was tracked, nested; otherwise the hparams."""
        from runfold._tables.by_run.run_story import read_config

        return read_config(self._log)

    @property
    def code(self) -> Code | None:
        """The commit that ran, the uncommitted diff and the files git did not know."""
        from runfold._tables.by_run.run_story import read_code

        return read_code(self._log)

    @property
    def command(self) -> Any:
        """The command line."""
        return self._part("command")

    @property
    def host(self) -> dict[str, Any]:
        """The machine: its name, system, processors and GPUs."""
        return self._part("host") or {}

    @property
    def packages(self) -> dict[str, Any]:
        """The version of each package that was there."""
        return self._part("packages") or {}

    @property
    def environment(self) -> dict[str, Any]:
        """The environment variables that matter, secrets masked."""
        return self._part("environment") or {}

    @property
    def output(self) -> str:
        """What the run wrote on the console."""
        from runfold._tables.by_run.run_story import read_output

        return read_output(self._log)

    @property
    def artifacts(self) -> list[Artifact]:
        """The files that were saved with the run: name, path, size and sha256."""
        from runfold._tables.by_run.run_story import read_artifacts

        return read_artifacts(self._log)

    @property
    def marks(self) -> list[Mark]:
        """The events that the run marked: step, wall_time and text."""
        from runfold._tables.by_run.run_story import read_marks

        return read_marks(self._log)

    def system(self) -> Table:
        """The load of the machine over time: the scalars under `system/`, one column a tag."""
        from runfold._tables.by_run.system_frame import system_frame

        return system_frame(self._log)

    def diff(self, other: Run) -> Difference:
        """What this run and another say, side by side; `.without_same()` has what differs."""
        from runfold._tables.by_run.difference import compare_runs

        return compare_runs(self._log, other._log, (self.name, other.name))

    def _part(self, part: str) -> Any:
        from runfold._tables.by_run.run_story import read_part

        return read_part(self._log, part)

    def problems(self) -> Table:
        """Everything wrong in the run's files: file, offset, code, message."""
        from runfold._tables.frames.problem_frame import problem_frame

        return problem_frame(self._log.list_problems())

    def _logs(self, runs: Names) -> list[RunLog]:
        return [self._log] if select([self.name], runs, noun="run") else []

    def __reduce__(self) -> tuple[Callable[..., Run], tuple[object, ...]]:
        """Travel to another process as paths and a name, to be opened again there."""
        return _reopen, (*describe_logdir(self._logdir), self.name)

    def __repr__(self) -> str:
        from runfold._tables.by_run.listing import describe_run

        return describe_run(self._log)

    def _repr_html_(self) -> str:
        from runfold._tables.by_run.listing import tags_html

        return tags_html(self._log)


def _reopen(paths: list[str], restarts: str, strict: bool, progress: bool | None, name: str) -> Run:
    logdir = open_logdir(*paths, restarts=restarts, strict=strict, progress=progress)
    return Run(logdir, logdir.logs[name])


def describe_logdir(logdir: Logdir) -> Opening:
    """What opens a logdir again, in a process with another working directory."""
    paths = [
        os.fsdecode(path)
        if is_url(path)
        else os.path.abspath(os.path.expanduser(os.fsdecode(path)))
        for path in logdir.paths
    ]
    return paths, logdir.restarts, logdir.strict, logdir.progress


def tags_of(logs: Iterable[RunLog]) -> dict[str, list[str]]:
    """The tags of each kind, each once; embeddings by the names that their table shows.

    Under "unknown" are those whose values only their plugin can read.
    """
    from runfold._tables.frames.decoded_values import embeddings_of

    tags: dict[str, dict[str, None]] = {}
    for log in logs:
        if log.scalars:
            tags.setdefault(SCALAR, {}).update(dict.fromkeys(log.scalars))
        for kind, tag in log.payloads:
            tags.setdefault(kind, {})[tag] = None
        for one in embeddings_of(log):
            tags.setdefault("embedding", {})[one.name] = None
        for _, tag in log.unknown:
            tags.setdefault(UNKNOWN, {})[tag] = None
    return {kind: list(names) for kind, names in tags.items()}


def _draw_series(series: Series, x: str, **options: Any) -> Figure:
    from runfold._plot.series_figure import plot_series

    return plot_series(series, x, **options)


Series._draw = _draw_series
