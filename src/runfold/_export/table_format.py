"""The declaration of a table format, for the modules of `_export.formats`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import pyarrow as pa

    from runfold._export.cell_text import Column


@dataclass(frozen=True, slots=True)
class Options:
    """Options of all formats. Each format uses those that apply to it."""

    escape_formulas: bool = False
    digits: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """A table format, with exactly one of the three writers.

    Attributes:
        suffix: the suffix of its files, in lower case, with the dot.
        spell: yields the text of a table. Text files can be compressed.
        write_sheets: writes tables by name into one file.
        write_arrow: writes one or more parts of an Arrow table with all its types.
        rows: for `write_arrow`, the number of rows in a part; None for one part.
        note_losses: returns a note for each column that `write_sheets` must shorten.
        is_rounded: whether the format is for people to read, so that `Options.digits` applies.
        is_for_spreadsheets: whether `Options.escape_formulas` applies.
    """

    suffix: str
    spell: Callable[[Sequence[Column], Options], Iterator[str]] | None = None
    write_sheets: Callable[[Mapping[str, Sequence[Column]], Options, BinaryIO], None] | None = None
    write_arrow: Callable[[Iterable[pa.Table], BinaryIO], None] | None = None
    rows: int | None = None
    note_losses: Callable[[Sequence[Column]], list[str]] = lambda columns: []
    is_rounded: bool = False
    is_for_spreadsheets: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the file is text, which can be compressed and printed."""
        return self.spell is not None
