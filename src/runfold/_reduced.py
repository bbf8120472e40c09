"""`Reduced`, the result of `runs.reduce`: the curves of each group, to plot and save."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from runfold._humanize import did_you_mean, escape
from runfold._reduce.folded import Curve, Folded, Group
from runfold.errors import CannotFold, UnknownTag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from runfold._tables.frames.frame import Table

__all__ = ["Curve", "Folded", "Group", "Reduced"]

Path = str | os.PathLike[str]


class Reduced(Folded):
    """Statistics of groups of runs, the result of `runs.reduce`.

    `reduced[tag]`, or `reduced[group, tag]` if there are several groups, is a curve;
    `curve["mean"]` is an array. See `Folded` for the attributes.

    Examples:
        >>> reduced = runs.reduce(["mean", "std"], by="lr")
        >>> reduced["lr=0.1", "val/loss"]["mean"]
        array([0.72, 0.61, ...])
        >>> reduced.frame()
             lr       tag  step     wall_time  runs   mean    std
        0  0.01  val/loss     0  1.795011e+09     3  0.994  0.009
        1  0.01  val/loss    10  1.795011e+09     3  0.990  0.014
        >>> reduced.plot("val/*")
        >>> reduced.to_tensorboard("reduced/")
        >>> reduced.save("reduced.parquet")
    """

    __slots__ = ()

    @classmethod
    def of(cls, folded: Folded) -> Reduced:
        """Return the same curves as a `Reduced`."""
        return cls(*(getattr(folded, field.name) for field in fields(Folded)))

    def __getitem__(self, key: str | tuple[str, str]) -> Curve:
        """Return the curve of a tag, or of a group and a tag if there are several groups.

        Raises:
            CannotFold: no group has this name, or no group was selected although there are
                several.
            UnknownTag: the tag was not reduced; the message lists similar tags.
        """
        name, tag = key if isinstance(key, tuple) else (None, key)
        if name is None:
            if len(self.groups) > 1:
                if tag in self.groups:
                    first = next(iter(self.groups[tag].curves))
                    raise UnknownTag(f"Add a tag after the group: reduced[{tag!r}, {first!r}].")
                first = next(iter(self.groups))
                raise CannotFold(
                    f"There are {len(self.groups)} groups; select one of them:"
                    f" reduced[{first!r}, {tag!r}]."
                )
            name = next(iter(self.groups))
        if name not in self.groups:
            hint = did_you_mean(str(name), self.groups)
            raise CannotFold(f"No group '{escape(str(name))}'. {hint}".rstrip())
        curves = self.groups[name].curves
        if tag not in curves:
            hint = did_you_mean(str(tag), curves)
            raise UnknownTag(f"Tag '{escape(str(tag))}' was not reduced. {hint}".rstrip())
        return curves[tag]

    def frame(self) -> Table:
        """Return a table with one row per group, tag and step.

        The columns are the group's key, tag, step, wall_time, the number of runs, and one
        column per statistic.
        """
        from runfold._export.fold_rows import rows_of
        from runfold._tables.frames.frame import Table

        columns: dict[str, Any] = rows_of(self)
        frame = Table(columns)
        return frame.astype({"tag": "category"})

    def plot(
        self,
        tags: str | Iterable[str] | None = None,
        *,
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
        """Plot one line and band per group; several tags are drawn as a grid of plots.

        A new figure is not registered with pyplot, so a notebook shows it only if it is the
        last expression of a cell.

        Args:
            tags: names and globs. Default: all.
            band: the statistic that the band shows, such as "std" or "ci95", or "none".
                Default: the first statistic that can be shown as a band.
            smooth: weight of TensorBoard's smoothing, at least 0 and below 1, for line and band.
            log_x: use a logarithmic x-axis.
            log_y: use a logarithmic y-axis.
            ax: draw a single tag on these axes instead of in a new figure. Colors continue
                after the existing lines, and the legend also lists these lines.
            title: title of the figure.
            legend: show a legend of the groups.
            size: size of the figure in inches.
            fewer_runs: how to draw the parts where only some runs of a group have a
                value because others ended early: "dash", "hide", or "plain" (no
                difference).
            max_groups: maximum number of groups.

        Returns:
            The Matplotlib figure.

        Raises:
            RunfoldError: there is nothing to plot, or there are too many groups.
            UnknownTag: the tag was not reduced.
            UnknownStatistic: `band` was not computed.

        Examples:
            >>> reduced.plot("val/loss", band="ci95", smooth=0.6).savefig("loss.pdf")

            Several results on the same axes:

            >>> figure, axes = plt.subplots()
            >>> runs.where("lr < 0.1").reduce().plot("val/loss", ax=axes)
            >>> runs.where("lr >= 0.1").reduce().plot("val/loss", ax=axes)
        """
        from runfold._plot.figure import plot_folded

        return plot_folded(
            self,
            tags,
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

    def to_tensorboard(
        self, path: Path, *, overwrite: bool = False, float64: bool = False
    ) -> list[str]:
        """Write event files for TensorBoard, in one folder per statistic.

        The folders are `path-mean`, `path-std`, ..., or `path/mean`, ... if the path
        ends with a slash. Each group is a run in each folder. `path-band` contains a
        chart for TensorBoard's CUSTOM SCALARS page.

        A `pathlib.Path` never ends with a slash, so `Path("reduced/")` creates
        `reduced-mean`. Pass a string, such as `f"{folder}/"`, to write into a folder.

        Args:
            path: prefix of the folders, or their parent folder with a slash at the end.
            overwrite: replace existing folders, provided that Runfold wrote everything
                in them.
            float64: store values as float64 instead of float32, which TensorBoard's own
                writers use.

        Returns:
            The paths of the folders.

        Raises:
            OutputExists: a folder exists and cannot be replaced.

        Examples:
            >>> reduced.to_tensorboard("reduced/")
            ['reduced/mean', 'reduced/std', 'reduced/band']
            >>> reduced.to_tensorboard(Path("reduced/"))
            ['reduced-mean', 'reduced-std', 'reduced-band']
        """
        from runfold._export.fold_events import write_event_files

        return write_event_files(self, path, overwrite=overwrite, float64=float64)

    def save(
        self,
        path: Path,
        *,
        overwrite: bool = False,
        escape_formulas: bool = False,
        digits: int | None = None,
    ) -> str:
        """Write the table from `frame()` to a file, in the format that the suffix specifies.

        Numbers are exact, including NaN and infinity. The file appears only when it is
        complete.

        Args:
            path: a file name that ends in .csv, .csv.gz, .xlsx, .parquet, ...;
                `runfold reduce --help` lists all formats.
            overwrite: replace an existing file.
            escape_formulas: put a single quote before text that a spreadsheet would interpret
                as a formula, in formats that spreadsheets open.
            digits: round numbers to this many significant digits, in human-readable formats
                such as .tex.

        Returns:
            The path of the file.

        Raises:
            OutputExists: the file exists and `overwrite` is not set.
            UnknownFormat: the suffix is not a known format.
        """
        return self._write(path, overwrite, escape_formulas=escape_formulas, digits=digits)

    def to_csv(self, path: Path, *, overwrite: bool = False) -> str:
        """Write CSV, regardless of the suffix, and return the path; see `save`."""
        return self._write(path, overwrite, suffix=".csv")

    def to_json(self, path: Path, *, overwrite: bool = False) -> str:
        """Write JSON with one object per row, regardless of the suffix, and return the path."""
        return self._write(path, overwrite, suffix=".json")

    def to_excel(self, path: Path, *, overwrite: bool = False) -> str:
        """Write an Excel file, regardless of the suffix, and return the path; see `save`."""
        return self._write(path, overwrite, suffix=".xlsx")

    def to_parquet(self, path: Path, *, overwrite: bool = False) -> str:
        """Write Parquet, regardless of the suffix, and return the path; see `save`."""
        return self._write(path, overwrite, suffix=".parquet")

    def to_latex(self, path: Path, *, overwrite: bool = False, digits: int | None = None) -> str:
        """Write a LaTeX table, regardless of the suffix, and return the path; see `save`."""
        return self._write(path, overwrite, suffix=".tex", digits=digits)

    def to_markdown(self, path: Path, *, overwrite: bool = False, digits: int | None = None) -> str:
        """Write a Markdown table, regardless of the suffix, and return the path; see `save`."""
        return self._write(path, overwrite, suffix=".md", digits=digits)

    def _write(self, path: Path, overwrite: bool, **options: Any) -> str:
        from runfold._export.fold_rows import join_rows
        from runfold._export.table_file import write_table

        return write_table(join_rows(self), path, overwrite, **options)

    def __repr__(self) -> str:
        return f"Reduced({self.describe()})"

    def _repr_html_(self) -> str:
        from html import escape as quote

        frame = self.frame()._repr_html_()
        return f"<p>{quote(self.describe())}</p>{frame}"
