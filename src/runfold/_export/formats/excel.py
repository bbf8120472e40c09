"""Tables as Excel workbooks, written without a library.

Those at hand round floats to 16 digits, cut long text silently, and take text
that begins with `=` for a formula. Sheets of plain cells need none of them.
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

# Excel's own limits.
_ROWS = 1_048_576
_COLUMNS = 16_384
_CHARACTERS = 32_767
# Above this its numbers, which are float64, have no room for every integer.
_EXACT = 2**53

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_NAMESPACE = "http://schemas.openxmlformats.org"
_SHEET = f'{_HEAD}<worksheet xmlns="{_NAMESPACE}/spreadsheetml/2006/main"><sheetData>\n'
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_RELATIONS = f"{_NAMESPACE}/officeDocument/2006/relationships"

# XML has no word for these characters.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# An underscore that Excel would read as the beginning of an escape, such as _x000D_.
_EXCEL_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


def write_excel(sheets: Mapping[str, Sequence[Column]], options: Options, file: BinaryIO) -> None:
    """Write a workbook: sheets by name, each a heading, then one row a row.

    Text is always text, never a formula; numbers have every bit. NaN and the
    infinities, which Excel has not, are the texts `nan`, `inf` and `-inf`, that
    pandas reads as numbers; integers beyond 2^53 are texts as well. Characters
    that XML cannot hold are escaped, text beyond Excel's 32,767 characters loses
    its middle and tells its length; `note_cut` tells of it. Raises RunfoldError for
    a table that no sheet can hold, before anything is written.
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
    """A note for each column with text that no cell of Excel can hold."""
    notes = []
    for column in columns:
        if column.kind in ("text", "json"):
            cut = sum(len(one) > _CHARACTERS for one in column.values if one is not None)
            if cut:
                notes.append(
                    f"{escape(column.name)}: {human_count(cut, 'cell')} longer than Excel's "
                    f"{_CHARACTERS:,} characters, cut in the middle; use .parquet instead"
                )
    return notes


def _spell_sheet(columns: Sequence[Column], escape_formulas: bool) -> Iterator[str]:
    def text(value: str) -> str:
        return _text_cell(disarm(value) if escape_formulas else value)

    def integer(value: int) -> str:
        return f"><v>{value}</v></c>" if -_EXACT <= value <= _EXACT else _text_cell(str(value))

    # What follows `<c r="A1"` in each case.
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
    """What stands in a workbook beside its sheets."""
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
    # A bare ZipInfo has no time of its own, so that equal tables give equal bytes.
    entry = ZipInfo(name)
    entry.compress_type = ZIP_DEFLATED
    return entry


def _text_cell(text: str) -> str:
    legal = _NO_XML.sub(lambda found: escape(found[0]), text)
    if len(legal) > _CHARACTERS:
        legal = escape(legal, _CHARACTERS - 100)
    marked = _EXCEL_ESCAPE.sub("_x005F_", legal).translate(_ENTITIES)
    return f' t="inlineStr"><is><t xml:space="preserve">{marked}</t></is></c>'


def _letters(column: int) -> str:
    """The name of a column: A, B, ..., Z, AA, AB, ..."""
    ahead, last = divmod(column, 26)
    return (_letters(ahead - 1) if ahead else "") + chr(ord("A") + last)


def _refuse_too_large(columns: Sequence[Column]) -> None:
    rows = count_rows(columns) + 1
    for size, most, what in ((rows, _ROWS, "rows"), (len(columns), _COLUMNS, "columns")):
        if size > most:
            raise RunfoldError(
                f"A sheet of Excel has room for {most:,} {what}, and this table has {size:,} "
                "with its heading. Nothing was written; use .parquet or .csv instead."
            )


FORMATS = (
    TableFormat(
        suffix=".xlsx", write_sheets=write_excel, note_losses=note_cut, is_for_spreadsheets=True
    ),
)
