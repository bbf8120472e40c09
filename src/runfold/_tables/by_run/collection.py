"""What many runs tell together: a table with one row a run, and which of them to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from runfold._select import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Self

    from runfold._logdir.run_log import RunLog
    from runfold._tables.by_run.direction import Better
    from runfold._tables.by_run.overview import Overview
    from runfold._tables.by_run.run_table import Steps
    from runfold._tables.frames.frame import Table


class Collection:
    """The table of many runs, and the ways to some of them.

    What is chosen are runs again, of which all can be asked: `runs.newest(10).table()`.
    With `-`, `&` and `|` choices of one logdir are put together:
    `runs - runs.failed()`.
    """

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("a subclass says which runs there are")

    def _logs(self, runs: Names) -> list[RunLog]:
        raise AssertionError("a subclass says which")

    def _only(self, names: Iterable[str]) -> Self:
        raise AssertionError("a subclass says how")

    def _whole(self) -> Overview:
        raise AssertionError("a subclass says of what these are some")

    def _overview(
        self, runs: Names = None, better: Better | Mapping[str, Better] | None = None
    ) -> Overview:
        """The rows of some runs."""
        from runfold._logdir.gc_pause import pause_collector
        from runfold._tables.by_run.overview import Overview

        logs = self._logs(runs)
        with pause_collector():
            return Overview(logs, better, self._whole)

    def table(
        self,
        *,
        last: bool | Names = True,
        best: bool | Names = None,
        min: bool | Names = None,
        max: bool | Names = None,
        mean: bool | Names = None,
        auc: bool | Names = None,
        first: bool | Names = None,
        at: Steps | Mapping[str, Steps] | None = None,
        text: bool | Names = True,
        images: bool | Names = True,
        columns: Names = None,
        sort: Names = None,
        reverse: bool = False,
        better: Better | Mapping[str, Better] | None = None,
        runs: Names = None,
    ) -> Table:
        """One row a run: status, start, duration, steps, hparams, and what it reached.

        A tag's last value, an hparam, text and image go by their names: `val/loss`,
        `lr`. Other columns say what they hold first: `best val/loss`, `best_step
        val/loss`, `min val/loss`, `at 100 val/loss`; and so does one whose name an
        earlier column has: `last lr` beside an hparam `lr`. Other kinds are counted.
        A folder that torch's `add_hparams` made inside a run's folder is part of that run.

        Args:
            last: names and globs of scalar tags; True takes all but those that a
                tracked run adds of itself. The same holds for the next six.
            best: and the step of the best beside it; True and globs pass over tags
                of which nobody knows which way is better.
            min: of the values that are numbers.
            max: of the values that are numbers.
            mean: of the values that are numbers.
            auc: the area under the curve, by trapezoids.
            first: the value at the lowest step.
            at: a step or several, for the last value up to it of all tags, or of
                those by name or glob: `{"val/*": 100}`. Missing where a series
                ends before it.
            text: tags of which to take the last text; True for all.
            images: tags of which to take the last image; True for all.
            columns: only these, by name or glob, in this order after `run`; a full
                name such as `max val/acc` need not be asked for elsewhere.
            sort: by which columns, shown or not; what is missing comes last.
            reverse: the largest first.
            better: "higher" or "lower", for all or by name or glob; by default
                guessed from each tag's name.
            runs: names and globs; by default all.

        Raises UnknownTag and UnknownColumn with the near ones.

        Example:
            >>> runs.table(best="val/*", sort="best val/loss")
        """
        from runfold._logdir.gc_pause import pause_collector
        from runfold._tables.by_run.run_table import run_frame, tabulate

        statistics = {
            "last": last,
            "best": best,
            "min": min,
            "max": max,
            "mean": mean,
            "auc": auc,
            "first": first,
        }
        overview = self._overview(runs, better)
        with pause_collector():
            columns_of = tabulate(
                overview,
                statistics,
                at=at,
                text=text,
                images=images,
                columns=columns,
                sort=sort,
                reverse=reverse,
            )
        return run_frame(columns_of)

    def where(
        self,
        condition: str | Callable[[Any], object],
        *,
        better: Better | Mapping[str, Better] | None = None,
    ) -> Self:
        """The runs for which a condition holds.

        Names are those of hparams (nested ones by dots, odd ones in backquotes), or
        run, status, failed, start, duration (seconds), steps (the last one) and
        points. Of a tag there are `last['val/loss']`, first, best, best_step, min,
        max, mean, auc, `at['val/loss', 100]`, text and `has('val/loss')`. Say and,
        or, not, < <= > >= == !=, in, `run like 'lr-*'` for globs, and + - * / // % **.

        What a run does not have makes a comparison false. A function of a Run is
        taken as well. After `refresh` these are the same runs still.

        Raises BadExpression, with the place, for what is no condition, and for a
        name that no run has.

        Example:
            >>> runs.where("lr < 0.1 and status == 'finished' and last['val/loss'] < 0.3")
        """
        if callable(condition):
            return self._only([name for name in self if condition(self[name])])  # type: ignore[index]
        from runfold._tables.by_run.conditions import choose_rows, parse_condition

        tree = parse_condition(condition)
        overview = self._overview(better=better)
        return self._take(overview, choose_rows(overview, condition, tree))

    def failed(self) -> Self:
        """The runs that ended in an error, or were killed without a word."""
        from runfold._tables.by_run.run_filters import failed_runs

        overview = self._overview()
        return self._take(overview, failed_runs(overview))

    def lacking(self, tags: str | Iterable[str]) -> Self:
        """The runs that lack any of the tags. Raises UnknownTag for one that no run has."""
        from runfold._tables.by_run.run_filters import lacking_runs

        overview = self._overview()
        return self._take(overview, lacking_runs(overview, tags))

    def shorter(self, steps: int) -> Self:
        """The runs whose last step is below `steps`, or that have none."""
        from runfold._tables.by_run.run_filters import shorter_runs

        overview = self._overview()
        return self._take(overview, shorter_runs(overview, steps))

    def newest(self, count: int = 1) -> Self:
        """The runs that began last."""
        from runfold._tables.by_run.run_filters import newest_runs

        overview = self._overview()
        return self._take(overview, newest_runs(overview, count))

    def duplicates(self, by: Literal["hparams", "content"] = "hparams") -> Self:
        """The runs that repeat one that began earlier: `runs - runs.duplicates()` are distinct.

        By "hparams", those that have any and the same ones; by "content", those that
        hold the very same values, as of a folder that was copied.
        """
        from runfold._tables.by_run.run_filters import duplicate_runs

        overview = self._overview()
        return self._take(overview, duplicate_runs(overview, by))

    def _take(self, overview: Overview, rows: Iterable[int]) -> Self:
        from runfold._tables.by_run.run_filters import name_rows

        return self._only(name_rows(overview, rows))
