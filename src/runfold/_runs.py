"""`Runs`, the public interface to many runs. Files are read on first use."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from runfold._humanize import did_you_mean, escape, not_one_of
from runfold._logdir.loader import Changes
from runfold._logdir.restarts import POLICIES
from runfold._logdir.series import Series
from runfold._pack.open_logdir import open_logdir
from runfold._run import Run, describe_logdir, tags_of
from runfold._select import Names, select
from runfold._tables.by_run.collection import Collection
from runfold._tables.frames.frame_methods import Frames
from runfold.errors import RunfoldError, UnknownRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from runfold._compare.comparison import Comparison
    from runfold._compare.task_scores import Normalize
    from runfold._events.problems import Problem
    from runfold._export.dump import Export
    from runfold._index.facts import Facts
    from runfold._logdir.loader import Logdir
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.run_log import RunLog
    from runfold._reduce.groups import By
    from runfold._reduce.operations import Operation
    from runfold._reduced import Reduced
    from runfold._tables.by_run.direction import Better
    from runfold._tables.by_run.overview import Overview
    from runfold._tables.frames.frame import Table

__all__ = ["Changes", "Run", "Runs", "Series", "open_runs"]


def open_runs(
    *paths: str | os.PathLike[str],
    restarts: Literal["session", "step", "keep"] = "session",
    strict: bool = False,
    progress: bool | None = None,
    find_config: bool | None = None,
    limit_memory: int | str | None = None,
    copy: bool | None = None,
    engine: Literal["ray"] | None = None,
    address: str | None = None,
    index: bool | None = None,
) -> Runs:
    """Open the runs below one or more paths.

    Accepts everything that `tensorboard --logdir` accepts, and more. Runs are found
    immediately and read on first use.

    Args:
        paths: folders of runs, single runs, event files, files written by
            `runfold pack`, or globs. A URL such as `s3://bucket/runs` is read in place.
        restarts: what to do with points that a restarted job logged twice.
            "session" hides the points that the writer's restart marker invalidates,
            "step" hides the older points of a series when its step decreases, and
            "keep" hides nothing. `run.hidden` is the number of hidden points.
        strict: raise BadLog at the first problem instead of recording it.
        progress: show a progress bar during long loads. Default: only in a terminal
            or notebook.
        find_config: also read settings from text tags such as `args` and from files such as
            `hparams.yaml`, in the run's folder or in a folder above it. Default: True, unless
            the environment variable RUNFOLD_FIND_CONFIG is 0.
        limit_memory: memory for points and for what is computed from them, in bytes or as text
            such as "4GB". Files are read once to count their points. `table`, `where`, `reduce`
            and others then read them again in parts that fit, with the same results. Python
            and its libraries take about 150 MB more. Other methods that return points, such as
            `scalars`, need memory for their result. Default: no limit, which is faster.
        copy: copy what URLs refer to into the user's cache, and read it from there, so that it can
            also be read while the store cannot be reached. Default: False, unless the environment
            variable RUNFOLD_COPY is 1.
        engine: "ray" reads files, and computes tables, folds and scores, on a Ray cluster, with
            the same results. Each node must see the logdir at the same path, and have the same
            version of Runfold. Default: the work is done in this process.
        address: the address of the cluster, such as "10.0.0.5:6379" or "ray://10.0.0.5:10001".
            Default: the environment variable RAY_ADDRESS, otherwise a cluster that is running on
            this machine, otherwise one that is started for this process.
        index: keep what was read of a large logdir in the user's cache. The next program that
            opens it then answers `table`, `where` and others without reading files that have
            not changed. Default: False, unless the environment variable RUNFOLD_INDEX is 1.

    Returns:
        The runs, by name.

    Raises:
        LogdirNotFound: a path does not exist, or a glob matches nothing.
        BadLog: `strict` is set, and a file has a problem.
        NotEnoughMemory: raised later, if something does not fit into `limit_memory`. The
            message says how much would be enough.
        NoCluster: there is no cluster that can do the work.
        ClusterFailed: raised later, if the cluster does not finish some of the work.

    Examples:
        >>> runs = rf.open("runs/")
        >>> runs["seed-1"]["train/loss"].values
        array([0.93, 0.71, ...])
        >>> runs.scalars(tags="train/*")

        Logs that are larger than memory:

        >>> rf.open("runs/", limit_memory="4GB").table()
    """
    if restarts not in POLICIES:
        raise ValueError(not_one_of("restarts", restarts, POLICIES))
    if not paths:
        raise TypeError("open() requires at least one path")
    for path in paths:
        if isinstance(path, list | tuple | set):
            raise TypeError("open() expects each path as a separate argument: rf.open(*paths)")
    logdir = open_logdir(
        *paths,
        restarts=restarts,
        strict=strict,
        progress=progress,
        find_config=find_config,
        limit_memory=limit_memory,
        copy=copy,
        engine=engine,
        address=address,
        index=index,
    )
    return Runs(logdir)


class Runs(Frames, Collection, Mapping[str, Run]):
    """The runs of a logdir, or a selection of them, by name.

    A mapping from run names to `Run` objects, with one table per kind of data over all
    runs. Methods that select runs return a new `Runs`, so they can be chained. Combine
    selections from the same logdir with `-`, `&` and `|`.

    Examples:
        >>> runs = rf.open("runs/")
        >>> list(runs)
        ['seed-1', 'seed-2', 'seed-3']
        >>> runs["seed-1"]["train/loss"].values
        array([0.93, 0.71, ...])
        >>> finished = runs - runs.failed()
        >>> finished.newest(10).table()
    """

    def __init__(self, logdir: Logdir, names: Iterable[str] | None = None) -> None:
        self._logdir = logdir
        # The selected runs; None for all, including runs that appear later.
        self._names = None if names is None else frozenset(names)
        # Weak, because a Run keeps its data in memory even after its folder is deleted.
        self._runs: WeakValueDictionary[str, Run] = WeakValueDictionary()

    def __getitem__(self, name: str) -> Run:
        """Return the run with this name.

        Raises:
            UnknownRun: no selected run has this name; the message lists similar names.
        """
        if not isinstance(name, str):
            raise UnknownRun(f"Expected a run name (str), got {escape(repr(name))}.")
        if name not in self:
            if name in self._logdir.logs:
                raise UnknownRun(f"Run '{escape(name)}' is not in this selection of runs.")
            if part := self._logdir.explain_part(name):
                raise UnknownRun(part)
            hint = did_you_mean(name, list(self))
            raise UnknownRun(f"No run '{escape(name)}'. {hint}".rstrip())
        log = self._logdir.logs[name]
        run = self._runs.get(name)
        if run is None or run._unread is not log:
            run = self._runs[name] = Run(self._logdir, log)
        return run

    def __contains__(self, name: object) -> bool:
        return name in self._logdir.logs and (self._names is None or name in self._names)

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            return iter(self._logdir.logs)
        return filter(self._names.__contains__, self._logdir.logs)

    def __len__(self) -> int:
        return len(self._logdir.logs) if self._names is None else sum(1 for _ in self)

    def _only(self, names: Iterable[str]) -> Runs:
        """Return a selection of the logdir's runs."""
        selection = Runs(self._logdir, names)
        selection._runs = self._runs
        return selection

    def __sub__(self, other: Runs) -> Runs:
        """Return the runs that are not in `other`, a selection from the same logdir."""
        return self._combined(other, lambda name: name in self and name not in other)

    def __and__(self, other: Runs) -> Runs:
        """Return the runs that are also in `other`, a selection from the same logdir."""
        return self._combined(other, lambda name: name in self and name in other)

    def __or__(self, other: Runs) -> Runs:
        """Return these runs and those in `other`, a selection from the same logdir."""
        return self._combined(other, lambda name: name in self or name in other)

    def _combined(self, other: Runs, keeps: Callable[[str], bool]) -> Runs:
        if not isinstance(other, Runs):
            return NotImplemented
        if other._logdir is not self._logdir:
            raise RunfoldError("Only runs from the same rf.open() call can be combined.")
        return self._only([name for name in self._logdir.logs if keeps(name)])

    @property
    def tags(self) -> dict[str, list[str]]:
        """The tags that occur in any of the runs, by kind.

        Examples:
            >>> runs.tags
            {'scalar': ['train/loss', 'val/loss'], 'image': ['samples']}
        """
        facts = self._facts()
        return tags_of(self._logs(None) if facts is None else facts.distinct())

    @property
    def hidden(self) -> int:
        """The number of values that the `restarts` option hides; see `rf.open`."""
        facts = self._facts()
        if facts is None:
            return sum(log.hidden for log in self._logs(None))
        return int(facts.hidden(lambda log: log.hidden).sum())

    def load(self) -> Runs:
        """Read all runs now, using all cores, and return these runs."""
        self._logs(None)
        return self

    def refresh(self) -> Changes:
        """Find new runs, and read new data from the runs that were read before.

        The whole logdir is searched. Existing arrays and tables do not change, nor does
        a selection of runs (such as the result of `where`).

        A run whose folder was deleted is no longer listed, and its data is freed. If the
        folder was deleted and created again, only the new points remain. If only one of
        a run's files, or the logdir itself, is missing, the data is kept and `problems`
        reports the missing file, because network disks can lose files temporarily.

        Returns:
            What changed: `runs` and `gone` list the new and removed runs, `points` is the
            number of new values, and `reread` and `missing` list files. Falsy if nothing
            changed.

        Examples:
            >>> runs.refresh()
            Changes(runs=['seed-4'], gone=[], points=120, reread=[], missing=[])
        """
        return self._logdir.refresh()

    def pack(
        self,
        output: str | os.PathLike[str],
        *,
        partition: bool = False,
        overwrite: bool = False,
    ) -> None:
        """Write these runs to one Parquet file, which `rf.open` opens like a logdir.

        The file contains every point of every kind. `runfold unpack` restores the
        original event files.

        Args:
            output: the file to write, or the folder if `partition` is set.
            partition: write a folder with one pack per run.
            overwrite: replace existing output.

        Raises:
            OutputExists: the output exists and `overwrite` is not set.
            NotEnoughMemory: the longest series in a file does not fit into the `limit_memory` of
                `rf.open`.

        Examples:
            >>> runs.pack("runs.parquet")
            >>> rf.open("runs.parquet")["seed-1"]["train/loss"]
        """
        from runfold._pack.pack import check_memory, pack_logdir

        if self._cache is not None:
            check_memory(self._cache, self._logs(None))
        self._logdir.places.copy()  # a pack contains the event files byte for byte
        pack_logdir(
            self._logdir.places.paths,
            output,
            partition=partition,
            overwrite=overwrite,
            only=self._logdir.folders_of(self),
            progress=self._logdir.progress,
            engine=None if self._cache is None else self._cache.engine,
            cache=self._cache if self._cache is not None and self._cache.has_limit else None,
        )

    def reduce(
        self,
        ops: Operation | Iterable[Operation] = ("mean", "std"),
        *,
        by: By = None,
        tags: Names = None,
        runs: Names = None,
        align: str = "strict",
        bins: int | None = None,
        min_runs: int | None = None,
        duplicates: str = "error",
        nan: str = "skip",
        x: str = "step",
        lax_tags: bool = False,
        resamples: int = 10_000,
        seed: int = 0,
    ) -> Reduced:
        """Reduce the runs to statistics of each tag at each step.

        Args:
            ops: one or more of mean, std, var, sem, min, max, median, sum, count, iqm,
                quantiles (`q05`), ci95 (bootstrap interval of the mean), ci95-iqm and
                ci95-median (of the iqm and the median), ci95-t (Student's t), the name
                of any NumPy reduction, or a function of a (runs, steps) array. std,
                var and sem are sample statistics: they divide by n - 1, as in pandas.
            by: how to group runs, one or more of: an hparam's name, "parent" (the
                folder), "run" (each run separately), a regular expression with named
                groups that is searched for in the run's name, or a function that takes a
                Run and returns a value, or None to leave the run out. Default: all
                runs are one group.
            tags: names and globs. Default: all scalars except the system metrics of
                tracked runs.
            runs: names and globs. Default: all.
            align: how to align runs that logged at different steps. "strict" raises
                CannotFold, "intersection" keeps the steps that all runs have, and
                "union" those that any run has. "nearest", "ffill" and "interpolate"
                fill gaps between a run's first and last point, never beyond. "bins"
                averages over equal parts of the axis. "auto" changes nothing if all
                runs have the same steps; otherwise it interpolates, or uses bins if
                interpolating would need too much memory.
            bins: number of bins; implies align="bins".
            min_runs: leave out steps that fewer than this many runs have.
            duplicates: what to do with several values at one step of a run: "first" and
                "last" keep that value, "mean" uses their mean, and "error" raises CannotFold.
            nan: "skip" treats NaN as missing; "propagate" makes the statistics NaN.
            x: "step", "wall_time", "relative" (seconds since the run's first event) or a
                tag whose values are the x-axis, such as the number of samples seen.
            lax_tags: reduce a tag even if some runs of the group do not have it.
            resamples: number of bootstrap resamples.
            seed: seed of the bootstrap; the same seed gives the same numbers.

        Returns:
            One curve per group and tag, with one array per statistic.

        Raises:
            CannotFold: the runs cannot be aligned as requested. The message reports what is
                missing in which run, and which option allows this.
            UnknownStatistic: there is no operation with this name.
            UnknownTag: no run has this tag.

        Examples:
            Without groups, a tag selects a curve:

            >>> reduced = runs.reduce()
            >>> reduced["val/loss"]["mean"]
            array([0.74, 0.63, ...])

            With groups, select a group and a tag:

            >>> reduced = runs.reduce(["mean", "ci95"], by="lr", align="interpolate")
            >>> reduced["lr=0.1", "val/loss"]["mean"]
            array([0.72, 0.61, ...])
            >>> reduced.frame()
                 lr       tag  step     wall_time  runs   mean  ci95-low  ci95-high
            0  0.01  val/loss     0  1.795011e+09     3  0.994     0.987      1.004
            1  0.01  val/loss    10  1.795011e+09     3  0.990     0.978      1.005
        """
        from runfold._reduce.fold import FoldOptions, fold_runs
        from runfold._reduced import Reduced

        fold_options = FoldOptions(
            align, bins, min_runs, duplicates, nan, x, lax_tags, resamples=resamples, seed=seed
        )
        logs = self._logs(runs)
        return Reduced.of(
            fold_runs(
                logs,
                ops,
                tags=tags,
                by=self._by_log(by),
                options=fold_options,
                progress=self._logdir.progress,
            )
        )

    def plot(
        self,
        tags: Names = None,
        ops: Operation | Iterable[Operation] | None = None,
        by: By = None,
        *,
        runs: Names = None,
        align: str = "auto",
        bins: int | None = None,
        min_runs: int | None = None,
        duplicates: str = "last",
        nan: str = "skip",
        x: str = "step",
        lax_tags: bool = True,
        band: str | None = None,
        smooth: float = 0.0,
        log_x: bool = False,
        log_y: bool = False,
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
        size: tuple[float, float] | None = None,
        fewer_runs: Literal["dash", "hide", "plain"] = "dash",
        max_groups: int = 100,
    ) -> Figure:
        """Reduce the runs and plot one line and band per group, like `runfold plot`.

        Unlike `reduce`, it accepts runs with different tags and steps. A warning reports
        each choice and the data that was left out.

        Args:
            tags: names and globs. Default: all scalars except the system metrics of
                tracked runs.
            ops: statistics, as in `reduce`. Default: mean and std; with `by="run"`, mean.
                "ci95" is the interval of the line's statistic: with "iqm", it means "ci95-iqm".
            by: how to group runs, as in `reduce`; "run" draws each run separately.
            runs: names and globs. Default: all.
            align: as in `reduce`.
            bins: as in `reduce`.
            min_runs: as in `reduce`.
            duplicates: as in `reduce`.
            nan: as in `reduce`.
            x: as in `reduce`.
            lax_tags: as in `reduce`.
            band: as in `Reduced.plot`.
            smooth: as in `Reduced.plot`.
            log_x: as in `Reduced.plot`.
            log_y: as in `Reduced.plot`.
            ax: as in `Reduced.plot`.
            title: as in `Reduced.plot`.
            legend: as in `Reduced.plot`.
            size: as in `Reduced.plot`.
            fewer_runs: as in `Reduced.plot`.
            max_groups: as in `Reduced.plot`.

        Returns:
            The Matplotlib figure. A new figure is not registered with pyplot, so a notebook
            shows it only if it is the last expression of a cell.

        Raises:
            CannotFold: an option is invalid, or there is nothing to reduce.
            RunfoldError: there are too many groups.
            UnknownStatistic: there is no operation or band with this name.
            UnknownTag: no run has this tag.

        Examples:
            >>> runs.plot("val/loss", by="lr")
            >>> runs.plot("val/*", ["median", "q25", "q75"], smooth=0.6).savefig("val.pdf")
            >>> runs.plot("val/loss", by="run")
        """
        from runfold._plot.figure import plot_folded
        from runfold._reduce.bands import choose_operations

        operations, text = choose_operations(ops, by)
        reduced = self.reduce(
            operations,
            by=by,
            tags=tags,
            runs=runs,
            align=align,
            bins=bins,
            min_runs=min_runs,
            duplicates=duplicates,
            nan=nan,
            x=x,
            lax_tags=lax_tags,
        )
        left_out = f"Left out: {'; '.join(reduced.left_out)}." if reduced.left_out else ""
        for note in filter(None, (text, left_out, *reduced.remarks)):
            warnings.warn(note, stacklevel=2)
        return plot_folded(
            reduced,
            band=band,
            smooth=smooth,
            log_x=log_x,
            log_y=log_y,
            ax=ax,
            title=title,
            legend=legend,
            size=size,
            fewer_runs=fewer_runs,
            max_groups=max_groups,
            stacklevel=3,
        )

    def compare(
        self,
        tags: str | Sequence[str],
        by: By = None,
        at: str | int = "last",
        *,
        better: Literal["higher", "lower"] | None = None,
        runs: Names = None,
        level: float = 0.95,
        normalize: Normalize = None,
        duplicates: str = "last",
        resamples: int = 10_000,
        seed: int = 0,
    ) -> Comparison:
        """Test whether one group of runs is better than another.

        Args:
            tags: names and globs; several tags are tasks of one benchmark.
            by: how to group runs, as in `reduce`.
            at: the score of a run: its "last", "best", "min" or "max" value, "auc" (the
                area under the curve), or a step, for the last value up to that step.
            better: "higher" or "lower". Default: guessed from each tag's name.
            runs: names and globs. Default: all.
            level: confidence level of the intervals and of the verdict.
            normalize: how to put several tags on a common scale: "range", or a mapping from
                each tag to its lowest and highest possible score.
            duplicates: what to do with several values at one step of a run: "last" (as in
                `table`) and "first" keep that value, "mean" uses their mean, and "error"
                raises CannotFold.
            resamples: number of resamples for bootstraps and permutation tests.
            seed: seed of the resampling; the same seed gives the same numbers.

        Returns:
            The score of each run, one row per group, one row per pair of groups, and the
            verdict in words.

        Raises:
            CannotFold: no run has a score, or an argument is invalid.
            UnknownTag: no run has this tag.
            UnknownStatistic: `at` is not a known score.

        Examples:
            >>> comparison = runs.compare("val/loss", by="lr")
            >>> print(comparison.sentence)
            lr=0.1 is better than lr=0.01 on val/loss ...
            >>> comparison.frame("pairs")
        """
        from runfold._compare.compare import compare

        return compare(
            self._logs(runs),
            tags,
            self._by_log(by),
            at,
            better,
            level=level,
            normalize=normalize,
            resamples=resamples,
            seed=seed,
            duplicates=duplicates,
        )

    def export(
        self,
        path: str | os.PathLike[str],
        kinds: Names = None,
        tags: Names = None,
        *,
        runs: Names = None,
        images: str | os.PathLike[str] | None = None,
        audio: str | os.PathLike[str] | None = None,
        format: str | None = None,
        overwrite: bool = False,
        escape_formulas: bool = False,
    ) -> Export:
        """Write tables of the runs to files.

        A file appears only when it is complete. Arrays are written as flat lists (JSON in
        text formats), with their shapes and types in adjacent columns.

        Args:
            path: a file with one kind, in the format given by its suffix, such as .csv,
                .jsonl.gz or .parquet (`runfold export --help` lists them all); an .xlsx
                file, with one sheet per kind; or a folder (with a slash at the end),
                with one file per kind.
            kinds: one or more kinds, such as "scalar", "image" or "problem";
                `runfold export --help` lists them. Default: all kinds that the
                runs have. A file that can hold only one kind contains scalars by default, or
                images or audio clips if `images` or `audio` is set.
            tags: names and globs. Default: all.
            runs: names and globs. Default: all.
            images: a folder for image files. Each file is named after its run, tag, step and
                index, and the table contains its path, relative to the table's folder.
                Default: images are embedded, in Parquet in the form that Hugging Face
                Datasets displays, and in text formats as base64.
            audio: a folder for audio clips, used like `images`.
            format: format of the files in a folder, such as "csv". Default: "parquet".
            overwrite: replace existing files.
            escape_formulas: put a single quote before text that a spreadsheet would interpret
                as a formula, in formats that spreadsheets open.

        Returns:
            The `files` written, the number of `rows` per kind, and `notes` on data that
            the format cannot store.

        Raises:
            OutputExists: a file exists and `overwrite` is not set.
            UnknownFormat: the suffix or `format` is not a known format.

        Examples:
            >>> runs.export("scalars.csv").files
            ['scalars.csv']
            >>> runs.export("everything/")
            >>> runs.export("images.csv", "image", images="pictures")
        """
        from runfold._export.dump import export

        return export(
            self,
            path,
            kinds=kinds,
            tags=tags,
            runs=runs,
            images=images,
            audio=audio,
            suffix=format,
            overwrite=overwrite,
            escape_formulas=escape_formulas,
        )

    def sql(
        self,
        query: str,
        parameters: Sequence[object] | Mapping[str, object] | None = None,
        *,
        limit_seconds: float | None = None,
        limit_memory: int | None = None,
    ) -> Table:
        """Return the result of a SQL query in DuckDB's dialect.

        The tables are runs, scalars, hparams, text, images, histograms and problems;
        docs/reference/sql.md lists their columns. Only the data that the query needs is read and
        decoded. The query has no access to files, the network or Python variables.

        Args:
            query: one read-only statement.
            parameters: a value for each `?` in the query, or a mapping with a value for
                each `$name`.
            limit_seconds: cancel the query after this many seconds. Default: no limit.
            limit_memory: maximum memory, in bytes, for the query and for its result.
                Default: most of the machine's memory. The `limit_memory` of `rf.open` applies
                only to reading the points.

        Returns:
            The rows of the result.

        Raises:
            BadQuery: the query is invalid; the message underlines the error.
            QueryStopped: the query reached a limit.

        Examples:
            >>> runs.sql("select run, min(value) as low from scalars where tag = ? group by run",
            ...          ["val/loss"])
                  run   low
            0  seed-1  0.39
            1  seed-2  0.42
        """
        from runfold._tables.sql.database import run_query, to_table
        from runfold._tables.sql.relations import Source

        source = Source(
            list(self),
            self._logs,
            self._list_problems,
            self._cache is not None,
            overview=self._overview,
        )
        rows = run_query(
            source, query, parameters, limit_seconds=limit_seconds, limit_memory=limit_memory
        )
        return to_table(rows)

    def _by_log(self, by: By) -> By:
        """Convert a grouping's functions of a Run to functions of a log."""
        if by is None or isinstance(by, str):
            return by
        if callable(by):
            return lambda log: by(self[log.name])
        return [key if isinstance(key, str) else self._by_log(key) for key in by]  # type: ignore[misc]

    def problems(self) -> Table:
        """Return a table of the problems found in the files, with one row per problem.

        The columns are run, file, offset, code and message.

        Examples:
            >>> runs.problems()[["run", "code"]]
                  run             code
            0  seed-3  incomplete-tail
        """
        from runfold._tables.frames.problem_frame import problem_frame

        return problem_frame(self._list_problems())

    def _list_problems(self) -> list[Problem]:
        if self._names is None:
            return self._logdir.list_problems()
        facts = self._facts()
        logs = self._logs(None) if facts is None else [log for _, log in facts.noted()]
        return [problem for log in logs for problem in log.list_problems()]

    @property
    def _cache(self) -> PointCache | None:
        return self._logdir.cache

    def _logs(self, runs: Names) -> list[RunLog]:
        # Keep one reference: a refresh in another thread replaces the mapping.
        all_logs = self._logdir.logs
        names = self._choose(all_logs, runs)
        logs = [all_logs[name] for name in names]
        self._logdir.load(logs)
        return logs

    def _choose(self, logs: Iterable[str], runs: Names) -> list[str]:
        names = [name for name in logs if self._names is None or name in self._names]
        return select(names, runs, noun="run")

    def _overview(
        self, runs: Names = None, better: Better | Mapping[str, Better] | None = None
    ) -> Overview:
        from runfold._tables.by_run.kept_overview import open_overview

        logdir = self._logdir
        return open_overview(logdir, self._choose(logdir.logs, runs), better, self._whole)

    def _facts(self) -> Facts | None:
        """Return what is known about the runs without their points, if there is an index."""
        from runfold._tables.by_run.kept_overview import find_facts

        return find_facts(self._logdir, list(self))

    def _keep(self, overview: Overview) -> None:
        if self._names is None:
            from runfold._tables.by_run.kept_statistics import keep_overview

            keep_overview(self._logdir, overview)

    def _whole(self) -> Overview:
        return Runs(self._logdir)._overview()

    def __reduce__(self) -> tuple[Callable[..., Runs], tuple[object, ...]]:
        """Pickle the paths and options, so that another process can reopen the logdir."""
        return _reopen, (*describe_logdir(self._logdir), self._names)

    def __repr__(self) -> str:
        from runfold._tables.by_run.listing import describe_runs

        return describe_runs(self._logdir, list(self))

    def _repr_html_(self) -> str:
        from runfold._tables.by_run.listing import runs_html

        return runs_html(self._logdir, list(self))


def _reopen(paths: list[str], options: dict[str, Any], names: frozenset[str] | None) -> Runs:
    runs = open_runs(*paths, **options)
    return runs if names is None else runs._only(names)
