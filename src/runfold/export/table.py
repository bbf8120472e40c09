"""A table of columns, written in the format that the suffix of the file's name says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from runfold.errors import RunfoldError, UnknownFormat
from runfold.export.arrow import ARROW, to_table
from runfold.export.columns import Column, Values, make_columns
from runfold.export.compression import COMPRESSIONS, compress
from runfold.export.delimited import spell_delimited
from runfold.export.excel import note_cut, write_excel
from runfold.export.files import StrPath, replace_file
from runfold.export.markup import spell_latex, spell_markdown
from runfold.export.records import spell_json
from runfold.text import did_you_mean, escape

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Options:
    """What a format may be told; each takes of it what concerns it."""

    escape_formulas: bool = False
    digits: int | None = None


_TEXT: dict[str, Callable[[Sequence[Column], Options], Iterator[str]]] = {
    ".csv": lambda columns, options: spell_delimited(columns, ",", options.escape_formulas),
    ".tsv": lambda columns, options: spell_delimited(columns, "\t", options.escape_formulas),
    ".json": lambda columns, options: spell_json(columns),
    ".jsonl": lambda columns, options: spell_json(columns, lines=True),
    ".tex": lambda columns, options: spell_latex(columns, options.digits),
    ".md": lambda columns, options: spell_markdown(columns, options.digits),
}
_BINARY: dict[str, Callable[[Sequence[Column], Options, BinaryIO], None]] = {
    ".xlsx": lambda columns, options, file: write_excel(
        {"Sheet1": columns}, file, options.escape_formulas
    ),
}
FOR_PEOPLE = (".tex", ".md")

FORMATS = (*_TEXT, *_BINARY, *ARROW)


@dataclass(frozen=True, slots=True)
class Format:
    """What a file's name says: `.csv`, and a compression such as `.gz` or nothing."""

    suffix: str
    compression: str = ""


def check_path(path: StrPath, suffix: str | None = None) -> Format:
    """Return the format that the name of a file says; case does not matter.

    With a `suffix` the name says no more than the compression. Raises
    UnknownFormat with what there is, and what may have been meant.
    """
    shown = escape(os.fspath(path))
    stem, last = os.path.splitext(os.path.basename(path).lower())
    compression = ""
    if last in COMPRESSIONS:
        compression = last
        last = os.path.splitext(stem)[1]
    suffix = suffix or last
    if (suffix in _BINARY or suffix in ARROW) and compression:
        raise UnknownFormat(
            f"{shown}: {suffix} is compressed inside already; leave out the '{compression}'."
        )
    if suffix not in FORMATS:
        known = (
            f"There are {', '.join(FORMATS)}; "
            f"{', '.join(_TEXT)} may be followed by {', '.join(COMPRESSIONS)}."
        )
        if not suffix:
            raise UnknownFormat(f"{shown}: the suffix does not name a table format. {known}")
        hint = did_you_mean(suffix, [*FORMATS, *COMPRESSIONS])
        raise UnknownFormat(" ".join(filter(None, [f"{shown}: unknown format.", hint, known])))
    return Format(suffix, compression)


def spell_table(
    columns: Mapping[str, Values], suffix: str, escape_formulas: bool = False
) -> Iterator[str]:
    """Yield the text of a table in a format of text, such as `.csv`, for a terminal or a pipe."""
    return _TEXT[suffix](make_columns(columns), Options(escape_formulas))


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

    `out.csv.gz` is a CSV file, compressed; `check_path` knows the formats. Each
    keeps int64 and float64 exactly, NaN and the infinities too. The file appears
    only when it is whole, and a file that is there is replaced only with
    `overwrite`, as `replace_file` says.

    Args:
        columns: arrays or lists of booleans, numbers or text by name; None is a
            missing value.
        path: where to write.
        overwrite: replace a file that is there.
        escape_formulas: in CSV, TSV and Excel, put a `'` before text that begins with
            `=`, `+`, `-`, `@`, a tab or a line break, which a spreadsheet that
            opens a CSV file would calculate. Excel files are safe without it.
        digits: round floats to so many significant digits, in LaTeX and Markdown
            only; other formats are for programs, and refuse it.
        suffix: the format, such as `.csv`, whatever the name of the file says.

    Raises:
        UnknownFormat, OutputExists: for the path.
        RunfoldError: for more rows than Excel can hold, or for digits elsewhere.
        OSError: with the path, where the system refuses.
    """
    form = check_path(path, suffix)
    if digits is not None and (form.suffix not in FOR_PEOPLE or digits < 1):
        raise RunfoldError(
            f"{escape(os.fspath(path))}: digits={digits} cannot be used here. "
            f"At least one digit, and only {' and '.join(FOR_PEOPLE)} are rounded."
        )
    options = Options(escape_formulas, digits)
    with replace_file(path, overwrite) as file:
        _write(make_columns(columns), form, options, file)
    return os.fspath(path)


def write_arrow_table(
    table: pa.Table, path: StrPath, overwrite: bool = False, options: Options | None = None
) -> list[str]:
    """Write a table of Arrow's by the same rules, and give notes on what changed on the way.

    Parquet and Feather keep it as it is. In all others lists are JSON and bytes
    are base64; what Excel must cut is noted.
    """
    from runfold.export.flat import flatten

    form = check_path(path)
    notes: list[str] = []
    with replace_file(path, overwrite) as file:
        if form.suffix in ARROW:
            ARROW[form.suffix](table, file)
        else:
            columns, notes = flatten(table)
            _write(columns, form, options or Options(), file)
            if form.suffix == ".xlsx":
                notes += note_cut(columns)
    return notes


def _write(columns: Sequence[Column], form: Format, options: Options, file: BinaryIO) -> None:
    if form.suffix in ARROW:
        ARROW[form.suffix](to_table(columns), file)
    elif form.suffix in _BINARY:
        _BINARY[form.suffix](columns, options, file)
    else:
        with compress(file, form.compression) as stream:
            for text in _TEXT[form.suffix](columns, options):
                stream.write(text.encode())
