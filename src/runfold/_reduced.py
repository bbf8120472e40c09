"""What `runs.reduce` gives: the curves of every group, and the ways to draw and to save them."""

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
    """Runs folded into statistics; see `Folded` for its attributes.

    Example:
        >>> reduced = runs.reduce(["mean", "std"], by="lr")
        >>> reduced["lr=0.1", "val/loss"]["mean"]
        array([0.72, 0.61, ...])
        >>> reduced.frame()
        >>> reduced.plot("val/*")
        >>> reduced.to_tensorboard("reduced/")
        >>> reduced.save("reduced.parquet")
    """

    __slots__ = ()

    @classmethod
    def of(cls, folded: Folded) -> Reduced:
        """The same, with the doors."""
        return cls(*(getattr(folded, field.name) for field in fields(Folded)))

    def __getitem__(self, key: str | tuple[str, str]) -> Curve:
        """The curve of a tag, or of a group and a tag where there are several groups."""
        name, tag = key if isinstance(key, tuple) else (None, key)
        if name is None:
            if len(self.groups) > 1:
                if tag in self.groups:
                    first = next(iter(self.groups[tag].curves))
                    raise UnknownTag(f"Name a tag behind the group: reduced[{tag!r}, {first!r}].")
                first = next(iter(self.groups))
                raise CannotFold(
                    f"There are {len(self.groups)} groups; name one: reduced[{first!r}, {tag!r}]."
                )
            name = next(iter(self.groups))
        if name not in self.groups:
            hint = did_you_mean(str(name), self.groups)
            raise CannotFold(f"No group '{escape(str(name))}'. {hint}".rstrip())
        curves = self.groups[name].curves
        if tag not in curves:
            hint = did_you_mean(str(tag), curves)
            raise UnknownTag(f"No tag '{escape(str(tag))}' was folded. {hint}".rstrip())
        return curves[tag]

    def frame(self) -> Table:
        """One row a group, tag and step: their names, how many runs, and every statistic."""
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
        """A figure with a line and a band for each group; several tags make a grid.

        Args:
            tags: names and globs; by default all.
            band: the statistic of the band, such as "std" or "ci95"; by default
                the first that can be one; "none" for no band.
            smooth: TensorBoard's smoothing, 0 to 1; line and band alike.
            log_x: a logarithmic x-axis.
            log_y: a logarithmic y-axis.
            ax: draw one tag here instead of in a figure of its own.
            title: above all.
            legend: whether to name the groups.
            size: of the figure, in inches.
            fewer_runs: how to draw the parts where only some runs of a group have a
                value, because others ended early: "dash", "hide", or "plain" as
                elsewhere.
            max_groups: refuse to draw more groups than this.
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
        """Write event files, a folder for each statistic, and give the folders.

        They are called `path-mean`, `path-std`, ..., or `path/mean` where the
        path ends with a slash; groups are runs below them. `path-band` has a
        chart for TensorBoard's CUSTOM SCALARS page. Values are stored as
        float32, as TensorBoard's own writers do, or as float64.

        What exists already raises OutputExists. With `overwrite` it is
        replaced, provided that Runfold wrote everything in it.
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
        """Write the table of `frame()` in the format that the suffix names, and give the path.

        Such as .csv, .csv.gz, .xlsx or .parquet; `runfold reduce --help` lists all.
        Numbers are exact, NaN and infinity included; `digits` rounds them in formats
        for people, such as .tex. `escape_formulas` puts a quote before text that a
        spreadsheet would take for a formula, in formats that spreadsheets open.

        The file appears only when it is whole. One that exists raises
        OutputExists, unless `overwrite` is set.
        """
        return self._write(path, overwrite, escape_formulas=escape_formulas, digits=digits)

    def to_csv(self, path: Path, *, overwrite: bool = False) -> str:
        """Write CSV, whatever the suffix; see `save`."""
        return self._write(path, overwrite, suffix=".csv")

    def to_json(self, path: Path, *, overwrite: bool = False) -> str:
        """Write JSON, one object a row, whatever the suffix; see `save`."""
        return self._write(path, overwrite, suffix=".json")

    def to_excel(self, path: Path, *, overwrite: bool = False) -> str:
        """Write an Excel file, whatever the suffix; see `save`."""
        return self._write(path, overwrite, suffix=".xlsx")

    def to_parquet(self, path: Path, *, overwrite: bool = False) -> str:
        """Write Parquet, whatever the suffix; see `save`."""
        return self._write(path, overwrite, suffix=".parquet")

    def to_latex(self, path: Path, *, overwrite: bool = False, digits: int | None = None) -> str:
        """Write a LaTeX table, whatever the suffix; see `save`."""
        return self._write(path, overwrite, suffix=".tex", digits=digits)

    def to_markdown(self, path: Path, *, overwrite: bool = False, digits: int | None = None) -> str:
        """Write a Markdown table, whatever the suffix; see `save`."""
        return self._write(path, overwrite, suffix=".md", digits=digits)

    def _write(self, path: Path, overwrite: bool, **options: Any) -> str:
        from runfold._export.fold_rows import rows_of
        from runfold._export.table_file import write_table

        return write_table(rows_of(self), path, overwrite, **options)

    def __repr__(self) -> str:
        return f"Reduced({self.describe()})"

    def _repr_html_(self) -> str:
        from html import escape as quote

        frame = self.frame()._repr_html_()
        return f"<p>{quote(self.describe())}</p>{frame}"
