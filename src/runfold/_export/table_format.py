"""What a module of `_export.formats` declares: a file format for tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import pyarrow as pa

    from runfold._export.cell_text import Column


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller may ask of any format; each uses what concerns it."""

    escape_formulas: bool = False
    digits: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """A format, by the suffix of its files. Exactly one of the three writers is given.

    Attributes:
        suffix: in lower case, with its dot.
        spell: yields the text of a table. Such files can be compressed.
        write_sheets: writes tables by name into one file.
        write_arrow: writes a table of Arrow, with all of its types.
        note_losses: returns a note for each column that `write_sheets` must shorten.
        is_rounded: whether the format is for people, and `Options.digits` rounds numbers.
        is_for_spreadsheets: whether `Options.escape_formulas` is for it.
    """

    suffix: str
    spell: Callable[[Sequence[Column], Options], Iterator[str]] | None = None
    write_sheets: Callable[[Mapping[str, Sequence[Column]], Options, BinaryIO], None] | None = None
    write_arrow: Callable[[pa.Table, BinaryIO], None] | None = None
    note_losses: Callable[[Sequence[Column]], list[str]] = lambda columns: []
    is_rounded: bool = False
    is_for_spreadsheets: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the file is text, which can be compressed and printed."""
        return self.spell is not None
