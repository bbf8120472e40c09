"""Tables as Excel workbooks, written without a library.

The available libraries round floats to 16 digits, cut long text silently, and treat text
that starts with `=` as a formula. Sheets of plain cells do not need them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from runfold._export.cell_text import Column, Spelling, count_rows, disarm
from runfold._export.table_format import Options, TableFormat
from runfold._humanize import escape, human_count
from runfold.errors import RunfoldError

# Excel's limits.
_ROWS = 1_048_576
_COLUMNS = 16_384
_CHARACTERS = 32_767
# Excel's numbers are float64, which cannot represent every integer above this.
_EXACT = 2**53

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_NAMESPACE = "http://schemas.openxmlformats.org"
_SHEET = f'{_HEAD}<worksheet xmlns="{_NAMESPACE}/spreadsheetml/2006/main"><sheetData>\n'
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_RELATIONS = f"{_NAMESPACE}/officeDocument/2006/relationships"

# XML cannot represent these characters.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# An underscore that Excel would read as the start of an escape such as _x000D_.
_EXCEL_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


def write_excel(sheets: Mapping[str, Sequence[Column]], options: Options, file: BinaryIO) -> None:
    """Write a workbook: sheets by name, each with a header row and data rows.

    Text is never a formula, and numbers are exact. Excel has no NaN or infinity, so they
    become the strings `nan`, `inf` and `-inf`, which pandas reads as numbers. Integers
    beyond 2^53 are also text. Characters that XML cannot represent are escaped. Text over
    Excel's limit of 32,767 characters loses its middle, and its length is added at the end;
    `note_cut` reports it. Raises RunfoldError for a table that is too large for a sheet,
    before anything is written.
    """
    for columns in sheets.values():
        _refuse_too_large(columns)
    with ZipFile(file, "w", ZIP_DEFLATED) as package:
        for name, content in _package(list(sheets)).items():
            package.writestr(ZipInfo(name), _HEAD + content)
        for number, columns in enumerate(sheets.values(), 1):
            entry = _deflated(f"xl/worksheets/sheet{number}.xml")
            with package.open(entry, "w", force_zip64=True) as sheet:
                for text in _spell_sheet(columns, options.escape_formulas):
                    sheet.write(text.encode())


def note_cut(columns: Sequence[Column]) -> list[str]:
    """Return a note for each column with text that is too long for an Excel cell."""
    notes = []
    for column in columns:
        if column.kind in ("text", "json"):
            cut = sum(len(text) > _CHARACTERS for text in column.values if text is not None)
            if cut:
                notes.append(
                    f"{escape(column.name)}: {human_count(cut, 'cell')} over Excel's limit of "
                    f"{_CHARACTERS:,} characters, shortened in the middle; use .parquet instead"
                )
    return notes


def _spell_sheet(columns: Sequence[Column], escape_formulas: bool) -> Iterator[str]:
    def text(value: str) -> str:
        return _text_cell(disarm(value) if escape_formulas else value)

    def integer(value: int) -> str:
        return f"><v>{value}</v></c>" if -_EXACT <= value <= _EXACT else _text_cell(str(value))

    # The text after `<c r="A1"` for each type of cell.
    spelling = Spelling(
        text=text,
        integer=integer,
        number="><v>%r</v></c>".__mod__,
        true=' t="b"><v>1</v></c>',
        false=' t="b"><v>0</v></c>',
        missing="/>",
        odd={f"><v>{odd}</v></c>": _text_cell(odd) for odd in ("nan", "inf", "-inf")},
    )
    headings = iter([tuple(text(column.name) for column in columns)])
    row = '<row r="%d">' + "".join(f'<c r="{_letters(n)}%d"%s' for n in range(len(columns)))
    numbers = count(1)
    yield _SHEET
    for rows in chain([headings], spelling.rows(columns)):
        filled = [row % _numbered(next(numbers), cells) for cells in rows]
        yield "</row>\n".join([*filled, ""])
    yield "</sheetData></worksheet>"


def _package(names: Sequence[str]) -> dict[str, str]:
    """Return the files of a workbook other than its sheets."""
    numbers = range(1, len(names) + 1)
    types = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml"'
        f' ContentType="{_SHEET_TYPE}.worksheet+xml"/>'
        for number in numbers
    )
    sheets = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
        for number, name in enumerate(names, 1)
    )
    relations = "".join(
        f'<Relationship Id="rId{number}" Type="{_RELATIONS}/worksheet"'
        f' Target="worksheets/sheet{number}.xml"/>'
        for number in numbers
    )
    return {
        "[Content_Types].xml": (
            f'<Types xmlns="{_NAMESPACE}/package/2006/content-types">'
            '<Default Extension="rels"'
            ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
            f"{types}</Types>"
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{_NAMESPACE}/package/2006/relationships">'
            f'<Relationship Id="rId1" Type="{_RELATIONS}/officeDocument"'
            ' Target="xl/workbook.xml"/></Relationships>'
        ),
        "xl/workbook.xml": (
            f'<workbook xmlns="{_NAMESPACE}/spreadsheetml/2006/main" xmlns:r="{_RELATIONS}">'
            f"<sheets>{sheets}</sheets></workbook>"
        ),
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships xmlns="{_NAMESPACE}/package/2006/relationships">'
            f"{relations}</Relationships>"
        ),
    }


def _numbered(row: int, cells: tuple[str, ...]) -> tuple[int | str, ...]:
    return (row, *(part for cell in cells for part in (row, cell)))


def _deflated(name: str) -> ZipInfo:
    # A bare ZipInfo has a constant time, so that equal tables give equal bytes.
    entry = ZipInfo(name)
    entry.compress_type = ZIP_DEFLATED
    return entry


def _text_cell(text: str) -> str:
    legal = _NO_XML.sub(lambda match: escape(match[0]), text)
    if len(legal) > _CHARACTERS:
        legal = escape(legal, _CHARACTERS - 100)
    marked = _EXCEL_ESCAPE.sub("_x005F_", legal).translate(_ENTITIES)
    return f' t="inlineStr"><is><t xml:space="preserve">{marked}</t></is></c>'


def _letters(column: int) -> str:
    """Return the name of a column: A, B, ..., Z, AA, AB, ..."""
    ahead, last = divmod(column, 26)
    return (_letters(ahead - 1) if ahead else "") + chr(ord("A") + last)


def _refuse_too_large(columns: Sequence[Column]) -> None:
    rows = count_rows(columns) + 1
    for size, most, what in ((rows, _ROWS, "rows"), (len(columns), _COLUMNS, "columns")):
        if size > most:
            raise RunfoldError(
                f"An Excel sheet can have {most:,} {what}, but this table needs {size:,}. "
                "Nothing was written; use .parquet or .csv instead."
            )


FORMATS = (
    TableFormat(
        suffix=".xlsx", write_sheets=write_excel, note_losses=note_cut, is_for_spreadsheets=True
    ),
)
