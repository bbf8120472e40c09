"""The DataFrame that every table is, and its columns: both hand themselves to Arrow and Polars."""

# The one module that needs pandas to be defined: functions import it where they make a table.
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
    """A column of a table. One of pictures, clips, graphs or several types hands itself to Arrow.

    pyarrow and Polars know a table for pandas' and ask its columns one by one.
    """

    @property
    def _constructor(self) -> Callable[..., Column]:
        return Column

    @property
    def _constructor_expanddim(self) -> Callable[..., Table]:
        return Table

    @property
    def __arrow_array__(self) -> Callable[..., pa.Array]:
        # A property, so that all other columns seem to have none and take their usual way.
        from runfold._tables.arrow.arrow_table import hand_over, is_ours

        if not is_ours(self):
            raise AttributeError("__arrow_array__")
        return partial(hand_over, self)

    def to_csv(self, *args: Any, **options: Any) -> str | None:  # type: ignore[override]
        """Write CSV as a table does."""
        return _write_csv(self.to_frame(), *args, **options)


class Table(pd.DataFrame):
    """A pandas DataFrame of log data; what is taken from it or made of it is one as well.

    Example:
        >>> table = runs.images()
        >>> table.polars()
        >>> table.to_parquet("images.parquet")
        >>> rf.read_table("images.parquet")["image"][0]  # a picture again
    """

    @property
    def _constructor(self) -> Callable[..., Table]:
        return Table

    @property
    def _constructor_sliced(self) -> Callable[..., Column]:
        return Column

    def arrow(self) -> pa.Table:
        """The table for Arrow; numbers are not copied where pandas holds them as Arrow does.

        Categories are dictionaries; pictures and clips are stored as Hugging
        Face datasets shows them; arrays are lists, with their shapes and types
        in columns beside them where needed. An index that says more than the
        number of a row comes first. What has no form becomes text, and a
        warning says so.

        Polars and pyarrow take a table as it is as well, but for arrays of several
        dimensions; DuckDB takes objects for text. With such in it, hand them this.
        """
        return self._hand_over()

    def _hand_over(self, stacklevel: int = 3, keep_index: bool = False) -> pa.Table:
        """The table for Arrow, after a warning of the caller for all that is lost."""
        from runfold._tables.arrow.arrow_table import to_arrow

        table, notes = to_arrow(self, keep_index)
        for note in notes:
            warnings.warn(note, stacklevel=stacklevel)
        return table

    def polars(self) -> pl.DataFrame:
        """The table for Polars, by way of `arrow`. Raises ImportError where there is no Polars."""
        try:
            import polars as pl
        except ImportError:
            raise ImportError(
                "Table.polars() needs the package polars, which is not installed. Install it with "
                "`pip install polars`, or take .arrow() instead."
            ) from None
        frame = pl.from_arrow(self._hand_over())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table for whatever takes Arrow's streams."""
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
        """Write a Parquet file, pictures, clips and arrays included.

        `rf.read_table` gives an equal table back; only embeddings become arrays. An
        existing file is replaced, as by every DataFrame, when the new one is whole.
        Without a path, return the bytes. With `index=False` the index is left out; a
        range of numbers takes no column. The `engine` is always pyarrow, and further
        options are those of its write_table.
        """
        from runfold._tables.arrow.arrow_table import write_parquet

        table = self if index in (None, True) else self.reset_index(drop=True)
        return write_parquet(
            table._hand_over(keep_index=True), path, compression=compression, **options
        )

    def to_csv(self, *args: Any, **options: Any) -> str | None:  # type: ignore[override]
        """Write CSV, with the arguments of pandas. Arrays are written in full, as JSON.

        A cell with a picture, a clip or a graph has a short description instead. A
        warning names such columns: `to_parquet` and `runs.export` keep their content.
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
            f"CSV holds no pictures, clips or graphs, so it has a short description instead in "
            f"{human_list(described)}. Use to_parquet or runs.export to keep them.",
            stacklevel=3,
        )
    text: str | None = pd.DataFrame(plain).to_csv(*args, **options)
    return text
