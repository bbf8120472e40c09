"""The methods of `Runs` that tabulate and select runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from runfold._select import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Self

    from runfold._tables.by_run.direction import Better
    from runfold._tables.by_run.overview import Overview
    from runfold._tables.by_run.run_table import Steps
    from runfold._tables.frames.frame import Table


class Collection:
    """Methods that summarize many runs in one table, or select some of them.

    A selection supports everything that the original does: `runs.newest(10).table()`.
    Combine selections from the same logdir with `-`, `&` and `|`: `runs - runs.failed()`.
    """

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("not implemented by this subclass")

    def _only(self, names: Iterable[str]) -> Self:
        raise AssertionError("not implemented by this subclass")

    def _keep(self, overview: Overview) -> None:
        """Store the facts of an overview of all runs, if that pays."""

    def _overview(
        self, runs: Names = None, better: Better | Mapping[str, Better] | None = None
    ) -> Overview:
        """Return an overview of the selected runs."""
        raise AssertionError("not implemented by this subclass")

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
        """Return one row per run: status, start, duration, steps, hparams and results.

        Columns for hparams and the last scalars, text and images are named after the hparam
        or tag: `lr`, `val/loss`. Other columns have a prefix: `best val/loss`,
        `best_step val/loss`, `min val/loss`, `at 100 val/loss`. A column also has its
        prefix if an earlier column has the same name: `last lr` next to an hparam `lr`.
        For other kinds of data, the table contains the number of values. A folder that
        torch's `add_hparams` created inside a run's folder is part of that run.

        Args:
            last: last value of these scalar tags (names and globs). True selects all tags
                except those that tracked runs add themselves. The next six arguments accept
                the same values.
            best: best value, and its step in the next column. True and globs skip tags
                for which it is unknown whether higher or lower is better.
            min: smallest value; NaN is ignored.
            max: largest value; NaN is ignored.
            mean: mean of the values; NaN is ignored.
            auc: area under the curve, by the trapezoidal rule.
            first: value at the lowest step.
            at: last value up to a step, or up to each of several steps, for all tags, or
                for tags by name or glob: `{"val/*": 100}`. Missing if the series ends
                before the step.
            text: last text of these tags; True for all.
            images: last image of these tags; True for all.
            columns: show only these columns (names and globs), in this order after
                `run`. A prefixed name such as `max val/acc` works without `max=`.
            sort: sort by these columns, shown or not. Missing values come last.
            reverse: sort in descending order.
            better: "higher" or "lower", for all tags or by name or glob. Default:
                guessed from each tag's name.
            runs: names and globs. Default: all.

        Raises:
            UnknownTag: no run has this tag; the message lists similar tags.
            UnknownColumn: there is no such column; the message lists similar names.

        Examples:
            >>> runs.table(best="val/*", columns=["lr", "best*"], sort="best val/loss")
                  run    lr  best val/loss  best_step val/loss
            0  seed-2  0.10           0.39                  90
            1  seed-1  0.01           0.91                  80
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
            if runs is None:
                self._keep(overview)
        return run_frame(columns_of)

    def where(
        self,
        condition: str | Callable[[Any], object],
        *,
        better: Better | Mapping[str, Better] | None = None,
    ) -> Self:
        """Return the runs that match a condition.

        A condition can contain hparams (`optimizer.lr` if nested, in backquotes if the
        name is not an identifier), and run, status, failed, start, duration (seconds),
        steps (the last step) and points. The values of a tag are `last['val/loss']`,
        first, best, best_step, min, max, mean, auc, `at['val/loss', 100]`, text and
        `has('val/loss')`. The operators are and, or, not, < <= > >= == !=, in,
        `run like 'lr-*'` for globs, and + - * / // % **.

        Text that is compared with `start` is read as local time, although the `start`
        column of `table` is in UTC. Add the offset `+00:00` for UTC.

        A comparison with a missing value is false. The selection does not change after
        `refresh`.

        Args:
            condition: an expression, or a function that takes a Run.
            better: "higher" or "lower", for all tags or by name or glob. Default:
                guessed from each tag's name.

        Raises:
            BadExpression: the condition is invalid, or contains a name that no run has;
                the message underlines the error.

        Examples:
            >>> runs.where("lr < 0.1 and status == 'finished' and last['val/loss'] < 0.3")
            >>> runs.where("start > '2026-01-31 12:00+00:00'")
            >>> runs.where(lambda run: run.host.get("hostname") == "gpu-7")
        """
        if callable(condition):
            return self._only([name for name in self if condition(self[name])])  # type: ignore[index]
        from runfold._tables.by_run.conditions import choose_rows, parse_condition

        tree = parse_condition(condition)
        overview = self._overview(better=better)
        chosen = choose_rows(overview, condition, tree)
        self._keep(overview)
        return self._take(overview, chosen)

    def failed(self) -> Self:
        """Return the runs that ended with an error, or crashed without recording an error."""
        from runfold._tables.by_run.run_filters import failed_runs

        overview = self._overview()
        return self._take(overview, failed_runs(overview))

    def lacking(self, tags: str | Iterable[str]) -> Self:
        """Return the runs that lack at least one of the tags (names and globs).

        Raises:
            UnknownTag: no run has this tag.

        Examples:
            >>> runs - runs.lacking(["val/loss", "val/acc"])  # runs with both
        """
        from runfold._tables.by_run.run_filters import lacking_runs

        overview = self._overview()
        return self._take(overview, lacking_runs(overview, tags))

    def shorter(self, steps: int) -> Self:
        """Return the runs whose last step is below `steps`, and runs without steps."""
        from runfold._tables.by_run.run_filters import shorter_runs

        overview = self._overview()
        return self._take(overview, shorter_runs(overview, steps))

    def newest(self, count: int = 1) -> Self:
        """Return the `count` runs that started last."""
        from runfold._tables.by_run.run_filters import newest_runs

        overview = self._overview()
        return self._take(overview, newest_runs(overview, count))

    def duplicates(self, by: Literal["hparams", "content"] = "hparams") -> Self:
        """Return the runs that repeat a run that started earlier.

        Args:
            by: "hparams" compares hparams and ignores runs without any; "content"
                compares all logged values, and so finds copied folders.

        Examples:
            >>> distinct = runs - runs.duplicates()
        """
        from runfold._tables.by_run.run_filters import duplicate_runs

        overview = self._overview()
        return self._take(overview, duplicate_runs(overview, by))

    def _take(self, overview: Overview, rows: Iterable[int]) -> Self:
        from runfold._tables.by_run.run_filters import name_rows

        return self._only(name_rows(overview, rows))
