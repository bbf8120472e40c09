"""`Table`, the DataFrame class of all tables, and its columns; both convert to Arrow and Polars."""

# Only this module imports pandas at the top. Other modules import it in functions that make tables.
from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd  # noqa: TID253

from runfold._humanize import human_list

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import BinaryIO

    import polars as pl
    import pyarrow as pa


class Column(pd.Series):
    """A table column that converts images, clips, graphs and mixed types to Arrow.

    pyarrow and Polars treat a table as a plain DataFrame and convert each column separately.
    """

    @property
    def _constructor(self) -> Callable[..., Column]:
        return Column

    @property
    def _constructor_expanddim(self) -> Callable[..., Table]:
        return Table

    @property
    def __arrow_array__(self) -> Callable[..., pa.Array]:
        # A property, so that other columns appear to lack this method and are converted as usual.
        from runfold._tables.arrow.arrow_table import hand_over, is_ours

        if not is_ours(self):
            raise AttributeError("__arrow_array__")
        return partial(hand_over, self)

    def to_csv(self, *args: Any, **options: Any) -> str | None:  # type: ignore[override]
        """Write CSV; see `Table.to_csv`."""
        return _write_csv(self.to_frame(), *args, **options)


class Table(pd.DataFrame):
    """A pandas DataFrame of log data that also converts to Arrow, Polars and Parquet.

    Selecting from a Table or transforming it returns another Table.

    Examples:
        >>> table = runs.images()
        >>> table.polars()
        >>> table.to_parquet("images.parquet")
        >>> rf.read_table("images.parquet")["image"][0].pil()
    """

    @property
    def _constructor(self) -> Callable[..., Table]:
        return Table

    @property
    def _constructor_sliced(self) -> Callable[..., Column]:
        return Column

    def arrow(self) -> pa.Table:
        """Return the table as an Arrow table, without copying numbers if possible.

        Categories become dictionaries. Images and clips have the form that Hugging Face
        datasets displays. Arrays become lists, with their shapes and types in adjacent
        columns if needed. An index other than row numbers becomes the first columns.
        Objects without an Arrow form become text, with a warning.

        Polars and pyarrow also accept a Table directly, unless it contains arrays of
        several dimensions. DuckDB accepts it too, but reads objects as text. In these
        cases, pass `table.arrow()`.
        """
        return self._hand_over()

    def _hand_over(self, stacklevel: int = 3, keep_index: bool = False) -> pa.Table:
        """Return the table as an Arrow table, and warn the caller about lost content."""
        from runfold._tables.arrow.arrow_table import to_arrow

        table, notes = to_arrow(self, keep_index)
        for note in notes:
            warnings.warn(note, stacklevel=stacklevel)
        return table

    def polars(self) -> pl.DataFrame:
        """Return the table as a Polars DataFrame, converted by `arrow`.

        Raises:
            ImportError: polars is not installed.
        """
        try:
            import polars as pl
        except ImportError:
            raise ImportError(
                "Table.polars() requires polars, which is not installed. Install it with "
                "`pip install polars`, or use .arrow() instead."
            ) from None
        frame = pl.from_arrow(self._hand_over())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as an Arrow C stream."""
        return self._hand_over().__arrow_c_stream__(requested_schema)

    def to_parquet(  # type: ignore[override]
        self,
        path: str | os.PathLike[str] | BinaryIO | None = None,
        *,
        engine: str = "pyarrow",
        compression: str | None = "zstd",
        index: bool | None = None,
        **options: Any,
    ) -> bytes | None:
        """Write a Parquet file, including images, clips and arrays.

        `rf.read_table` reads an equal table back. As with any DataFrame, an existing file is
        replaced, but only once the new file is complete.

        Args:
            path: the file to write. Default: return the bytes instead.
            engine: ignored; always pyarrow.
            compression: the compression codec.
            index: False leaves out the index. A plain range of numbers is never
                written as a column.
            options: further options for `pyarrow.parquet.write_table`.

        Returns:
            The bytes if there is no path, otherwise None.
        """
        from runfold._tables.arrow.arrow_table import write_parquet

        table = self if index in (None, True) else self.reset_index(drop=True)
        return write_parquet(
            table._hand_over(keep_index=True), path, compression=compression, **options
        )

    def to_csv(self, *args: Any, **options: Any) -> str | None:  # type: ignore[override]
        """Write CSV with the same arguments as in pandas; arrays are written in full, as JSON.

        Images, clips and graphs are replaced by a short description, and a warning names
        their columns. `to_parquet` and `runs.export` keep the content.
        """
        return _write_csv(self, *args, **options)

    def _repr_html_(self) -> str | None:
        from runfold._tables.frames.thumbnails import show_html

        return show_html(self, pd.DataFrame._repr_html_)  # type: ignore[attr-defined]


def _write_csv(table: pd.DataFrame, *args: Any, **options: Any) -> str | None:
    from runfold._tables.frames.csv_cells import describe_objects

    plain, described = describe_objects(table)
    if described:
        warnings.warn(
            "CSV cannot store images, clips or graphs, so these columns contain short descriptions "
            f"instead: {human_list(described)}. Use to_parquet or runs.export to keep the content.",
            stacklevel=3,
        )
    text: str | None = pd.DataFrame(plain).to_csv(*args, **options)
    return text
