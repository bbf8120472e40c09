"""Tables written in the format of the file's suffix."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from runfold._atomic import StrPath, replace_file
from runfold._export.arrow_columns import to_tables
from runfold._export.cell_text import Column
from runfold._export.compression import COMPRESSIONS, compress
from runfold._export.formats import FORMATS, rounded_formats
from runfold._export.plain_columns import Values, make_columns
from runfold._export.table_format import Options, TableFormat
from runfold._humanize import did_you_mean, escape
from runfold.errors import RunfoldError, UnknownFormat

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Format:
    """The format of a file: a suffix such as `.csv`, and a compression such as `.gz` or ""."""

    suffix: str
    compression: str = ""

    @property
    def table_format(self) -> TableFormat:
        """The functions that write the format."""
        return FORMATS[self.suffix]


def check_path(path: StrPath, suffix: str | None = None) -> Format:
    """Return the format for the suffix of a file name, in upper or lower case.

    If `suffix` is given, the name determines only the compression. Raises UnknownFormat,
    which lists the known formats and near matches, for any other suffix.
    """
    shown = escape(os.fspath(path))
    stem, last = os.path.splitext(os.path.basename(path).lower())
    compression = ""
    if last in COMPRESSIONS:
        compression = last
        last = os.path.splitext(stem)[1]
    suffix = suffix or last
    if compression and suffix in FORMATS and not FORMATS[suffix].is_text:
        raise UnknownFormat(
            f"{shown}: {suffix} files are already compressed. Remove the '{compression}'."
        )
    if suffix not in FORMATS:
        text = [name for name, table_format in FORMATS.items() if table_format.is_text]
        known = (
            f"Formats: {', '.join(FORMATS)}; "
            f"{', '.join(text)} can be followed by {', '.join(COMPRESSIONS)}."
        )
        if not suffix:
            raise UnknownFormat(f"{shown}: the name has no suffix for a table format. {known}")
        hint = did_you_mean(suffix, [*FORMATS, *COMPRESSIONS])
        raise UnknownFormat(" ".join(filter(None, [f"{shown}: unknown format.", hint, known])))
    return Format(suffix, compression)


def spell_table(
    columns: Mapping[str, Values], suffix: str, escape_formulas: bool = False
) -> Iterator[str]:
    """Yield the text of a table in a text format such as `.csv`, for a terminal or a pipe."""
    spell = FORMATS[suffix].spell
    assert spell is not None
    return spell(make_columns(columns), Options(escape_formulas))


def write_table(
    columns: Mapping[str, Values],
    path: StrPath,
    overwrite: bool = False,
    *,
    escape_formulas: bool = False,
    digits: int | None = None,
    suffix: str | None = None,
) -> str:
    """Write columns of equal length to a file, and return its path.

    `out.csv.gz` is a compressed CSV file. Every format keeps int64 and float64 exactly,
    including NaN and infinity. The file appears only once it is complete.

    Args:
        columns: arrays or lists of booleans, numbers or text by name; None is a
            missing value.
        path: where to write.
        overwrite: overwrite an existing file.
        escape_formulas: in formats for spreadsheets, put a `'` before text that starts
            with `=`, `+`, `-`, `@`, a tab or a line break. A spreadsheet would evaluate
            it as a formula when it opens a CSV file. Excel files are safe without it.
        digits: round floats to this many significant digits, in human-readable formats such
            as LaTeX. Other formats reject it.
        suffix: the format, such as `.csv`, regardless of the file's name.

    Raises:
        UnknownFormat, OutputExists: for the path.
        RunfoldError: the table has more rows than Excel can store, or `digits` is less than 1
            or the format does not round.
        OSError: with the path, if the file cannot be written.
    """
    form = check_path(path, suffix)
    if digits is not None and (not form.table_format.is_rounded or digits < 1):
        raise RunfoldError(
            f"{escape(os.fspath(path))}: digits={digits} cannot be used here. "
            f"`digits` must be at least 1, and works only with {' or '.join(rounded_formats())}."
        )
    options = Options(escape_formulas, digits)
    with replace_file(path, overwrite) as file:
        write_columns(make_columns(columns), form, options, file)
    return os.fspath(path)


def write_arrow_table(table: pa.Table, form: Format, options: Options, file: BinaryIO) -> list[str]:
    """Write an Arrow table to an open file, and return notes on what changed.

    Parquet and Feather keep it unchanged. In other formats lists are JSON and bytes are
    base64. A note reports cells that a format such as Excel must cut.
    """
    from runfold._export.flat_columns import flatten

    if form.table_format.write_arrow:
        form.table_format.write_arrow([table], file)
        return []
    columns, notes = flatten(table)
    write_columns(columns, form, options, file)
    return notes + form.table_format.note_losses(columns)


def write_columns(
    columns: Sequence[Column], form: Format, options: Options, file: BinaryIO
) -> None:
    """Write columns to an open file."""
    table_format = form.table_format
    if table_format.write_arrow:
        table_format.write_arrow(to_tables(columns, table_format.rows), file)
    elif table_format.write_sheets:
        table_format.write_sheets({"Sheet1": columns}, options, file)
    elif table_format.spell:
        with compress(file, form.compression) as stream:
            for text in table_format.spell(columns, options):
                stream.write(text.encode())
