"""`Run`, the public interface to one run. Files are read on first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.run_log import RunLog
    from runfold._story.status import RunStatus
    from runfold._story.story_records import Artifact, Code, Mark
    from runfold._tables.by_run.difference import Difference
    from runfold._tables.frames.frame import Table


class Run(Frames):
    """One run: its scalar series by tag, one table per kind of data, and its metadata.

    `run[tag]` is a scalar series, and iterating over a run yields its scalar tags. Other
    kinds of data are in tables, such as `run.images()`. Metadata, such as `run.code` and
    `run.packages`, is available for runs recorded with `rf.track`.

    Examples:
        >>> run = rf.open("runs/")["seed-1"]
        >>> run["train/loss"]
        Series('seed-1', 'train/loss', 10 points, steps 0..90, last value 0.393915)
        >>> run.status.state
        'finished'
        >>> run.config
        {'lr': 0.1, 'seed': 1}
    """

    def __init__(self, logdir: Logdir, log: RunLog) -> None:
        self._logdir = logdir
        self._unread = log

    @property
    def _log(self) -> RunLog:
        """The run's log, loaded. Raises BadLog in strict mode."""
        # Every access to a series goes through here, so it must be fast once the
        # log is loaded.
        if self._logdir.strict or not self._unread.is_loaded:
            self._logdir.load([self._unread])
        return self._unread

    @property
    def name(self) -> str:
        """The run's path relative to the logdir, as in TensorBoard."""
        return self._unread.name

    @property
    def path(self) -> str:
        """The run's folder."""
        return self._unread.path

    @property
    def tags(self) -> dict[str, list[str]]:
        """The run's tags, by kind.

        Examples:
            >>> run.tags
            {'scalar': ['train/loss', 'val/loss'], 'image': ['samples']}
        """
        return tags_of([self._log])

    @property
    def points(self) -> int:
        """The number of values of all kinds, not counting hidden ones."""
        return self._log.points

    @property
    def hidden(self) -> int:
        """The number of values that the `restarts` option hides; see `rf.open`."""
        return self._log.hidden

    def __getitem__(self, tag: str) -> Series:
        """Return the scalar series of a tag.

        Raises:
            UnknownTag: the run has no such scalar tag. The message lists similar tags, or
                the method to use if the tag is of another kind.

        Examples:
            >>> run["val/loss"].values
            array([0.94, 0.73, ...])
            >>> run["weights"]
            Traceback (most recent call last):
            UnknownTag: Tag 'weights' in run 'seed-1' contains histogram data, not scalars.
            Use run.histograms('weights').
        """
        if not isinstance(tag, str):
            raise UnknownTag(f"Expected a tag (str), got {escape(repr(tag))}.")
        log = self._log
        series = log.scalars.get(tag)
        if series is None:
            from runfold._tables.frames.missing_series import explain_missing

            raise UnknownTag(explain_missing(log, tag))
        return series

    def __contains__(self, tag: object) -> bool:
        """Return whether the run has a scalar series with this tag."""
        return tag in self._log.scalars

    def __iter__(self) -> Iterator[str]:
        """Yield the scalar tags."""
        return iter(self._log.scalars)

    def __len__(self) -> int:
        """Return the number of scalar tags."""
        return len(self._log.scalars)

    @property
    def status(self) -> RunStatus:
        """The run's state ("running", "finished", "failed", ...), with start and end times.

        Examples:
            >>> run.status.state
            'failed'
            >>> print(run.status.traceback)
        """
        from runfold._tables.by_run.run_story import read_status

        return read_status(self._log)

    @property
    def config(self) -> dict[str, Any]:
        """The tracked configuration, nested.

        If no configuration was tracked, contains the hparams and the settings found in
        text tags and files.
        """
        from runfold._tables.by_run.run_story import read_config

        return read_config(self._log)

    @property
    def code(self) -> Code | None:
        """The commit, the uncommitted diff and the untracked files; None if not recorded.

        Examples:
            >>> run.code.commit
            'fbb668478fcb3ff774e06e142b4baee72b338747'
            >>> print(run.code.diff)
        """
        from runfold._tables.by_run.run_story import read_code

        return read_code(self._log)

    @property
    def command(self) -> Any:
        """The command line: `argv`, `orig_argv` and `executable`; None if not recorded."""
        return self._part("command")

    @property
    def host(self) -> dict[str, Any]:
        """The machine: name, operating system, processors and GPUs; empty if not recorded."""
        return self._part("host") or {}

    @property
    def packages(self) -> dict[str, Any]:
        """The versions of the installed packages, by name; empty if not recorded."""
        return self._part("packages") or {}

    @property
    def environment(self) -> dict[str, Any]:
        """The relevant environment variables, with secrets masked; empty if not recorded."""
        return self._part("environment") or {}

    @property
    def output(self) -> str:
        """The run's console output; empty if not recorded."""
        from runfold._tables.by_run.run_story import read_output

        return read_output(self._log)

    @property
    def artifacts(self) -> list[Artifact]:
        """The files saved with the run: name, path, size and sha256."""
        from runfold._tables.by_run.run_story import read_artifacts

        return read_artifacts(self._log)

    @property
    def marks(self) -> list[Mark]:
        """The events marked during the run: step, wall_time and text."""
        from runfold._tables.by_run.run_story import read_marks

        return read_marks(self._log)

    def system(self) -> Table:
        """Return the machine's load over time: one column per tag under `system/`.

        The table is indexed by step and also has a `wall_time` column.
        """
        from runfold._tables.by_run.system_frame import system_frame

        return system_frame(self._log)

    def diff(self, other: Run) -> Difference:
        """Compare this run with another one: settings, code, machine, and final metrics.

        Examples:
            >>> difference = run.diff(runs["seed-2"]).without_same()
            >>> difference.sections["configuration"]
            [Entry(name='lr', a=0.1, b=0.01)]
        """
        from runfold._tables.by_run.difference import compare_runs

        return compare_runs(self._log, other._log, (self.name, other.name))

    def _part(self, part: str) -> Any:
        from runfold._tables.by_run.run_story import read_part

        return read_part(self._log, part)

    def problems(self) -> Table:
        """Return a table of the problems found in the run's files, with one row per problem.

        The columns are run, file, offset, code and message.
        """
        from runfold._tables.frames.problem_frame import problem_frame

        return problem_frame(self._log.list_problems())

    @property
    def _cache(self) -> PointCache | None:
        return self._log.cache

    def _logs(self, runs: Names) -> list[RunLog]:
        return [self._log] if select([self.name], runs, noun="run") else []

    def __reduce__(self) -> tuple[Callable[..., Run], tuple[object, ...]]:
        """Pickle the paths, options and name, so that another process can reopen the run."""
        return _reopen, (*describe_logdir(self._logdir), self.name)

    def __repr__(self) -> str:
        from runfold._tables.by_run.listing import describe_run

        return describe_run(self._log)

    def _repr_html_(self) -> str:
        from runfold._tables.by_run.listing import tags_html

        return tags_html(self._log)


def _reopen(paths: list[str], options: dict[str, Any], name: str) -> Run:
    logdir = open_logdir(*paths, **options)
    return Run(logdir, logdir.logs[name])


def describe_logdir(logdir: Logdir) -> tuple[list[str], dict[str, Any]]:
    """Return the absolute paths and the options of `rf.open` that reopen a logdir."""
    paths = [
        os.fsdecode(path)
        if is_url(path)
        else os.path.abspath(os.path.expanduser(os.fsdecode(path)))
        for path in logdir.paths
    ]
    cache = logdir.cache
    engine = None if cache is None else cache.engine
    return paths, {
        "restarts": logdir.restarts,
        "strict": logdir.strict,
        "progress": logdir.progress,
        "find_config": logdir.config_files is not None,
        "limit_memory": cache.limit if cache is not None and cache.has_limit else None,
        "copy": logdir.places.is_copied,
        "engine": None if engine is None else engine.name,
        "address": None if engine is None else engine.address,
        "index": logdir.is_indexed,
    }


def tags_of(logs: Iterable[RunLog | Sequence[str]]) -> dict[str, list[str]]:
    """Return the distinct tags of each kind; embeddings have the names shown in their table.

    A run that contains only scalars can be given as its tags.

    "unknown" lists the tags whose values only their plugin can read.
    """
    from runfold._tables.frames.decoded_values import embeddings_of

    tags: dict[str, dict[str, None]] = {}
    for log in logs:
        if isinstance(log, Sequence):
            if log:
                tags.setdefault(SCALAR, {}).update(dict.fromkeys(log))
            continue
        if log.scalars:
            tags.setdefault(SCALAR, {}).update(dict.fromkeys(log.scalars))
        for kind, tag in log.payloads:
            tags.setdefault(kind, {})[tag] = None
        for embedding in embeddings_of(log):
            tags.setdefault("embedding", {})[embedding.name] = None
        for _, tag in log.unknown:
            tags.setdefault(UNKNOWN, {})[tag] = None
    return {kind: list(names) for kind, names in tags.items()}


def _draw_series(series: Series, x: str, **options: Any) -> Figure:
    from runfold._plot.series_figure import plot_series

    return plot_series(series, x, **options)


Series._draw = _draw_series
