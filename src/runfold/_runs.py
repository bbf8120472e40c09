"""Many runs, as a user holds them. Nothing is read before it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal
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
    from runfold._compare.comparison import Comparison
    from runfold._compare.task_scores import Normalize
    from runfold._events.problems import Problem
    from runfold._export.dump import Export
    from runfold._logdir.loader import Logdir
    from runfold._logdir.run_log import RunLog
    from runfold._reduce.groups import By
    from runfold._reduce.operations import Operation
    from runfold._reduced import Reduced
    from runfold._tables.by_run.overview import Overview
    from runfold._tables.frames.frame import Table

__all__ = ["Changes", "Run", "Runs", "Series", "open_runs"]


def open_runs(
    *paths: str | os.PathLike[str],
    restarts: Literal["session", "step", "keep"] = "session",
    strict: bool = False,
    progress: bool | None = None,
) -> Runs:
    """The runs below some paths: whatever one would pass to `tensorboard --logdir`.

    Args:
        paths: a tree of runs, one run, one event file, what `runfold pack` wrote,
            or a glob; several are fine. A URL such as `s3://bucket/runs` is read from
            a copy in the user's cache, which is brought up to date first.
        restarts: what to do with points that a restarted job logged twice.
            "session" hides what the writer's own restart marker says, "step"
            hides a series' older branch when its step goes back, "keep" hides
            nothing. `run.hidden` says how many points a policy hid.
        strict: raise BadLog at the first problem instead of noting it.
        progress: show a bar during long loads; by default where a person watches.

    Example:
        >>> runs = rf.open("runs/")
        >>> runs["seed-1"]["train/loss"].values
        array([0.93, 0.71, ...])
        >>> runs.scalars(tags="train/*")
    """
    if restarts not in POLICIES:
        raise ValueError(not_one_of("restarts", restarts, POLICIES))
    if not paths:
        raise TypeError("open() needs at least one path")
    for path in paths:
        if isinstance(path, list | tuple | set):
            raise TypeError("open() takes several paths one by one: rf.open(*paths)")
    return Runs(open_logdir(*paths, restarts=restarts, strict=strict, progress=progress))


class Runs(Frames, Collection, Mapping[str, Run]):
    """The runs of a logdir by name, or some of them; every kind of data in them as one table."""

    def __init__(self, logdir: Logdir, names: Iterable[str] | None = None) -> None:
        self._logdir = logdir
        # Those that were chosen; None for all, also such as come later.
        self._names = None if names is None else frozenset(names)
        # Weak, because a Run holds all that was read of it, also when its folder is gone.
        self._runs: WeakValueDictionary[str, Run] = WeakValueDictionary()

    def __getitem__(self, name: str) -> Run:
        """One run. Raises UnknownRun with the near names."""
        if not isinstance(name, str):
            raise UnknownRun(f"A run is named by a str, not {escape(repr(name))}.")
        if name not in self:
            if name in self._logdir.logs:
                raise UnknownRun(f"Run '{escape(name)}' is not among those that were chosen.")
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
        """Some of these runs, of the same logdir."""
        chosen = Runs(self._logdir, names)
        chosen._runs = self._runs
        return chosen

    def __sub__(self, other: Runs) -> Runs:
        """These runs without others of the same logdir."""
        return self._combined(other, lambda name: name in self and name not in other)

    def __and__(self, other: Runs) -> Runs:
        """Those of these runs that are among others of the same logdir."""
        return self._combined(other, lambda name: name in self and name in other)

    def __or__(self, other: Runs) -> Runs:
        """These runs and others of the same logdir."""
        return self._combined(other, lambda name: name in self or name in other)

    def _combined(self, other: Runs, keeps: Callable[[str], bool]) -> Runs:
        if not isinstance(other, Runs):
            return NotImplemented
        if other._logdir is not self._logdir:
            raise RunfoldError("Only runs that come from one rf.open() can be put together.")
        return self._only([name for name in self._logdir.logs if keeps(name)])

    @property
    def tags(self) -> dict[str, list[str]]:
        """The tags of each kind in any of the runs."""
        return tags_of(self._logs(None))

    @property
    def hidden(self) -> int:
        """How many values the restart policy hid."""
        return sum(log.hidden for log in self._logs(None))

    def load(self) -> Runs:
        """Read all runs now, on all cores, and return self."""
        self._logs(None)
        return self

    def refresh(self) -> Changes:
        """Find new runs and read what is new in those read before; says what changed.

        Arrays and tables that were handed out before stay as they are. The whole
        logdir is looked at; runs that were chosen, as by `where`, stay the same ones.

        A run whose folder was deleted is no longer listed (`.gone` of the answer), and what
        was read of it is freed. A folder that was deleted and made again has only its new
        points. Where just one of several files is gone, or the logdir itself, what was read
        stays with a note in `problems`, because a network disk may lose sight of it.
        """
        return self._logdir.refresh()

    def pack(
        self,
        output: str | os.PathLike[str],
        *,
        partition: bool = False,
        overwrite: bool = False,
    ) -> None:
        """Put these runs into one Parquet file, which `rf.open` takes in place of the logdir.

        Every point of every kind is kept, and `runfold unpack` gives back the same
        event files. With `partition`, the output is a folder with a pack for each
        run. Raises OutputExists, unless `overwrite`, for one that is there.

        Example:
            >>> runs.pack("runs.parquet")
            >>> rf.open("runs.parquet")["seed-1"]["train/loss"]
        """
        from runfold._pack.pack import pack_logdir

        pack_logdir(
            self._logdir.places.paths,
            output,
            partition=partition,
            overwrite=overwrite,
            only=self._logdir.folders_of(self),
            progress=self._logdir.progress,
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
        """Fold the runs into statistics of each tag at each step.

        Args:
            ops: mean, std, var, sem, min, max, median, sum, count, iqm, quantiles
                (`q05`), ci95 (bootstrap interval of the mean), ci95-iqm and
                ci95-median (of the iqm and the median), ci95-t (Student's t), any
                reduction of NumPy by name, or a function of a (runs, steps) array. std, var
                and sem are those of a sample: divided by n - 1, as in pandas.
            by: fold groups of runs: one or several of the name of an hparam,
                "parent" for the folder, "run" for each run alone, a pattern with
                named groups that is searched in the run's name, or a function of
                a Run that gives a value, or None to leave it out.
            tags: names and globs; by default all scalars but the system metrics of
                tracked runs.
            runs: names and globs; by default all.
            align: how to bring runs together that logged at different steps.
                "strict" refuses, "intersection" keeps the steps that all have,
                "union" those that any has; "nearest", "ffill" and "interpolate"
                fill in between a run's first and last point, never beyond;
                "bins" takes means over equal parts; "auto" does nothing where all
                have the same steps, and otherwise interpolates, or takes bins
                where that would take too much memory.
            bins: how many; implies align="bins".
            min_runs: leave out steps that fewer runs have.
            duplicates: of several values at one step of a run, take the "first",
                the "last", their "mean", or raise an "error".
            nan: "skip" takes a NaN as not logged, "propagate" makes the
                statistics NaN there.
            x: "step", "wall_time", "relative" (seconds since the run's first
                event) or a tag, such as samples seen.
            lax_tags: fold a tag over the runs that have it, also where others
                of the group lack it.
            resamples: how many the bootstrap draws.
            seed: of its draws; the same one gives the same numbers.

        Raises CannotFold where runs do not fit together, with what is missing
        where and which option allows it.

        Example:
            >>> reduced = runs.reduce(["mean", "ci95"], by="lr", align="interpolate")
            >>> reduced["lr=0.1", "val/loss"]["mean"]
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
        """Say whether one group of runs is better than another, in numbers and in words.

        Args:
            tags: names and globs; several tags are tasks of one benchmark.
            by: what makes a group, as in `reduce`.
            at: the number that counts of a run: "last", "best", "min", "max",
                "auc" (area under the curve), or a step, for the last value up to it.
            better: "higher" or "lower"; by default guessed from each tag's name.
            runs: names and globs; by default all.
            level: of the intervals, and of what is called clear.
            normalize: how several tags come to one scale: "range", or the worst
                and best score that is possible, as (low, high) for each tag.
            duplicates: which value counts where a run has several at one step: the
                "last", as in `table`, the "first", their "mean"; "error" refuses.
            resamples: how many times bootstraps and permutation tests draw.
            seed: of their draws.

        Example:
            >>> print(runs.compare("val/loss", by="lr").sentence)
            lr=0.1 is better than lr=0.01 on val/loss ...
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
        """Write the tables of the runs to files; says which, and what a format cannot hold.

        Args:
            path: one file for one kind, in the format of its suffix, such as .csv,
                .jsonl.gz or .parquet (`runfold export --help` lists all); one that
                ends in .xlsx, with a sheet for each kind; or a folder, by a slash at
                its end, with a file for each kind.
            kinds: one or several, such as "scalar", "image" or "problem";
                `runfold export --help` lists them. By default all existing kinds;
                in a file for one kind scalars, or what `images` or `audio` is for.
            tags: names and globs; by default all.
            runs: names and globs; by default all.
            images: a folder for the pictures, as files named by run, tag, step and
                index; the table then has their paths, relative to its own folder.
                Without it they are inside Parquet as Hugging Face datasets shows
                them, and base64 in text.
            audio: the same for clips.
            format: of the files in a folder, such as "csv"; by default "parquet".
            overwrite: replace files that are there; otherwise OutputExists.
            escape_formulas: put a quote before text that a spreadsheet would take for
                a formula, in formats that spreadsheets open.

        A file appears only when it is whole. Arrays are flat lists, JSON in text
        formats, with their shapes and types in columns beside them.

        Example:
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
        """The rows that a query in SQL (DuckDB's) asks for.

        The tables are runs, scalars, hparams, text, images, histograms and
        problems; docs/sql.md lists their columns. Only what the query needs is
        read and decoded. It can reach nothing else: no file, no network, no
        variable of yours.

        Args:
            query: one statement that reads.
            parameters: values for `?` in the query, or by name for `$name`.
            limit_seconds: stop it after so long; by default never.
            limit_memory: how many bytes it may take, and how many its rows may;
                by default most of what the machine has.

        Raises BadQuery with the place of what is wrong, and QueryStopped at a limit.

        Example:
            >>> runs.sql("select run, min(value) from scalars where tag = ? group by run", ["loss"])
        """
        from runfold._tables.sql.database import run_query, to_table
        from runfold._tables.sql.relations import Source

        source = Source(list(self), self._logs, self._list_problems)
        rows = run_query(
            source, query, parameters, limit_seconds=limit_seconds, limit_memory=limit_memory
        )
        return to_table(rows)

    def _by_log(self, by: By) -> By:
        """The same grouping with functions of a log where the caller gave functions of a run."""
        if by is None or isinstance(by, str):
            return by
        if callable(by):
            return lambda log: by(self[log.name])
        return [one if isinstance(one, str) else self._by_log(one) for one in by]  # type: ignore[misc]

    def problems(self) -> Table:
        """Everything wrong in the files: run, file, offset, code, message."""
        from runfold._tables.frames.problem_frame import problem_frame

        return problem_frame(self._list_problems())

    def _list_problems(self) -> list[Problem]:
        if self._names is None:
            return self._logdir.list_problems()
        return [problem for log in self._logs(None) for problem in log.list_problems()]

    def _logs(self, runs: Names) -> list[RunLog]:
        # Of one moment: a refresh in another thread may find that a run is gone.
        every = self._logdir.logs
        names = [name for name in every if self._names is None or name in self._names]
        logs = [every[name] for name in select(names, runs, noun="run")]
        self._logdir.load(logs)
        return logs

    def _whole(self) -> Overview:
        return Runs(self._logdir)._overview()

    def __reduce__(self) -> tuple[Callable[..., Runs], tuple[object, ...]]:
        """Travel to another process as paths, to be opened again there."""
        return _reopen, (*describe_logdir(self._logdir), self._names)

    def __repr__(self) -> str:
        from runfold._tables.by_run.listing import describe_runs

        return describe_runs(self._logdir, list(self))

    def _repr_html_(self) -> str:
        from runfold._tables.by_run.listing import runs_html

        return runs_html(self._logdir, list(self))


def _reopen(
    paths: list[str],
    restarts: Literal["session", "step", "keep"],
    strict: bool,
    progress: bool | None,
    names: frozenset[str] | None,
) -> Runs:
    runs = open_runs(*paths, restarts=restarts, strict=strict, progress=progress)
    return runs if names is None else runs._only(names)
